/** What one check may use. */
export interface Limits {
  /** Seconds for one rule; one that takes longer is stopped and reported as not run. */
  readonly ruleSeconds: number
  /** Seconds for the whole check. */
  readonly seconds: number
  readonly memoryBytes: number
  /** Bytes of temporary files. */
  readonly diskBytes: number
  /** Findings of each code that are kept; all of them are counted. */
  readonly findingsOfCode: number
}

export const DEFAULT_LIMITS: Limits = {
  ruleSeconds: 30,
  seconds: 3600,
  memoryBytes: 2 * 1024 ** 3,
  diskBytes: 16 * 1024 ** 3,
  findingsOfCode: 100_000,
}
