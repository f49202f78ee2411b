import type { Operation } from '../../api/contract/contract.ts'
import { getChanges } from './compare-runs.ts'
import { getCauses } from './get-causes.ts'
import { getValidationResults } from './get-results.ts'
import { getSummary } from './get-summary.ts'
import { listFindings } from './list-findings.ts'
import { listLearners } from './list-learners.ts'
import type { ResultsOptions } from './own.ts'

export function resultsOperations(options: ResultsOptions): readonly Operation[] {
  return [
    getValidationResults(options),
    getSummary(options),
    getCauses(options),
    getChanges(options),
    listFindings(options),
    listLearners(options),
  ]
}
