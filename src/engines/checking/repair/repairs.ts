import { join, resolve } from 'node:path'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import type { CheckRequest } from '../check-files.ts'
import type { ChangeGroup, LeftRows } from './change-list.ts'
import { CHANGES } from './changes-name.ts'
import { chooseFixFolder, type Fixed, fixFiles } from './fix.ts'
import { chooseMarkFolder, type MarkInput, markFiles } from './mark.ts'
import type { OutputFolder } from './output-folder.ts'

export interface RepairFlags {
  readonly fix?: string | undefined
  readonly mark?: string | undefined
  readonly format: string
  readonly overwrite?: true | undefined
}

/** The most kinds of changes that a terminal shows; the list has all of them. */
const SHOWN = 15

/** What `mahi check` does with the files before and after the check: corrected copies, and marked ones. */
export class Repairs {
  readonly #flags: RepairFlags
  readonly #fixFolder: OutputFolder | undefined
  readonly #markFolder: OutputFolder | undefined
  #request: CheckRequest
  #fixed: Fixed | undefined
  #marked: readonly string[] | undefined

  /** @throws {UserError} if a folder is refused; nothing has been written then */
  constructor(request: CheckRequest, flags: RepairFlags) {
    this.#request = request
    this.#flags = flags
    const { fix, mark } = flags
    if (fix !== undefined && mark !== undefined && resolve(fix) === resolve(mark))
      throw new UserError('--fix and --mark need different folders')
    const overwrite = flags.overwrite === true
    const { files } = request
    if (fix !== undefined) this.#fixFolder = chooseFixFolder(fix, files, { overwrite })
    if (mark !== undefined)
      this.#markFolder = chooseMarkFolder(mark, files, { format: this.#markFormat, overwrite })
  }

  get #markFormat(): 'csv' | 'xlsx' {
    return this.#flags.format === 'xlsx' ? 'xlsx' : 'csv'
  }

  /** Writes the corrected copies, if they are wanted, and returns what is to be checked. */
  async fix(signal: AbortSignal): Promise<CheckRequest> {
    if (this.#fixFolder === undefined) return this.#request
    this.#fixed = await fixFiles(this.#request, this.#fixFolder, signal)
    this.#request = { ...this.#request, files: this.#fixed.files }
    return this.#request
  }

  /** Writes the marked copies, if they are wanted. */
  async mark(result: MarkInput, signal: AbortSignal): Promise<void> {
    const folder = this.#markFolder
    if (folder === undefined) return
    const { definition, files } = this.#request
    const options = { format: this.#markFormat, definition, files, folder, signal }
    this.#marked = (await markFiles(result, options)).map((name) => join(folder.path, name))
  }

  /** What was written, for programs. */
  get report(): object {
    const folder = this.#fixFolder?.path ?? ''
    const fixed = this.#fixed && {
      files: this.#fixed.copies.map((name) => join(folder, name)),
      list: join(folder, CHANGES),
      changes: this.#fixed.changes,
      groups: this.#fixed.groups,
      left: this.#fixed.left,
    }
    return { ...(fixed && { fixed }), ...(this.#marked && { marked: this.#marked }) }
  }

  /** What was corrected, as lines for a terminal. */
  describeFixes(): string[] {
    if (this.#fixed === undefined || this.#fixFolder === undefined) return []
    const { changes, groups, left } = this.#fixed
    const { path } = this.#fixFolder
    const notes = left.map(describeLeft)
    if (changes === 0) return [`Nothing was changed. Copies of the files are in ${path}.`, ...notes]
    const shown = [...groups].sort((one, other) => other.count - one.count).slice(0, SHOWN)
    const more = groups.length - shown.length
    return [
      `${count(changes, 'change')}, listed in ${join(path, CHANGES)}:`,
      ...shown.map((group) => `  ${describeGroup(group)}`),
      ...(more > 0 ? [`  and ${count(more, 'other kind')} of changes`] : []),
      ...notes,
      `The corrected copies are in ${path}. This is left in them:`,
    ]
  }

  /** What was marked, as lines for a terminal. */
  describeMarks(): string[] {
    return this.#marked === undefined ? [] : [`Marked: ${this.#marked.join(', ')}.`]
  }
}

/** The check reports every such value and row; this says why it is still there. A file keeps its encoding. */
function describeLeft({ file, line, field, why, count: number }: LeftRows): string {
  const place = `${file}:${line}${field === undefined ? '' : `, ${field}`}`
  return `Left, because it is not certain: ${place}: ${why}${describeTimes(number)}`
}

function describeGroup({ file, field, why, count: number }: ChangeGroup): string {
  return `${file}${field === undefined ? '' : `, ${field}`}: ${why}${describeTimes(number)}`
}

function describeTimes(number: number): string {
  return number === 1 ? '' : ` (${formatNumber(number)} times)`
}
