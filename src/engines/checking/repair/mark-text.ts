import { MARK_PREFIX } from '../engine/columns.ts'
import type { Finding } from '../engine/summary.ts'

/** The columns that a marked file has before its own: the line in the original, and what was found in the row. */
export const MARK_COLUMNS = [
  `${MARK_PREFIX}line`,
  `${MARK_PREFIX}severity`,
  `${MARK_PREFIX}findings`,
] as const

/** `Error` or `Warning`; empty without findings. */
export function severest(found: readonly Finding[]): string {
  if (found.some(({ errorType }) => errorType === 'Error')) return 'Error'
  return found.length === 0 ? '' : 'Warning'
}

/** The findings of a row in one cell. It begins with a code, so no spreadsheet reads it as a formula. */
export function describeFindings(found: readonly Finding[]): string {
  return found.map(({ errorCode, errorDescription }) => `${errorCode}: ${errorDescription}`).join(' | ')
}

/** The findings about the whole file, for the header; empty if there are none. */
export function describeFindingsOfFile(found: readonly Finding[]): string {
  return found.length === 0 ? '' : ` (${describeFindings(found)})`
}
