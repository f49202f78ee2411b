import type { Access } from '../access/admit.ts'
import type { Database } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import type { Definitions } from './definitions.ts'

/** Common options of the operations on submissions. */
export interface SubmissionOptions {
  readonly access: Access
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  /** Milliseconds after which a new submission expires. */
  readonly life: number
  readonly maxUploadBytes: number
  readonly maxBatchRecords: number
  readonly maxWaitingRuns: number
  /** Whether the process has been told to stop, so that no request may wait any longer. */
  readonly isStopping: () => boolean
}

/** The largest JSON body of a batch, in bytes. */
export const MAX_BATCH_BYTES = 8 * 2 ** 20
