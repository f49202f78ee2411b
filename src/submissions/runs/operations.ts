import type { Operation } from '../../api/contract/contract.ts'
import type { SubmissionOptions } from '../options.ts'
import { cancelValidationRun } from './cancel-run.ts'
import { getValidationRun } from './get-run.ts'
import { listValidationRuns } from './list-runs.ts'
import { requestValidationRun } from './request-run.ts'

export function runOperations(options: SubmissionOptions): readonly Operation[] {
  return [
    requestValidationRun(options),
    listValidationRuns(options),
    getValidationRun(options),
    cancelValidationRun(options),
  ]
}
