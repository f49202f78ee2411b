import type { Limits } from '../engines/checking/index.ts'

export interface CheckSettings {
  readonly CHECK_SECONDS: number
  readonly CHECK_RULE_SECONDS: number
  readonly CHECK_MEMORY_MB: number
  readonly UPLOAD_MAX_MB: number
}

/** The findings of each code that are stored: nobody reads more of one. */
const FINDINGS_OF_CODE = 100_000

/**
 * The bytes, as NDJSON, that the stored findings of a run may take. Beyond it, each code keeps its first findings, up to
 * an equal share; what a code does not need goes to the others.
 */
const FINDINGS_BYTES = 256 * 2 ** 20

/** The bytes of temporary files that a check may use. */
export const diskOf = ({ UPLOAD_MAX_MB }: Pick<CheckSettings, 'UPLOAD_MAX_MB'>) =>
  16 * UPLOAD_MAX_MB * 2 ** 20

/** The resources that one check of a submission may use. */
export function checkLimitsOf(settings: CheckSettings): Limits {
  return {
    seconds: settings.CHECK_SECONDS,
    ruleSeconds: settings.CHECK_RULE_SECONDS,
    memoryBytes: settings.CHECK_MEMORY_MB * 2 ** 20,
    diskBytes: diskOf(settings),
    findingsOfCode: FINDINGS_OF_CODE,
    findingsBytes: FINDINGS_BYTES,
  }
}
