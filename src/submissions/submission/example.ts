import type { Static } from '../../foundation/schema/type.ts'
import type { Submission, SubmissionFile, ValidationRun } from './schema.ts'

/** Responses of the demo, for the API reference. */
const TOKEN = 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA'

const RUN: Static<typeof ValidationRun> = {
  runId: 1,
  submissionToken: TOKEN,
  status: 'Processed',
  dateReceived: '2026-01-15T22:10:04.000Z',
  dateStarted: '2026-01-15T22:10:04.200Z',
  dateCompleted: '2026-01-15T22:10:05.100Z',
  errorCount: 12,
  warningCount: 3,
  totalCount: 15,
  current: true,
}

export const EXAMPLE_FILE = {
  fileType: 'Learner' as const,
  file: 'learners',
  records: 400,
  bytes: 34_210,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  received: '2026-01-15T22:09:58.000Z',
} satisfies Static<typeof SubmissionFile>

const { file, records, sha256 } = EXAMPLE_FILE
export const EXAMPLE_RUN: Static<typeof ValidationRun> = { ...RUN, files: [{ file, records, sha256 }] }

export const EXAMPLE_SUBMISSION: Static<typeof Submission> = {
  submissionToken: TOKEN,
  tokenExpiry: '2026-04-15T22:09:40.000Z',
  returnId: '202512',
  eid: '9999',
  definition: 'sdr',
  submissionType: 'Full',
  submissionStatus: 'Validated',
  maxRecordPerBatch: 1000,
  dateCreated: '2026-01-15T22:09:40.000Z',
  files: [EXAMPLE_FILE],
  validationRun: RUN,
}
