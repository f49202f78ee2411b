import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { UserError } from './foundation/faults/user-error.ts'
import { makeFolder } from './foundation/make-folder.ts'

/**
 * Makes the folders that settings name, and the log of erasures. Found at the start, a wrong path is one sentence; found
 * later, it fails each request or check that needs it.
 *
 * @throws {UserError} with each setting whose path this process cannot write to
 */
export function assertWritable(
  settings: Readonly<Partial<Record<'CHECK_FOLDER' | 'ERASURE_LOG' | 'SNAPSHOT_FOLDER', string | undefined>>>,
): void {
  const faults = Object.entries(settings).flatMap(([name, path]) => {
    if (path === undefined) return []
    try {
      if (name === 'ERASURE_LOG') closeSync(openSync(path, 'a', 0o600))
      else {
        makeFolder(path, 0o700)
        accessSync(path, constants.W_OK | constants.X_OK)
      }
      return []
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      return [`${name} names ${path}, which this user cannot write to (${code})`]
    }
  })
  if (faults.length > 0) throw new UserError(faults.map((message) => ({ message })))
}
