import { stringify } from 'csv-stringify/sync'
import type { AppendBytes } from './output-folder.ts'

/** A change of a file: of a value, of a column's name, of a row, or of all its lines. */
export interface Change {
  readonly file: string
  /** The line in the original, from 1; absent for the whole file. */
  readonly line?: number
  readonly field?: string
  readonly before: string
  readonly after: string
  readonly why: string
}

/** The changes of one kind. */
export interface ChangeGroup {
  readonly file: string
  readonly field?: string
  readonly why: string
  readonly count: number
}

/** What is left as it is, of one kind: rows, or the encoding of a file. */
export interface LeftRows extends ChangeGroup {
  /** That of the first one. */
  readonly line: number
}

const COLUMNS = ['file', 'line', 'field', 'before', 'after', 'why'] as const

/** Lists every change as CSV for spreadsheets, and counts them by kind. */
export class ChangeList {
  readonly #append: AppendBytes
  readonly #groups = new Map<string, ChangeGroup>()
  readonly #left = new Map<string, LeftRows>()
  #waiting: string[] = []
  total = 0

  constructor(append: AppendBytes) {
    this.#append = append
    this.#waiting.push(`\ufeff${stringify([[...COLUMNS]])}`)
  }

  get groups(): readonly ChangeGroup[] {
    return [...this.#groups.values()]
  }

  get left(): readonly LeftRows[] {
    return [...this.#left.values()]
  }

  /** Counts a row that is not certain enough to be removed, or a file whose encoding is not certain. */
  leave(row: Pick<LeftRows, 'file' | 'line' | 'why'>): void {
    countKind(this.#left, { ...row, count: 0 })
  }

  add(change: Change): void {
    this.total++
    const { file, field, why } = change
    countKind(this.#groups, { file, ...(field !== undefined && { field }), why, count: 0 })
    const cells = COLUMNS.map((name) => change[name] ?? '')
    this.#waiting.push(stringify([cells], { escape_formulas: true }))
  }

  /** Writes what was added. Call it from time to time. */
  async flush(): Promise<void> {
    const text = this.#waiting.join('')
    this.#waiting = []
    if (text !== '') await this.#append(text)
  }
}

/** Counts a change, or what it leaves, with those of its kind; the first one stands for all. */
function countKind<Kind extends ChangeGroup>(groups: Map<string, Kind>, first: Kind): void {
  const { file, field, why } = first
  const key = JSON.stringify([file, field, why])
  groups.set(key, { ...(groups.get(key) ?? first), count: (groups.get(key)?.count ?? 0) + 1 })
}
