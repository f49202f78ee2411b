import type { Operation } from '../../api/contract/contract.ts'
import { getChanges } from './compare-runs.ts'
import { getCauses } from './get-causes.ts'
import { getValidationResults } from './get-results.ts'
import { getSummary } from './get-summary.ts'
import type { ResultsOptions } from './own.ts'

export function resultsOperations(options: ResultsOptions): readonly Operation[] {
  return [getValidationResults(options), getSummary(options), getCauses(options), getChanges(options)]
}
