import { closeSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { diskFull } from '../foundation/command-line/output-file.ts'
import { fail } from '../foundation/faults/user-error.ts'

const LOCK = 'mirror.lock'

/**
 * Prevents two mirrors from using one folder at once. It locks an empty SQLite file: the operating system releases
 * the lock however the process ends, so no stale lock remains.
 *
 * @returns a function that releases the folder
 * @throws {UserError} if another mirror holds the lock
 */
export function takeLock(folder: string): () => void {
  const path = join(folder, LOCK)
  // Created here, because SQLite would create it with the default permissions. An older version wrote a number into
  // it. An empty file is not opened again, because closing it could release the lock of another mirror in this
  // process.
  if (statSync(path, { throwIfNoEntry: false })?.size !== 0) closeSync(openSync(path, 'w', 0o600))
  const connection = new Sqlite(path, { timeout: 0 })
  try {
    connection.exec('begin exclusive')
  } catch (error) {
    connection.close()
    if (!(error instanceof Sqlite.SqliteError)) throw error
    if (error.code === 'SQLITE_FULL') throw diskFull(folder, error)
    if (!error.code.startsWith('SQLITE_BUSY')) throw error
    fail({
      file: folder,
      message: 'Another process is mirroring into this folder. Wait until it has finished',
    })
  }
  return () => connection.close()
}
