import type { Limits } from '../engines/checking/index.ts'

export interface CheckSettings {
  readonly CHECK_SECONDS: number
  readonly CHECK_RULE_SECONDS: number
  readonly CHECK_MEMORY_MB: number
  readonly CHECK_DISK_MB: number
  readonly FINDINGS_MAX_MB: number
}

/** The findings of each code that are stored: nobody reads more of one, and `FINDINGS_MAX_MB` limits them together. */
const FINDINGS_OF_CODE = 100_000

/** The resources that one check of a submission may use. */
export function checkLimitsOf(settings: CheckSettings): Limits {
  return {
    seconds: settings.CHECK_SECONDS,
    ruleSeconds: settings.CHECK_RULE_SECONDS,
    memoryBytes: settings.CHECK_MEMORY_MB * 2 ** 20,
    diskBytes: settings.CHECK_DISK_MB * 2 ** 20,
    findingsOfCode: FINDINGS_OF_CODE,
    findingsBytes: settings.FINDINGS_MAX_MB * 2 ** 20,
  }
}
