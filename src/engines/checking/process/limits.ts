import { UserError } from '../../../foundation/faults/user-error.ts'

/** The resources that one check may use. */
export interface Limits {
  /** Seconds for one rule; a slower one is stopped and reported as not run. */
  readonly ruleSeconds: number
  /** Seconds for the whole check. */
  readonly seconds: number
  readonly memoryBytes: number
  /** Bytes of temporary files. */
  readonly diskBytes: number
  /** Findings of each code to keep; all of them are counted. */
  readonly findingsOfCode: number
  /** Bytes of all findings as NDJSON; every code keeps a share, and all findings are counted. */
  readonly findingsBytes: number
}

export const DEFAULT_LIMITS: Limits = {
  ruleSeconds: 30,
  seconds: 3600,
  memoryBytes: 2 * 1024 ** 3,
  diskBytes: 16 * 1024 ** 3,
  findingsOfCode: 100_000,
  findingsBytes: 1024 ** 3,
}

/** The files could not be checked; the message says why. */
export class CheckFailed extends UserError {}

/** The disk of the temporary files is full. */
export class DiskFull extends CheckFailed {
  constructor(options?: ErrorOptions) {
    super('The disk has no room left for the check. Free some, and run it again.', options)
  }
}

export function isDiskFull(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as NodeJS.ErrnoException
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code) || code.startsWith('SQLITE_FULL')
}
