import { lookUp } from '../look-up.ts'
import { UserError } from './user-error.ts'

/** Why a file cannot be read, and what to do, after its name. */
const READ_ERRORS = lookUp<string>({
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: a part of its path is a file, not a folder',
  EACCES: 'cannot be read: this user has no permission. Give it read permission for the file and its folder',
  EPERM: 'cannot be read: this user has no permission. Give it read permission for the file and its folder',
  EISDIR: 'is a folder. Name the files in it',
  EIO: 'cannot be read: the disk reports an error. Use another copy of the file',
})

/** The calls of the system that only read; `open` is also how files are written. */
const READING = new Set(['open', 'read', 'stat', 'lstat', 'scandir'])

/** Why a file cannot be read by the code of a system error, after its name. */
export function describeReadError(code = 'an unknown error'): string {
  return READ_ERRORS[code] ?? `cannot be read: the system reports ${code}`
}

/**
 * Turns a system error about reading a file into a sentence that says what to do; other errors are returned unchanged.
 *
 * @param path the file that was read; by default, the one that the error names
 */
export function explainReadError(error: unknown, path?: string): unknown {
  if (!(error instanceof Error)) return error
  const { syscall = '', code, path: named = path } = error as NodeJS.ErrnoException
  if (named === undefined || named !== (path ?? named) || !READING.has(syscall)) return error
  return new UserError([{ file: named, message: describeReadError(code) }], { cause: error })
}
