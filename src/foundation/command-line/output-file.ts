import { existsSync, realpathSync, statSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { UserError } from '../faults/user-error.ts'
import { lookUp } from '../look-up.ts'

/** A file cannot be written; the message says what to do. */
export class FileUnusable extends UserError {}

/**
 * Replaces a file atomically, even across a power failure. The new content is written to `<path>.new`, which
 * overwrites the remains of an interrupted run.
 *
 * @param fill writes the content; `append` resolves when there is room for more
 * @throws {FileUnusable} if the file cannot be written
 */
export async function replaceFile<T>(
  path: string,
  fill: (append: (content: string | Uint8Array) => Promise<void>) => Promise<T>,
): Promise<T> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new FileUnusable(`${path} is not a regular file. Name a file that can be replaced`)
  const temporary = `${path}.new`
  try {
    const result = await fillAndSync(temporary, fill)
    await rename(temporary, path)
    await syncFolder(dirname(path))
    return result
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw explainFileError(error, path)
  }
}

/**
 * Refuses a file to write that would take the place of one to read, whatever links lead to their folders.
 *
 * @param what the files to read, such as `the files to check`
 * @throws {UserError}
 */
export function assertOutput(output: string | undefined, inputs: readonly string[], what: string): void {
  if (output === undefined || !existsSync(output)) return
  const place = placeOf(output)
  if (inputs.some((input) => existsSync(input) && placeOf(input) === place))
    throw new UserError(`${output} is one of ${what}: name another file for --output`)
}

function placeOf(path: string): string {
  return join(realpathSync(dirname(path)), basename(path))
}

/** Writes a file, and waits until its content survives a power failure. */
async function fillAndSync<T>(
  path: string,
  fill: (append: (content: string | Uint8Array) => Promise<void>) => Promise<T>,
): Promise<T> {
  // Private, because findings identify students.
  const file = await open(path, 'w', 0o600)
  try {
    const writer = new BufferedWriter(file)
    const result = await fill((content) => writer.write(content))
    await writer.flush()
    await file.sync()
    return result
  } finally {
    await file.close()
  }
}

/** A rename only survives a power failure once the folder is on the disk. */
async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder, and does not need to.
  if (process.platform === 'win32') return
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Collects small pieces of text and writes them together. Bytes are written as they come. */
class BufferedWriter {
  readonly #file: FileHandle
  #text = ''

  constructor(file: FileHandle) {
    this.#file = file
  }

  async write(content: string | Uint8Array): Promise<void> {
    if (typeof content !== 'string') {
      await this.flush()
      await this.#file.writeFile(content)
      return
    }
    this.#text += content
    if (this.#text.length >= 256 * 1024) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.#text !== '') await this.#file.writeFile(this.#text)
    this.#text = ''
  }
}

/** What to report if the disk is full. */
export function diskFull(path: string, cause: unknown): FileUnusable {
  return new FileUnusable(`${path} ${NO_ROOM}`, { cause })
}

/** Turns a system error about a file into a message that says what to do; other errors are returned unchanged. */
export function explainFileError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error
  const { code = '', syscall, path: at = path } = error as NodeJS.ErrnoException
  // Of nested folders, the first that cannot be created.
  const failed = syscall === 'mkdir' ? at : path
  const advice = code === 'ENOENT' && existsSync(dirname(failed)) ? NOTHING_NEW : ADVICE[code]
  return advice === undefined ? error : new FileUnusable(`${failed} ${advice}`, { cause: error })
}

const NO_ROOM = 'cannot be written: the disk is full. Free some space and run the command again'
/** Such as in `/proc`. */
const NOTHING_NEW = 'cannot be written: nothing can be created in its folder. Name another folder'
const NO_RIGHT = 'cannot be written: give this user write permission for it and its folder'

const ADVICE = lookUp<string>({
  ENOSPC: NO_ROOM,
  EDQUOT: NO_ROOM,
  EFBIG: 'cannot be written: it would exceed the maximum file size',
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  EROFS: 'cannot be written: its file system is read-only',
  ENOENT: 'cannot be written: its folder does not exist. Create it, or name another one',
  ENOTDIR: 'cannot be written: a part of its path is a file, not a folder',
  EISDIR: 'cannot be written: it is a folder',
  EEXIST: 'cannot be written: a part of its path is a file, not a folder',
  EIO: 'cannot be written: the disk reports an error',
})
