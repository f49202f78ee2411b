export {
  type Definition,
  FILE_TYPES,
  listChecks,
  type Resource,
  SEVERITIES,
  type SqlRule,
} from './definition/definition.ts'
export { findDefinition, listOwnDefinitions, loadDefinition } from './definition/load.ts'
export { resolveParameters } from './definition/parameters.ts'
export { ownEncoding } from './definition/read-encoding.ts'
export { assertQueries } from './engine/assert-queries.ts'
export {
  CheckFailed,
  type CheckSummary,
  checkFiles,
  type EngineProgress,
  type InputFile,
} from './engine/check-files.ts'
export { MARK_PREFIX, nameColumns } from './engine/columns.ts'
export { isUnusual } from './engine/dialect.ts'
export { describeCheck } from './engine/explain.ts'
export { EXPORT_AGAIN } from './engine/file-fault.ts'
export { judgeFirstLine } from './engine/first-line.ts'
export { EMPTY_NOTE, type Finding, type NotRun } from './engine/summary.ts'
export { Containers } from './engine/unpack.ts'
export { DEFAULT_LIMITS, DiskFull, isDiskFull, type Limits } from './process/limits.ts'
export { runOrder } from './process/run-order.ts'
export { serveOrder } from './process/serve-order.ts'
export {
  type Repaired,
  type ReturnedForm,
  type ReturnOptions,
  repairFiles,
  returnFiles,
} from './repair/return-files.ts'
export { tabulateCauses } from './report/cause-table.ts'
export { describePartial, describeSpare, groupByField, groupByReason } from './report/report.ts'
export { EXPORTED_SAMPLE } from './sample.ts'
export { describeTwo, describeUnreadable, selectFiles } from './select-files.ts'
