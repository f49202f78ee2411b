import { getOrMake } from '../../../foundation/get-or-make.ts'
import { renderForSpreadsheets } from '../../records/index.ts'
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

/** Changes of one kind, or what is left as it is: values, rows, or the encoding of a file. */
interface Kind {
  readonly file: string
  readonly field?: string
  readonly why: string
  readonly count: number
}

/** The changes of one kind. */
export interface ChangeGroup extends Kind {
  /** The first ones that differ. */
  readonly examples: readonly Example[]
}

type Example = Pick<Change, 'line' | 'before' | 'after'>

/** What is left as it is, of one kind. */
export interface LeftRows extends Kind {
  /** That of the first one. */
  readonly line: number
}

const EXAMPLES = 3

const COLUMNS = ['file', 'line', 'field', 'before', 'after', 'why'] as const

/** Lists every change as CSV for spreadsheets, and counts them by kind. */
export class ChangeList {
  readonly #append: AppendBytes
  readonly #groups = new Map<string, ChangeGroup & { count: number; examples: Example[] }>()
  readonly #left = new Map<string, LeftRows & { count: number }>()
  #waiting: string[] = []
  total = 0

  constructor(append: AppendBytes) {
    this.#append = append
    this.#waiting.push(`\ufeff${renderForSpreadsheets([COLUMNS])}`)
  }

  get groups(): readonly ChangeGroup[] {
    return [...this.#groups.values()]
  }

  get left(): readonly LeftRows[] {
    return [...this.#left.values()]
  }

  /** Counts a value or a row whose repair is not certain, or a file whose encoding is not. */
  leave(row: Omit<LeftRows, 'count'>): void {
    countKind(this.#left, { ...row, count: 0 })
  }

  add(change: Change): void {
    this.total++
    const { file, field, why, line, before, after } = change
    const { examples } = countKind(this.#groups, {
      file,
      ...(field !== undefined && { field }),
      why,
      count: 0,
      examples: [],
    })
    if (examples.length < EXAMPLES && examples.every((each) => each.before !== before))
      examples.push({ ...(line !== undefined && { line }), before, after })
    const cells = COLUMNS.map((name) => change[name] ?? '')
    this.#waiting.push(renderForSpreadsheets([cells]))
  }

  /** Writes what was added. Call it from time to time. */
  async flush(): Promise<void> {
    const text = this.#waiting.join('')
    this.#waiting = []
    if (text !== '') await this.#append(text)
  }
}

/** Counts a change, or what it leaves, with those of its kind; the first one stands for all. */
function countKind<Each extends Kind & { count: number }>(groups: Map<string, Each>, first: Each): Each {
  const { file, field, why } = first
  const key = JSON.stringify([file, field, why])
  const known = getOrMake(groups, key, () => first)
  known.count++
  return known
}
