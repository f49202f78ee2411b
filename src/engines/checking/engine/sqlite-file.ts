import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { NumberList } from './interner.ts'

/** The page size in bytes. */
export const PAGE = 16_384
/** The page at this offset is never used, because SQLite locks it. */
const LOCK_BYTE = 0x4000_0000
/** Pages written at once. */
const BATCH = 16
/** Most bytes of a row in its page, and fewest of a row that continues in other pages. */
const MOST_LOCAL = PAGE - 35
const LEAST_LOCAL = Math.floor(((PAGE - 12) * 32) / 255) - 23

const LEAF = 13
const INTERIOR = 5

/** The file has reached its largest number of pages. */
export class FileFull extends Error {}

/**
 * Appends pages to a SQLite file with empty tables, in the format of sqlite.org/fileformat2.html. Rows in ascending
 * order fill one page after the other, which takes a tenth of the time of inserting them.
 */
export class SqliteFile {
  readonly #file: number
  readonly #mostPages: number
  readonly #batch = Buffer.alloc(BATCH * PAGE)
  #pages: number
  #batched = 0

  constructor(path: string, mostBytes: number) {
    this.#file = openSync(path, 'r+')
    this.#mostPages = Math.floor(mostBytes / PAGE)
    const count = Buffer.alloc(4)
    readSync(this.#file, count, 0, 4, 28)
    this.#pages = count.readUInt32BE(0)
  }

  /** Appends a page and returns its number. */
  append(page: Uint8Array): number {
    if (this.#pages * PAGE === LOCK_BYTE) this.#write(EMPTY)
    return this.#write(page)
  }

  #write(page: Uint8Array): number {
    if (this.#pages >= this.#mostPages) throw new FileFull()
    this.#batch.set(page, this.#batched * PAGE)
    this.#pages++
    if (++this.#batched === BATCH) this.#flush()
    return this.#pages
  }

  replace(number: number, page: Uint8Array): void {
    writeAll(this.#file, page, (number - 1) * PAGE)
  }

  #flush(): void {
    const start = (this.#pages - this.#batched) * PAGE
    writeAll(this.#file, this.#batch.subarray(0, this.#batched * PAGE), start)
    this.#batched = 0
  }

  /** Writes what is left, and how many pages there are. */
  finish(): void {
    this.#flush()
    const count = Buffer.alloc(4)
    count.writeUInt32BE(this.#pages)
    writeAll(this.#file, count, 28)
  }

  close(): void {
    closeSync(this.#file)
  }
}

const EMPTY = new Uint8Array(PAGE)

function writeAll(file: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, position + at)
}

/** Writes the rows of one table: a tree of pages, of which the leaves hold the rows. */
export class TableWriter {
  readonly #file: SqliteFile
  readonly #root: number
  readonly #page = Buffer.alloc(PAGE)
  /** The rows of the current leaf, and where each starts. */
  readonly #cells = Buffer.alloc(PAGE)
  readonly #starts = new Int32Array(PAGE / 4)
  #filled = 0
  #count = 0
  #row = 0
  /** The leaves that are full, and the last row of each. */
  readonly #leaves = new NumberList()
  readonly #lastRows = new NumberList()
  /** The types of the current row's values, and the values. */
  readonly #types: Int32Array
  #values = 0
  readonly #head: Buffer
  #body = Buffer.alloc(1 << 16)
  #length = 0

  /** @param columns of the table, beside the number of the row */
  constructor(file: SqliteFile, root: number, columns: number) {
    this.#file = file
    this.#root = root
    this.#types = new Int32Array(columns)
    this.#head = Buffer.alloc(8 + columns * 5)
  }

  addNull(): void {
    this.#types[this.#values++] = 0
  }

  addText(text: string): void {
    const { length } = text
    if (this.#length + length * 3 > this.#body.length) this.#enlarge(length * 3)
    const body = this.#body
    const start = this.#length
    let at = start
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (code > 0x7f) {
        at = start + body.write(text, start, 'utf8')
        break
      }
      body[at++] = code
    }
    this.#types[this.#values++] = 13 + (at - start) * 2
    this.#length = at
  }

  /** @param isReal whether the column is declared as real */
  addNumber(number: number, isReal: boolean): void {
    if (this.#length + 8 > this.#body.length) this.#enlarge(8)
    const isInteger = !isReal && Number.isInteger(number) && Math.abs(number) < 2 ** 63
    if (isInteger && (number === 0 || number === 1)) {
      this.#types[this.#values++] = 8 + number
    } else if (isInteger && number === (number | 0)) {
      this.#types[this.#values++] = 4
      this.#length = this.#body.writeInt32BE(number, this.#length)
    } else if (isInteger) {
      this.#types[this.#values++] = 6
      this.#length = this.#body.writeBigInt64BE(BigInt(number), this.#length)
    } else {
      this.#types[this.#values++] = 7
      // SQLite stores no negative zero.
      this.#length = this.#body.writeDoubleBE(number + 0, this.#length)
    }
  }

  #enlarge(more: number): void {
    const body = Buffer.alloc((this.#length + more) * 2)
    this.#body.copy(body, 0, 0, this.#length)
    this.#body = body
  }

  /** Ends a row; the numbers of the rows ascend. */
  endRow(row: number): void {
    const head = this.#endHead()
    const payload = head + this.#length
    const local = localLength(payload)
    // Beside the row: two numbers of up to five bytes, the next page, and its place in the list of the page's rows.
    if (8 + this.#filled + this.#count * 2 + local + 16 > PAGE) this.#endLeaf()
    const cells = this.#cells
    this.#starts[this.#count++] = this.#filled
    let at = putVarint(cells, this.#filled, payload)
    at = putVarint(cells, at, row)
    if (local === payload) {
      for (let index = 0; index < head; index++) cells[at++] = this.#head[index] as number
      for (let index = 0; index < this.#length; index++) cells[at++] = this.#body[index] as number
    } else {
      const whole = Buffer.concat([this.#head.subarray(0, head), this.#body.subarray(0, this.#length)])
      at += whole.copy(cells, at, 0, local)
      at = cells.writeUInt32BE(this.#continue(whole.subarray(local)), at)
    }
    this.#filled = at
    this.#row = row
    this.#values = 0
    this.#length = 0
  }

  /** Writes the types of the row's values behind their own length. */
  #endHead(): number {
    // The number of the row is the first value, as null: it is known from the row itself.
    let length = 1
    for (let index = 0; index < this.#types.length; index++)
      length += varintLength(this.#types[index] as number)
    length += length + 1 < 0x80 ? 1 : 2
    const head = this.#head
    let at = putVarint(head, 0, length)
    head[at++] = 0
    for (let index = 0; index < this.#types.length; index++)
      at = putVarint(head, at, this.#types[index] as number)
    return length
  }

  /** Writes the end of a long row into pages of its own, and returns the first of them. */
  #continue(rest: Buffer): number {
    let next = 0
    // From the last to the first, as each names the next one.
    for (let part = Math.ceil(rest.length / (PAGE - 4)) - 1; part >= 0; part--) {
      const page = Buffer.alloc(PAGE)
      page.writeUInt32BE(next)
      rest.copy(page, 4, part * (PAGE - 4), (part + 1) * (PAGE - 4))
      next = this.#file.append(page)
    }
    return next
  }

  #fillLeaf(): void {
    const page = this.#page
    const start = PAGE - this.#filled
    page[0] = LEAF
    page.writeUInt16BE(0, 1)
    page.writeUInt16BE(this.#count, 3)
    page.writeUInt16BE(start, 5)
    page[7] = 0
    for (let index = 0; index < this.#count; index++)
      page.writeUInt16BE(start + (this.#starts[index] as number), 8 + index * 2)
    page.fill(0, 8 + this.#count * 2, start)
    this.#cells.copy(page, start, 0, this.#filled)
  }

  #endLeaf(): void {
    if (this.#count === 0) return
    this.#fillLeaf()
    this.#leaves.push(this.#file.append(this.#page))
    this.#lastRows.push(this.#row)
    this.#filled = 0
    this.#count = 0
  }

  /** Writes the last leaf and the pages above the leaves. */
  end(): void {
    if (this.#leaves.size === 0) {
      if (this.#count === 0) return
      this.#fillLeaf()
      this.#file.replace(this.#root, this.#page)
      return
    }
    this.#endLeaf()
    let [pages, rows] = [this.#leaves, this.#lastRows]
    while (pages.size > CHILDREN) {
      const [above, lastRows] = [new NumberList(), new NumberList()]
      for (let start = 0; start < pages.size; start += CHILDREN) {
        const end = Math.min(start + CHILDREN, pages.size)
        this.#fillInterior(pages, rows, start, end)
        above.push(this.#file.append(this.#page))
        lastRows.push(rows.get(end - 1))
      }
      pages = above
      rows = lastRows
    }
    this.#fillInterior(pages, rows, 0, pages.size)
    this.#file.replace(this.#root, this.#page)
  }

  #fillInterior(pages: NumberList, rows: NumberList, start: number, end: number): void {
    const page = this.#page.fill(0)
    const count = end - start - 1
    let at = PAGE
    for (let index = 0; index < count; index++) {
      const row = rows.get(start + index)
      at -= 4 + varintLength(row)
      page.writeUInt16BE(at, 12 + index * 2)
      page.writeUInt32BE(pages.get(start + index), at)
      putVarint(page, at + 4, row)
    }
    page[0] = INTERIOR
    page.writeUInt16BE(count, 3)
    page.writeUInt16BE(at, 5)
    page.writeUInt32BE(pages.get(end - 1), 8)
  }
}

/** An interior page has a number of four bytes, one of five and a place in its list for each child. */
const CHILDREN = Math.floor((PAGE - 12) / 11)

function localLength(payload: number): number {
  if (payload <= MOST_LOCAL) return payload
  const length = LEAST_LOCAL + ((payload - LEAST_LOCAL) % (PAGE - 4))
  return length <= MOST_LOCAL ? length : LEAST_LOCAL
}

function varintLength(number: number): number {
  return number < 0x80 ? 1 : number < 0x4000 ? 2 : number < 0x20_0000 ? 3 : number < 0x1000_0000 ? 4 : 5
}

/** A number below 2 ** 32 in groups of seven bits, of which all but the last have their first bit set. */
function putVarint(to: Buffer, at: number, number: number): number {
  if (number < 0x80) {
    to[at] = number
    return at + 1
  }
  const end = at + varintLength(number)
  let rest = number
  for (let place = end - 1; place >= at; place--) {
    to[place] = (rest & 0x7f) | (place === end - 1 ? 0 : 0x80)
    rest >>>= 7
  }
  return end
}
