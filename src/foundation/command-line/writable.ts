import { accessSync, closeSync, constants, existsSync, mkdtempSync, openSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UserError } from '../faults/user-error.ts'
import { makeFolder } from '../make-folder.ts'

type Paths = Readonly<Partial<Record<'CHECK_FOLDER' | 'ERASURE_LOG' | 'SNAPSHOT_FOLDER', string | undefined>>>

/**
 * Makes the folders that settings name, and the log of erasures. Found at the start, a wrong path is one sentence; found
 * later, it fails each request or check that needs it.
 *
 * @throws {UserError} with each setting whose path this process cannot write to
 */
export function assertWritable(settings: Paths): void {
  tryPaths(settings, make)
}

/**
 * Tries whether `assertWritable` would succeed, and leaves nothing behind.
 *
 * @throws {UserError} as it does
 */
export function tryWritable(settings: Paths): void {
  tryPaths(settings, (name, path) => {
    if (existsSync(path)) make(name, path)
    else rmdirSync(mkdtempSync(join(name === 'ERASURE_LOG' ? dirname(path) : findAbove(path), '.mahi-')))
  })
}

function make(name: string, path: string): void {
  if (name === 'ERASURE_LOG') closeSync(openSync(path, 'a', 0o600))
  else {
    makeFolder(path, 0o700)
    accessSync(path, constants.W_OK | constants.X_OK)
  }
}

/** The folder in which the first missing one of a path would be created. */
function findAbove(path: string): string {
  const above = dirname(path)
  return above === path || existsSync(above) ? above : findAbove(above)
}

function tryPaths(settings: Paths, attempt: (name: string, path: string) => void): void {
  const faults = Object.entries(settings).flatMap(([name, path]) => {
    if (path === undefined) return []
    try {
      attempt(name, path)
      return []
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      return [`${name} names ${path}, which this user cannot write to (${code})`]
    }
  })
  if (faults.length > 0) throw new UserError(faults.map((message) => ({ message })))
}
