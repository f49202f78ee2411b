/** Rows of a sparse matrix: row `r` is `column[start[r]]` to `column[start[r + 1] - 1]`, and their values. */
export interface SparseRows {
  readonly start: Uint32Array
  readonly column: Uint32Array
  readonly value: Float32Array
}

/** Builds a sparse matrix row by row. */
export class RowWriter {
  #start: number[] = [0]
  #column: Uint32Array = new Uint32Array(1024)
  #value: Float32Array = new Float32Array(1024)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(column: number, value: number): void {
    if (this.#length === this.#column.length) this.#grow()
    this.#column[this.#length] = column
    this.#value[this.#length] = value
    this.#length++
  }

  endRow(): void {
    this.#start.push(this.#length)
  }

  /** Returns the rows without copying what can be hundreds of megabytes. */
  finish(): SparseRows {
    return {
      start: Uint32Array.from(this.#start),
      column: this.#column.subarray(0, this.#length),
      value: this.#value.subarray(0, this.#length),
    }
  }

  #grow(): void {
    const [column, value] = [new Uint32Array(this.#length * 2), new Float32Array(this.#length * 2)]
    column.set(this.#column)
    value.set(this.#value)
    this.#column = column
    this.#value = value
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
