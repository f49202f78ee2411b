import type { Access } from '../../api/access/admit.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import type { Definitions } from '../rules/definitions.ts'

/** Records that a submission was cancelled, outside of the database and its backups. */
export type RecordErasure = (token: string) => void

/** Common options of the operations on submissions. */
export interface SubmissionOptions {
  readonly access: Access
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  /** The time zone of the dates of returns. */
  readonly timeZone: string
  readonly maxUploadBytes: number
  readonly recordErasure: RecordErasure
  /** Whether the process has been told to stop, so that no request may wait any longer. */
  readonly isStopping: () => boolean
}
