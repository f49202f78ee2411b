import { floats, integers, NumberList } from './number-list.ts'

/** Lists of numbers, one after another: list `r` is `column[start[r]]` to `column[start[r + 1] - 1]`. */
export interface NumberLists {
  readonly start: Uint32Array
  readonly column: Uint32Array
}

/** Rows of a sparse matrix: the columns of each row, and their values. */
export interface SparseRows extends NumberLists {
  readonly value: Float32Array
}

/** Builds a sparse matrix row by row. */
export class RowWriter {
  readonly #start = new NumberList(integers)
  readonly #column = new NumberList(integers)
  readonly #value = new NumberList(floats)

  constructor() {
    this.#start.push(0)
  }

  add(column: number, value: number): void {
    this.#column.push(column)
    this.#value.push(value)
  }

  endRow(): void {
    this.#start.push(this.#column.length)
  }

  finish(): SparseRows {
    return { start: this.#start.finish(), column: this.#column.finish(), value: this.#value.finish() }
  }
}

/** The transposed matrix. Within a column, rows keep their order. */
export function transpose({ start, column, value }: SparseRows, columns: number): SparseRows {
  const turned = new Float32Array(value.length)
  const lists = invert({ start, column }, columns, (from, to) => {
    turned[to] = value[from] as number
  })
  return { ...lists, value: turned }
}

/**
 * For each number, the lists that have it, in their order.
 *
 * @param numbers how many there are, from 0
 * @param onMove called with the place of each number in the lists, and the place of its list in the result
 */
export function invert(
  { start, column }: NumberLists,
  numbers: number,
  onMove: (from: number, to: number) => void = () => undefined,
): NumberLists {
  const turned = { start: new Uint32Array(numbers + 1), column: new Uint32Array(column.length) }
  for (const each of column) turned.start[each + 1] = (turned.start[each + 1] as number) + 1
  for (let each = 0; each < numbers; each++) {
    turned.start[each + 1] = (turned.start[each + 1] as number) + (turned.start[each] as number)
  }
  const next = turned.start.slice()
  for (let list = 0; list < start.length - 1; list++) {
    for (let at = start[list] as number; at < (start[list + 1] as number); at++) {
      const place = next[column[at] as number] as number
      next[column[at] as number] = place + 1
      turned.column[place] = list
      onMove(at, place)
    }
  }
  return turned
}
