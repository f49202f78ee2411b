import { accessSync, constants, createReadStream, existsSync, realpathSync, statSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { explainFileError, replaceFile } from '../../../foundation/command-line/output-file.ts'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { makeFolder } from '../../../foundation/make-folder.ts'

export type AppendBytes = (content: string | Uint8Array) => Promise<void>

/** Two empty folders: for copies, and for what is converted on the way. */
export interface Folders {
  readonly copies: string
  readonly temporary: string
}

/** A folder for copies of checked files. It is never one of theirs, and its files are complete or absent. */
export class OutputFolder {
  readonly path: string
  readonly #isNew: boolean

  /**
   * Refuses a folder before any work is done. It is created with its first file.
   *
   * @param names the files that it will get
   * @throws {UserError} if an input is in the folder, it cannot be written, or it has one of the files
   */
  constructor(
    path: string,
    names: readonly string[],
    { option, inputs, overwrite }: { option: string; inputs: readonly string[]; overwrite: boolean },
  ) {
    this.path = path
    const stats = statSync(path, { throwIfNoEntry: false })
    this.#isNew = stats === undefined
    if (stats === undefined) return
    if (!stats.isDirectory()) throw new UserError(`${option} needs a folder; ${path} is a file`)
    const real = realpathSync(path)
    // A folder that holds links is the folder of the files, as is the one to which they lead.
    const folders = inputs.flatMap((input) => [dirname(input), dirname(realpathSync(input))])
    // The path of a file may have folders: then it may be in this folder, too.
    const targets = names.map((name) => join(path, name)).filter((each) => existsSync(each))
    const isInput = targets.some((each) => inputs.some((input) => realpathSync(input) === realpathSync(each)))
    if (isInput || folders.some((folder) => realpathSync(folder) === real))
      throw new UserError(`${path} is the folder of the files to check: name another one for ${option}`)
    try {
      accessSync(path, constants.W_OK | constants.X_OK)
    } catch (error) {
      throw explainFileError(error, path)
    }
    const present = names.filter((name) => existsSync(join(path, name)))
    if (present.length > 0 && !overwrite)
      throw new UserError(
        `${path} already has ${present.join(', ')}: name another folder, or replace ${present.length === 1 ? 'it' : 'them'} with --overwrite`,
      )
  }

  /**
   * Takes complete files, all of them or none: some marked files beside unmarked ones would seem to be all, and copies
   * without the list of their changes would be of no use.
   */
  async take(folder: string, names: readonly string[], signal: AbortSignal): Promise<void> {
    const taken: string[] = []
    try {
      for (const name of names) {
        await replaceCopy(this.path, name, async (append) => {
          for await (const chunk of createReadStream(join(folder, name), { signal })) await append(chunk)
        })
        taken.push(name)
      }
    } catch (error) {
      await Promise.all(taken.map((name) => rm(join(this.path, name), { force: true })))
      // With other files in it, a folder stays.
      for (const name of names)
        for (let inner = dirname(name); inner !== '.'; inner = dirname(inner))
          await rmdir(join(this.path, inner)).catch(() => undefined)
      if (this.#isNew) await rmdir(this.path).catch(() => undefined)
      signal.throwIfAborted()
      throw explainFileError(error, this.path)
    }
  }
}

/** Writes a file whose name may have folders. */
export async function replaceCopy<T>(
  folder: string,
  name: string,
  fill: (append: AppendBytes) => Promise<T>,
): Promise<T> {
  const path = join(folder, name)
  makeFolder(dirname(path))
  return await replaceFile(path, fill)
}

/** The name of a file without its archive or workbook: its sheets become files of their own. */
export function nameOutside(name: string): string {
  const inner = name.replace(/^.*\.(?:zip|xls[xm])\//is, '')
  return /\.xls[xm]\/[^/]*$/i.test(name) ? `${inner}.csv` : inner
}

/**
 * The names of the copies of some files.
 *
 * @throws {UserError} if two would have one name
 */
export function nameUniquely(
  names: readonly string[],
  nameCopy: (name: string) => string,
): Map<string, string> {
  const copies = new Map<string, string>()
  const taken = new Map<string, string>()
  for (const name of names) {
    const copy = nameCopy(name)
    // Some file systems do not distinguish case.
    const other = taken.get(copy.toLowerCase())
    if (other !== undefined)
      throw new UserError(`the copies of ${other} and ${name} would both be ${copy}: check one of them alone`)
    taken.set(copy.toLowerCase(), name)
    copies.set(name, copy)
  }
  return copies
}
