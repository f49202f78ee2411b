import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import type { CheckRequest, CheckResult } from '../engine/check-files.ts'
import type { ChangeGroup, LeftRows } from './change-list.ts'
import { CHANGES } from './changes-name.ts'
import { chooseFixFolder, type Fixed } from './fix.ts'
import { chooseMarkFolder, type Marks } from './mark.ts'
import type { OutputFolder } from './output-folder.ts'
import { orderCopies, useCopy } from './return-files.ts'
import type { Copies } from './write-copies.ts'

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
    const { path } = this.#fixFolder
    const { fixed } = await this.#copy(this.#fixFolder, undefined, signal)
    this.#fixed = fixed
    const files = this.#request.files.map((file) => (fixed ? useCopy(file, fixed, path) : file))
    this.#request = { ...this.#request, files }
    return this.#request
  }

  /** Writes the marked copies, if they are wanted. */
  async mark({ summary, path: findings }: CheckResult, signal: AbortSignal): Promise<void> {
    const folder = this.#markFolder
    if (folder === undefined) return
    const marks = { format: this.#markFormat, summary, findings }
    this.#marked = (await this.#copy(folder, marks, signal)).names.map((name) => join(folder.path, name))
  }

  async #copy(folder: OutputFolder, marks: Marks | undefined, signal: AbortSignal): Promise<Copies> {
    const temporary = await mkdtemp(join(tmpdir(), 'mahi-copies-'))
    try {
      const order = { request: this.#request, marks, isPacked: false }
      const copies = await orderCopies(order, { folder: temporary, signal })
      await folder.take(copies.folder, copies.names, signal)
      return copies
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  }

  /** What was written, for programs. */
  get report(): object {
    const folder = this.#fixFolder?.path ?? ''
    const fixed = this.#fixed && {
      files: [...this.#fixed.copies.values()].map((name) => join(folder, name)),
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
    const { copies, changes, groups, left } = this.#fixed
    const { path } = this.#fixFolder
    const notes = left.map(describeLeft)
    if (copies.size === 0) return ['Nothing was corrected: no file can be read.']
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
    if (this.#marked === undefined) return []
    return [
      this.#marked.length === 0
        ? 'Nothing was marked: no file can be read.'
        : `Marked: ${this.#marked.join(', ')}.`,
    ]
  }
}

/** The check reports every such value and row; this says why it is still there. A file keeps its encoding. */
function describeLeft({ file, line, field, why, count: number }: LeftRows): string {
  const place = `${file}:${line}${field === undefined ? '' : `, ${field}`}`
  // Of a column, only the values are counted that have a repair if the reason did not hold.
  return `Left, because it is not certain: ${place}: ${why}${field === undefined ? describeTimes(number) : ''}`
}

function describeGroup({ file, field, why, count: number }: ChangeGroup): string {
  return `${file}${field === undefined ? '' : `, ${field}`}: ${why}${describeTimes(number)}`
}

function describeTimes(number: number): string {
  return number === 1 ? '' : ` (${formatNumber(number)} times)`
}
