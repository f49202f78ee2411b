import type { Operation } from '../../api/contract/contract.ts'
import type { SubmissionOptions } from '../options.ts'
import { listOwnReturns } from './list-returns.ts'
import { getReturnCauses, getReturnOverview } from './overview.ts'
import { putReturn } from './put-return.ts'

export function returnOperations(options: SubmissionOptions): readonly Operation[] {
  return [listOwnReturns(options), getReturnOverview(options), getReturnCauses(options), putReturn(options)]
}
