import type { Operation } from '../../api/contract/contract.ts'
import type { Database } from '../../foundation/database/database.ts'
import { confirmCodings } from './confirm-codings.ts'
import { listConfirmedCodings } from './list-confirmed.ts'
import { withdrawCoding } from './withdraw-coding.ts'

export interface ReviewOptions {
  /** Has the decisions. */
  readonly database: Database
}

export function reviewOperations(options: ReviewOptions): readonly Operation[] {
  return [confirmCodings(options), listConfirmedCodings(options), withdrawCoding(options)]
}
