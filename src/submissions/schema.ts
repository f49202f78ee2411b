import Type, { type TSchema } from 'typebox'
import { RUN_STATUSES } from '../validation-results/runs.ts'
import { FILE_TYPES } from '../validation-results/schema.ts'
import { SUBMISSION_STATUSES, SUBMISSION_TYPES } from './submission.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))
const time = (description: string) => Type.Optional(Type.String({ description, format: 'date-time' }))
const count = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }))
const oneOf = <const Name extends string>(names: readonly Name[], description: string) =>
  Type.Optional(
    Type.Unsafe<Name>(
      Type.Union(
        names.map((name) => Type.Literal(name)),
        { description },
      ),
    ),
  )
const listOf = (name: string, description: string) =>
  Type.Optional(Type.Array(Type.Ref(`${name}#`) as TSchema, { description }))

export const ValidationRun = Type.Object(
  {
    runId: Type.Optional(
      Type.Integer({ description: 'Number of the run within its submission.', minimum: 1 }),
    ),
    submissionToken: text('The token of the submission.'),
    status: oneOf(
      RUN_STATUSES,
      'Queued and InProgress: it is still under way. Processed: it has ended. Halted: a limit was exceeded. UnknownError: it failed.',
    ),
    dateReceived: time('When the run was requested.'),
    dateStarted: time('When it began.'),
    dateCompleted: time('When it ended.'),
    errorCount: count('Errors found, whether or not all of them are stored.'),
    warningCount: count('Warnings found.'),
    totalCount: count('Findings that are stored.'),
    progress: Type.Optional(
      Type.Object(
        {
          stage: text('What is being done.'),
          done: count('Records read.'),
          total: count('Records in all.'),
        },
        { description: 'How far a run in progress is.' },
      ),
    ),
    reason: text('Why the run did not succeed.'),
    current: Type.Optional(
      Type.Boolean({ description: 'Whether the validation results are those of this run.' }),
    ),
  },
  { description: 'A validation run of a submission.' },
)

export const SubmissionFile = Type.Object(
  {
    fileType: oneOf(FILE_TYPES, 'The kind of file.'),
    file: text('Its name in URLs, such as `course-completions`.'),
    records: count('Records, the header not counted.'),
    bytes: count('Bytes of the uploaded file, unpacked, and of the batches.'),
    sha256: text('SHA-256 of the uploaded file in hexadecimal; absent once batches have changed it.'),
    received: time('When it was last changed.'),
    batches: count('Batches since it was uploaded.'),
  },
  { description: 'A file of a submission as it is now.' },
)

export const Submission = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    tokenExpiry: time('From then on the submission cannot be changed.'),
    returnId: text('The return that the submission is for.'),
    eid: text('The organisation that made the submission.'),
    definition: text('The definition whose checks apply.'),
    submissionType: oneOf(
      SUBMISSION_TYPES,
      'Full: every required file must be there. Indicative: some may be missing.',
    ),
    submissionStatus: oneOf(
      SUBMISSION_STATUSES,
      'Pending: being built. Validating: a run is under way. Validated: the current run covers the current files. Submitted and Closed: nothing changes any more. Cancelled: its data was deleted.',
    ),
    maxRecordPerBatch: count('Most records of a batch.'),
    dateCreated: time('When it was created.'),
    files: listOf('SubmissionFile', 'Its files.'),
    validationRun: Type.Optional(Type.Ref('ValidationRun#') as TSchema),
  },
  { description: 'A submission.' },
)

const pageOf = (name: string, description: string) =>
  Type.Object(
    {
      page: count('Page number of this page, from 1.'),
      pageSize: count('Page size of this page.'),
      results: listOf(name, 'The entries, newest first.'),
      totalCount: count('Entries in all.'),
    },
    { description },
  )

export const SubmissionPage = pageOf('Submission', "A page of an organisation's submissions.")
export const ValidationRunPage = pageOf('ValidationRun', 'The runs of a submission that are kept.')

export const BatchResult = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    content: Type.Optional(
      Type.Array(
        Type.Object({
          localId: text('Identifier of the record.'),
          errors: Type.Optional(Type.Array(Type.String(), { description: 'Why it was not accepted.' })),
        }),
        { description: 'Each record of the batch, in its order.' },
      ),
    ),
  },
  { description: 'What became of a batch.' },
)

export const NewSubmission = Type.Object(
  {
    returnId: Type.String({
      description: 'The return, such as 202512. Its form depends on the definition.',
      minLength: 1,
      maxLength: 64,
    }),
    definition: Type.Optional(
      Type.String({
        description: 'The definition whose checks apply; the default one where absent.',
        minLength: 1,
        maxLength: 64,
      }),
    ),
    type: oneOf(SUBMISSION_TYPES, '`Full` where absent.'),
  },
  { description: 'A submission to be created.' },
)

const localId = Type.String({
  description: 'Identifier of the record, made by the caller.',
  minLength: 1,
  maxLength: 200,
})

export const RecordBatch = Type.Object(
  {
    content: Type.Array(Type.Object({ localId }, { additionalProperties: true }), {
      description: 'Records, each with its `localId` and its fields.',
    }),
  },
  { description: 'Records that are added, or replace those with the same `localId`.' },
)

export const RecordDeletion = Type.Object(
  {
    content: Type.Array(Type.Object({ localId }), { description: 'The records to delete.' }),
  },
  { description: 'Records that are deleted.' },
)
