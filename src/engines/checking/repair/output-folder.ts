import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { explainFileError, replaceFile } from '../../../foundation/command-line/output-file.ts'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { makeFolder } from '../../../foundation/make-folder.ts'

export type AppendBytes = (content: string | Uint8Array) => Promise<void>

/** A folder for copies of checked files. It is never one of theirs, and its files are complete or absent. */
export class OutputFolder {
  readonly path: string
  readonly #isNew: boolean

  /**
   * Refuses a folder before any work is done. It is created with its first file.
   *
   * @param names the files that will be written
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
    if (folders.some((folder) => realpathSync(folder) === real))
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

  /** Writes a file beside its place, and puts it there when it is complete. */
  async write<T>(name: string, fill: (append: AppendBytes) => Promise<T>): Promise<T> {
    try {
      makeFolder(this.path)
    } catch (error) {
      throw explainFileError(error, this.path)
    }
    return await replaceFile(join(this.path, name), fill)
  }

  /** Removes files that were written, and the folder if it was made for them and has no others. */
  async remove(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => rm(join(this.path, name), { force: true })))
    // With other files in it, it stays.
    if (this.#isNew) await rmdir(this.path).catch(() => undefined)
  }
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
