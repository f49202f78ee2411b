import { count, flag, listOf, object, oneOf, refer, strings, text, time } from '../../api/contract/fields.ts'
import { FILE_TYPES } from '../../engines/checking/index.ts'
import { type TSchema, Type } from '../../foundation/schema/type.ts'
import { MOST_FIELDS } from './contract.ts'
import { pageFields } from './paging.ts'
import { RUN_STATUSES } from './runs.ts'
import { SUBMISSION_STATUSES, SUBMISSION_TYPES } from './submission.ts'

export const ValidationRun = Type.Object(
  {
    runId: Type.Optional(
      Type.Integer({ description: 'Number of the run within its submission.', minimum: 1 }),
    ),
    submissionToken: text('The token of the submission.'),
    status: oneOf(
      RUN_STATUSES,
      'Queued, InProgress: the run has not ended. Processed: it has ended. Halted: it exceeded a limit. UnknownError: it failed.',
    ),
    dateReceived: time('When the run was requested.'),
    dateStarted: time('When the run started.'),
    dateCompleted: time('When the run ended.'),
    errorCount: count('Errors found, whether or not all of them are stored.'),
    warningCount: count('Warnings found.'),
    stoppedCount: count(
      'Checks that were stopped, and whose findings must be fixed or explained: until a run completes them, the submission is refused. Absent if there are none.',
    ),
    totalCount: count('Stored findings.'),
    partial: flag('Whether not all findings are stored; the summary says of which codes.'),
    progress: object(
      {
        stage: text('The current step.'),
        done: count('Records read.'),
        total: count('All records.'),
        files: listOf(
          Type.Object({
            file: text('The file, such as `learners`.'),
            done: count('Records read of it.'),
            total: count('All of its records.'),
          }),
          'The progress of each file.',
        ),
      },
      'The progress of a run.',
    ),
    reason: text('Why the run failed.'),
    files: listOf(
      Type.Object({
        file: text('The file, such as `learners`.'),
        records: count('Its records.'),
        sha256: text(
          'SHA-256 of the uploaded file, as in the submission; absent once batches had changed it.',
        ),
        batches: count('Batches since the upload.'),
      }),
      'The files that the run reads, as they were when it was requested; absent from the run of a submission.',
    ),
    current: flag('Whether the validation results come from this run.'),
  },
  { title: 'ValidationRun', description: 'A validation run of a submission.' },
)

export const SubmissionFile = Type.Object(
  {
    fileType: oneOf(FILE_TYPES, 'The kind of file.'),
    file: text('Its name in URLs, such as `course-completions`.'),
    records: count('Records, not counting the header.'),
    bytes: count('Uncompressed bytes of the uploaded file in UTF-8 and its batches.'),
    sha256: text(
      'SHA-256 of the uploaded file in UTF-8, in hexadecimal; absent once batches have changed it.',
    ),
    received: time('When the file was last changed.'),
    batches: count('Batches since the upload.'),
    notes: strings(
      'What was guessed about the upload, such as its encoding, and a first line that is not the header of this file.',
    ),
  },
  { title: 'SubmissionFile', description: 'The current state of a file.' },
)

export const SubmissionFiles = Type.Object(
  {
    files: listOf(SubmissionFile, 'The files that were replaced, in the order of the definition.'),
  },
  { title: 'SubmissionFiles', description: 'The files of an archive or a workbook.' },
)

export const Submission = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    tokenExpiry: time('When the submission can no longer be changed: it expires, or its return closes.'),
    reopenedUntil: time(
      'Until when it can be changed after it was opened again; absent if it was not, or has been submitted since. The receipt says why.',
    ),
    returnId: text('The return of the submission.'),
    returnName: text('The name of the return; absent if the service has no such return.'),
    notes: text('Notes of the return for those who submit it.'),
    dueDate: time('When the return is due.'),
    closeWindowDate: time('When the return closes.'),
    eid: text('The organisation of the submission.'),
    definition: text('The definition that the submission is checked against.'),
    submissionType: oneOf(
      SUBMISSION_TYPES,
      'Full: all required files must be present. Indicative: some may be missing.',
    ),
    submissionStatus: oneOf(
      SUBMISSION_STATUSES,
      'Pending: being built. Validating: a run is in progress. Validated: the current run covers the current files. Submitted, Closed: no further changes are possible. Cancelled: its data was deleted.',
    ),
    maxRecordPerBatch: count('The largest number of records in a batch.'),
    dateCreated: time('When the submission was created.'),
    files: listOf(SubmissionFile, 'Its files.'),
    validationRun: Type.Optional(refer(ValidationRun)),
  },
  { title: 'Submission', description: 'A submission.' },
)

const pageOf = <Item extends TSchema>(item: Item, title: string, description: string) =>
  Type.Object(pageFields(listOf(item, 'The entries, newest first.'), 'All entries.'), { title, description })

export const SubmissionPage = pageOf(Submission, 'SubmissionPage', "A page of an organisation's submissions.")
export const ValidationRunPage = pageOf(
  ValidationRun,
  'ValidationRunPage',
  'The stored runs of a submission.',
)

export const BatchResult = Type.Object(
  {
    submissionToken: text('The token of the submission.'),
    content: listOf(
      Type.Object({
        localId: text('Identifier of the record.'),
        errors: strings('Why it was not accepted.'),
      }),
      'The records of the batch, in order.',
    ),
  },
  { title: 'BatchResult', description: 'The result of a batch.' },
)

export const NewSubmission = Type.Object(
  {
    returnId: Type.String({
      description: 'The return, such as 202512. Its form depends on the definition.',
      minLength: 1,
      maxLength: 64,
    }),
    definition: text('The definition to check against; defaults to the first one of the service.', {
      minLength: 1,
      maxLength: 64,
    }),
    type: oneOf(SUBMISSION_TYPES, 'Defaults to `Full`.'),
  },
  { description: 'A submission to create.' },
)

const localId = Type.String({
  description: 'An identifier of the record, chosen by the caller.',
  minLength: 1,
  maxLength: 200,
})

export const RecordBatch = Type.Object(
  {
    content: Type.Array(
      Type.Object({ localId }, { additionalProperties: true, maxProperties: MOST_FIELDS }),
      {
        description: 'Records, each with its `localId` and its fields.',
      },
    ),
  },
  { description: 'Records to add, or to replace those with the same `localId`.' },
)

export const RecordDeletion = Type.Object(
  {
    content: Type.Array(Type.Object({ localId }), { description: 'The records to delete.' }),
  },
  { description: 'Records to delete.' },
)
