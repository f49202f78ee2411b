import { appendFileSync, readFileSync } from 'node:fs'
import { nameSubmission } from '../../api/telemetry/response-log.ts'
import {
  type Database,
  DatabaseUnavailable,
  DatabaseUnusable,
  type Reader,
} from '../../foundation/database/database.ts'
import { listDeleted } from '../submission/activity.ts'
import type { SubmissionName } from '../submission/lock.ts'
import type { RecordErasure } from '../submission/options.ts'
import { cancelSubmission } from './ending.ts'
import { finishDeletions } from './purge.ts'

/**
 * Returns a function that appends erasures to a file, one JSON object per line, and flushes it.
 *
 * @param path without it, nothing is recorded
 */
export function recordErasuresIn(path: string | undefined): RecordErasure {
  return (token) => {
    if (path === undefined) return
    const line = `${JSON.stringify({ time: new Date().toISOString(), submission: nameSubmission(token) })}\n`
    try {
      appendFileSync(path, line, { flush: true, mode: 0o600 })
    } catch (cause) {
      const { code = '' } = cause as NodeJS.ErrnoException
      throw new DatabaseUnavailable(`ERASURE_LOG cannot be written (${code}). Nothing was deleted`, { cause })
    }
  }
}

/**
 * Deletes from a restored database what was erased after the backup: the submissions that the replaced database knows
 * as cancelled, if there is one, and those in the log.
 *
 * @param path the log, if there is one
 * @returns the number of submissions that were erased again
 * @throws {DatabaseUnusable} if the log cannot be read
 */
export async function eraseAgain(
  restored: Database,
  replaced: Reader | undefined,
  path: string | undefined,
): Promise<number> {
  const deleted = replaced === undefined ? [] : await listDeleted(replaced)
  const erased = new Set([...deleted.map(nameSubmission), ...readLog(path)])
  const kept = await restored.all<SubmissionName>(
    `select token, eid from submission where coalesce(ended, '') <> 'Cancelled'`,
  )
  const again = kept.filter(({ token }) => erased.has(nameSubmission(token)))
  for (const { token, eid } of again)
    await cancelSubmission(restored, { token, eid, actor: { id: 'restore', name: 'Restore' } })
  if (again.length > 0) await finishDeletions(restored)
  return again.length
}

function readLog(path: string | undefined): string[] {
  if (path === undefined) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    if (line === '') return []
    const [, found] = /"submission":"([0-9a-f]{64})"\}$/.exec(line) ?? []
    // A process that was killed may have written a part of its line.
    if (found === undefined && index === lines.length - 1) return []
    if (found === undefined)
      throw new DatabaseUnusable(`${path}:${index + 1} is not a line of ERASURE_LOG. Nothing was changed`)
    return [found]
  })
}
