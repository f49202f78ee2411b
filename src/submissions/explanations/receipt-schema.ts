import { count, listOf, object, oneOf, text, time } from '../../api/contract/fields.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { NotRun } from '../findings/not-run.ts'
import { SUBMISSION_TYPES } from '../submission/submission.ts'
import { actor, EXAMPLE_ACTOR, EXAMPLE_EXPLANATION, Explanation } from './schema.ts'

const REOPENED = {
  dateReopened: time('When the submission was opened again; absent if it was not.'),
  reopenedBy: actor(),
  reopenReason: text('Why it was opened again.'),
}

/** What was submitted, by whom and when. */
export const Receipt = Type.Object(
  {
    receipt: count(
      'Number of the receipt: the first one of the organisation for the return has 1, and each later one, of the same submission after a reopening or of another submission, one more.',
    ),
    submissionToken: text('The token of the submission.'),
    eid: text('The organisation.'),
    returnId: text('The return.'),
    returnName: text('Its name, if the service knows it.'),
    submissionType: oneOf(SUBMISSION_TYPES, 'Full or Indicative.'),
    dateSubmitted: time('When it was submitted.'),
    submittedBy: actor(),
    statement: text('What the submission means.'),
    definition: Type.Optional(
      Type.Object({
        name: text('Name of the definition.'),
        version: text('Its version.'),
        title: text('The data that it describes.'),
      }),
    ),
    runId: count('The run that covers the files.'),
    dateChecked: time('When that run ended.'),
    errorCount: count('Errors that it found.'),
    warningCount: count('Warnings that it found.'),
    notRun: listOf(NotRun, 'Checks that could not run.'),
    files: listOf(
      Type.Object({
        fileType: text('The kind of file.'),
        file: text('Its name in URLs.'),
        records: count('Records, not counting the header.'),
        bytes: count('Bytes of the file in UTF-8.'),
        sha256: text('SHA-256 of the file in UTF-8, in hexadecimal.'),
      }),
      'The submitted files.',
    ),
    explanations: listOf(Explanation, 'Why its warnings are right.'),
    replaces: object(
      { submissionToken: text('Its token.'), dateSubmitted: time('When it was submitted.') },
      'The earlier submission of the organisation for the same return.',
    ),
    ...REOPENED,
    earlier: listOf(
      Type.Object({
        receipt: count('Its number.'),
        dateSubmitted: time('When it was submitted.'),
        submittedBy: actor(),
        ...REOPENED,
      }),
      'The receipts before this one, oldest first.',
    ),
  },
  { title: 'Receipt', description: 'What was submitted, by whom and when.' },
)

export const EXAMPLE_RECEIPT: Static<typeof Receipt> = {
  receipt: 1,
  submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
  eid: '9999',
  returnId: '202512',
  submissionType: 'Full',
  dateSubmitted: '2026-01-15T22:12:00.000Z',
  submittedBy: EXAMPLE_ACTOR,
  definition: { name: 'sdr', version: '1.0.0', title: 'Single Data Return' },
  runId: 3,
  dateChecked: '2026-01-15T22:10:05.100Z',
  errorCount: 0,
  warningCount: 44,
  files: [
    {
      fileType: 'Learner',
      file: 'learners',
      records: 400,
      bytes: 34_210,
      sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
  ],
  explanations: [EXAMPLE_EXPLANATION],
}
