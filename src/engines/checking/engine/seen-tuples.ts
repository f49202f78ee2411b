import { hashPair } from '../../../foundation/text/seeded-hash.ts'
import { free } from './interner.ts'

/** Many tables: one that grows does not need twice the memory of all. */
const TABLES = 128
const LEAST = 16
/** A table grows by a quarter once so much of it is taken. */
const FULL = 0.8
const GROWTH = 1.25
const FREE = -1

/**
 * Detects repeated lists of two or more numbers, such as the parts of a key. It keeps two numbers for each list, which
 * takes half the memory of a list of three and its place in a table: a pair itself, or 63 bits of a hash that differs in
 * every process. Among ten million lists, two have the same hash in one of 200,000 runs, so a caller looks at the lists
 * themselves before it says that one is repeated.
 */
export class SeenTuples {
  readonly #tables: (Int32Array<ArrayBuffer> | undefined)[] = new Array(TABLES).fill(undefined)
  readonly #sizes = new Int32Array(TABLES)

  /** Returns whether the list is new. Its numbers are not negative. */
  add(tuple: Int32Array): boolean {
    let [first, second] = tuple as unknown as [number, number]
    if (tuple.length > 2) {
      let [one, other] = [0, 0]
      for (let index = 0; index < tuple.length; index++) {
        const number = tuple[index] as number
        one = hashPair(one, number)
        other = hashPair(number, other)
      }
      first = one & 0x7fffffff
      second = other
    }
    const hash = hashPair(first, second)
    const at = hash & (TABLES - 1)
    const size = this.#sizes[at] as number
    let table = this.#tables[at]
    if (table === undefined || size >= (table.length / 2) * FULL) {
      table = enlarge(table)
      this.#tables[at] = table
    }
    if (!insert(table, hash, first, second)) return false
    this.#sizes[at] = size + 1
    return true
  }

  /** Frees its memory; nothing can be added afterwards. */
  close(): void {
    for (const table of this.#tables) if (table !== undefined) free(table)
  }
}

/** Returns whether the pair was not there. Each pair takes two numbers, of which the first says whether it is taken. */
function insert(table: Int32Array, hash: number, first: number, second: number): boolean {
  const places = table.length / 2
  // The bits that did not choose the table, as a fraction of its places.
  let place = Math.floor(((hash >>> 7) / 0x2000000) * places) * 2
  for (;;) {
    const known = table[place] as number
    if (known === FREE) break
    if (known === first && table[place + 1] === second) return false
    place += 2
    if (place === table.length) place = 0
  }
  table[place] = first
  table[place + 1] = second
  return true
}

function enlarge(table: Int32Array<ArrayBuffer> | undefined): Int32Array<ArrayBuffer> {
  const places = table === undefined ? LEAST : Math.ceil((table.length / 2) * GROWTH)
  const larger = new Int32Array(places * 2).fill(FREE)
  for (let place = 0; table !== undefined && place < table.length; place += 2) {
    const [first, second] = [table[place] as number, table[place + 1] as number]
    if (first !== FREE) insert(larger, hashPair(first, second), first, second)
  }
  if (table !== undefined) free(table)
  return larger
}
