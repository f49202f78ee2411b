import { choice, count, listOf, oneOf, refer, strings, text, time } from '../../api/contract/fields.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { EXPLANATION_REASONS } from './explanation.ts'

const Actor = Type.Object(
  {
    id: text('The public id of the credential; `service` or `command` for Mahi itself and its operator.'),
    name: text('The name that the identity provider gives, or the client that holds the credential.'),
  },
  { title: 'Actor', description: 'Who did it.' },
)
export const EXAMPLE_ACTOR = { id: 'mahi_0123456789ab', name: 'student-records' }
export const actor = () => Type.Optional(refer(Actor))

const REASONS =
  'Verified: the records were checked and are right. Agreed: the exception was agreed with the agency. Later: what is missing follows in a later return. Other: the text says why.'

export const Explanation = Type.Object(
  {
    target: text('The code or the key of the cause.'),
    kind: oneOf(['code', 'cause'], 'What it explains.'),
    codes: strings('The codes of the findings.'),
    reason: oneOf(EXPLANATION_REASONS, REASONS),
    text: text('The reason in words.'),
    state: oneOf(
      ['Explained', 'Reopened', 'NoFindings'],
      'Explained: it holds for the current run. Reopened: the current run has too many more findings. NoFindings: the current run has none.',
    ),
    findings: count('Findings of the current run.'),
    explainedFindings: count('Findings that it was given for.'),
    reopened: text('Why it no longer holds.'),
    runId: count('The run that it was given for.'),
    actor: actor(),
    time: time('When it was given.'),
  },
  { title: 'Explanation', description: 'Why warnings are right.' },
)

export const ExplanationList = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    runId: count('The current run; absent before the first.'),
    explanations: listOf(Explanation, 'The explanations, oldest first.'),
    open: listOf(
      Type.Object({
        code: text('The code.'),
        findings: count('Findings of the current run.'),
        explainedFindings: count('Findings that its explanation was given for, if it no longer holds.'),
      }),
      'Warnings that must be explained before the submission.',
    ),
  },
  {
    title: 'ExplanationList',
    description: 'The explanations of a submission, and the warnings that still need one.',
  },
)

export const NewExplanation = Type.Object(
  {
    reason: choice(EXPLANATION_REASONS, REASONS),
    text: text('The reason in words; required for Other.', { minLength: 1, maxLength: 2000 }),
  },
  { description: 'Why warnings are right.' },
)

export const EXAMPLE_EXPLANATION: Static<typeof Explanation> = {
  target: 'ENR-202',
  kind: 'code',
  codes: ['ENR-202'],
  reason: 'Verified',
  text: 'The courses take two years.',
  state: 'Explained',
  findings: 44,
  explainedFindings: 44,
  runId: 3,
  actor: EXAMPLE_ACTOR,
  time: '2026-01-15T22:11:00.000Z',
}
