import { NumberList } from './interner.ts'

/** Offsets of which one is stored whole. */
const GROUP = 64
const BLOCK = 1 << 16
/** What stands for a distance that has its own entry. */
const LONG = 0xffff

/** The places of records in a file, in ascending order, at two bytes for each. */
export class Offsets {
  #size = 0
  readonly #whole = new NumberList()
  /** The distance of each offset from the one before. */
  readonly #distances: Uint16Array[] = []
  readonly #long = new Map<number, number>()
  #last = 0

  push(offset: number): void {
    const index = this.#size++
    if (index % GROUP === 0) this.#whole.push(offset)
    if (index % BLOCK === 0) this.#distances.push(new Uint16Array(BLOCK))
    const distance = offset - this.#last
    this.#last = offset
    const block = this.#distances[this.#distances.length - 1] as Uint16Array
    block[index % BLOCK] = Math.min(distance, LONG)
    if (distance >= LONG) this.#long.set(index, distance)
  }

  get(index: number): number {
    const from = index - (index % GROUP)
    const block = this.#distances[Math.floor(index / BLOCK)]
    let offset = this.#whole.get(from / GROUP)
    for (let each = from + 1; each <= index; each++) {
      const distance = block?.[each % BLOCK] ?? 0
      offset += distance === LONG ? (this.#long.get(each) ?? 0) : distance
    }
    return offset
  }
}
