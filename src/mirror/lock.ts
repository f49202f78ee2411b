import { closeSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { fail } from '../text/user-error.ts'

const LOCK = 'mirror.lock'

/**
 * Keeps two mirrors from working in one folder at once. The lock is that of an empty SQLite file: the system releases
 * it however the process ends, so no stale lock can be left for two others to find.
 *
 * @returns what releases the folder
 * @throws {UserError} if another one is at work
 */
export function takeLock(folder: string): () => void {
  const path = join(folder, LOCK)
  // Made here, as SQLite would give it the rights of any new file. An older version has left a number there. To open
  // an empty file again could release the lock of another mirror in this process.
  if (statSync(path, { throwIfNoEntry: false })?.size !== 0) closeSync(openSync(path, 'w', 0o600))
  const connection = new Sqlite(path, { timeout: 0 })
  try {
    connection.exec('begin exclusive')
  } catch (error) {
    connection.close()
    if (!(error instanceof Sqlite.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error
    fail({
      file: folder,
      message: 'Another process is mirroring into this folder. Wait until it has finished',
    })
  }
  return () => connection.close()
}
