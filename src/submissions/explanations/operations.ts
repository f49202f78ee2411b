import { actorOf } from '../../api/access/principal.ts'
import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import type { ValueFault } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { type Rendered, type Static, Type } from '../../foundation/schema/type.ts'
import { ofSubmission, REFUSALS, TOKEN_PATH } from '../submission/contract.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { findHidden, readLine } from '../submission/read-line.ts'
import { readFinished } from '../submission/runs.ts'
import { assertKept, type SubmissionRow } from '../submission/submission.ts'
import { explain, withdraw } from './explain.ts'
import { findOpenWarnings } from './explanation.ts'
import { renderExplanation } from './render-explanation.ts'
import { EXAMPLE_ACTOR, EXAMPLE_EXPLANATION, Explanation, ExplanationList, NewExplanation } from './schema.ts'
import { readExplanations } from './store.ts'

const BASE = '/submissions/{submissionToken}/explanations'
const TARGET_PATH = Type.Object({
  ...TOKEN_PATH.properties,
  target: Type.String({
    description: 'The code of the findings, or the key of their cause.',
    maxLength: 1000,
  }),
})
const NO_EXPLANATION = 'The submission has no explanation of this code or cause.'

export function explanationOperations(options: SubmissionOptions): readonly Operation[] {
  const { database, sealer, definitions } = options
  const { reading, writing } = ofSubmission(database)
  return [
    reading({
      name: 'list-explanations',
      id: 'listExplanations',
      summary: 'List the explanations of a submission',
      description:
        'Why warnings are right, whether each explanation still holds for the current run, and which warnings must be explained before the submission.',
      method: 'GET',
      path: BASE,
      request: { path: TOKEN_PATH },
      responses: {
        200: describeDocument(ExplanationList, 'The explanations.', {
          submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
          runId: 3,
          explanations: [EXAMPLE_EXPLANATION],
          open: [{ code: 'ENR-205', findings: 12 }],
        }),
      },
      problems: { gone: REFUSALS.gone },
    }).handle(async ({ authorized }) =>
      document(await listAll({ database, sealer, definitions }, authorized)),
    ),
    reading({
      name: 'get-explanation',
      id: 'getExplanation',
      summary: 'Get an explanation',
      description: 'Why the warnings with a code, or of a cause, are right.',
      method: 'GET',
      path: `${BASE}/{target}`,
      request: { path: TARGET_PATH },
      responses: { 200: describeDocument(Explanation, 'The explanation.', EXAMPLE_EXPLANATION) },
      problems: { 'no-explanation': NO_EXPLANATION, gone: REFUSALS.gone },
    }).handle(async ({ authorized, path: { target }, refuse }) => {
      const { summary, explanations } = await readExplained(database, sealer, authorized)
      const found = explanations.find((each) => each.target === target)
      if (found === undefined) return refuse('no-explanation', NO_EXPLANATION)
      return document(renderExplanation(found, summary))
    }),
    writing({
      name: 'put-explanation',
      id: 'putExplanation',
      summary: 'Explain warnings',
      description:
        'Says why the warnings with a code, or of a cause, are right. It replaces an earlier explanation of the same, and holds in later runs until they have more than 10 % or 5 more findings, whichever is larger.',
      method: 'PUT',
      path: `${BASE}/{target}`,
      request: {
        path: TARGET_PATH,
        body: { json: NewExplanation, maxBytes: 32_768, personal: true, check: findTextFault },
      },
      responses: {
        200: describeDocument(Explanation, 'The explanation.', {
          ...EXAMPLE_EXPLANATION,
          actor: EXAMPLE_ACTOR,
        }),
      },
      problems: {
        'invalid-body': 'A member is invalid.',
        'no-such-cause': 'The current run has no findings with this code or cause.',
        conflict:
          'The findings are errors, or there is no run yet, or the submission can no longer be changed (errorCode `DS1` for a change in progress).',
        gone: REFUSALS.gone,
      },
    }).handle(async ({ authorized, path: { target }, body, principal }) => {
      const { token, eid } = authorized
      const actor = actorOf(principal)
      const { explanation, summary } = await explain(database, sealer, {
        token,
        eid,
        target,
        actor,
        reason: body.reason,
        text: readLine(body.text),
      })
      return document(renderExplanation(explanation, summary))
    }),
    writing({
      name: 'delete-explanation',
      id: 'deleteExplanation',
      summary: 'Withdraw an explanation',
      description: 'Withdraws the explanation of a code or a cause. The activities keep that there was one.',
      method: 'DELETE',
      path: `${BASE}/{target}`,
      request: { path: TARGET_PATH },
      responses: {
        200: describeDocument(ExplanationList, 'The explanations that are left.', {
          submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
          runId: 3,
          explanations: [],
          open: [{ code: 'ENR-202', findings: 44 }],
        }),
      },
      problems: {
        'no-explanation': NO_EXPLANATION,
        ...REFUSALS,
      },
    }).handle(async ({ authorized, path: { target }, principal }) => {
      const { token, eid } = authorized
      await withdraw(database, sealer, { token, eid, target, actor: actorOf(principal) })
      return document(await listAll({ database, sealer, definitions }, authorized))
    }),
  ]
}

function findTextFault({ reason, text }: Partial<Static<typeof NewExplanation>>): ValueFault[] {
  const isMissing = reason === 'Other' && readLine(text) === undefined
  const message =
    findHidden(text) ?? (isMissing ? 'is missing: the reason Other needs a text that says why' : undefined)
  return message === undefined ? [] : [{ name: 'text', message }]
}

async function listAll(
  { database, sealer, definitions }: Pick<SubmissionOptions, 'database' | 'sealer' | 'definitions'>,
  submission: SubmissionRow,
): Promise<Rendered<typeof ExplanationList>> {
  const { run, summary, explanations } = await readExplained(database, sealer, submission)
  const open = findOpenWarnings(definitions.find(submission.definition ?? ''), summary, explanations)
  return {
    submissionToken: submission.token,
    runId: run?.number,
    explanations: explanations.map((each) => renderExplanation(each, summary)),
    open: open.map(({ explained, ...each }) => ({ ...each, explainedFindings: explained })),
  }
}

async function readExplained(reader: Reader, sealer: SubmissionOptions['sealer'], submission: SubmissionRow) {
  assertKept(submission)
  const current = await readFinished(reader, submission.run, sealer)
  return { ...current, explanations: await readExplanations(reader, submission.token, sealer) }
}
