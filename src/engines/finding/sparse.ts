import { floats, integers, NumberList } from './number-list.ts'

/** Rows of a sparse matrix: row `r` is `column[start[r]]` to `column[start[r + 1] - 1]`, and their values. */
export interface SparseRows {
  readonly start: Uint32Array
  readonly column: Uint32Array
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
  const rows = start.length - 1
  const turned = {
    start: new Uint32Array(columns + 1),
    column: new Uint32Array(column.length),
    value: new Float32Array(value.length),
  }
  for (const each of column) turned.start[each + 1] = (turned.start[each + 1] as number) + 1
  for (let each = 0; each < columns; each++) {
    turned.start[each + 1] = (turned.start[each + 1] as number) + (turned.start[each] as number)
  }
  const next = turned.start.slice()
  for (let row = 0; row < rows; row++) {
    for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
      const place = next[column[at] as number] as number
      next[column[at] as number] = place + 1
      turned.column[place] = row
      turned.value[place] = value[at] as number
    }
  }
  return turned
}
