import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The folder with the releases of O*NET and OEWS that tests read where it is there: MAHI_TEST_DATA, or `shared/data` beside
 * the repository. Without it, a line says what is skipped.
 */
export function findRealData(subject: string): string | undefined {
  if (process.env.MAHI_TEST_DATA) return process.env.MAHI_TEST_DATA
  const beside = join(import.meta.dirname, '../../../shared/data')
  if (existsSync(beside)) return beside
  process.stderr.write(`SKIPPED: ${subject}: MAHI_TEST_DATA names no folder, and there is no ${beside}\n`)
  return undefined
}
