import { NumberList } from './interner.ts'

/** Room for the number of a check beside the number of a record in one finding. */
const CHECKS = 65_536

/** What a rule's query says about a record beyond its number: the values of its other columns. */
export type Extras = Readonly<Record<string, string>>

/**
 * The findings of one file. A finding is one number until it is written. Each check is counted exactly; beyond the cap
 * its findings are counted only.
 */
export class Found {
  readonly counts: Float64Array
  readonly #cap: number
  readonly #list = new NumberList()
  readonly #extras = new Map<number, Extras>()

  constructor(checks: number, cap: number) {
    this.counts = new Float64Array(checks)
    this.#cap = cap
  }

  /** @param record the number of the record, from 1; 0 is the file */
  add(check: number, record: number, extras?: Extras): void {
    const count = (this.counts[check] ?? 0) + 1
    this.counts[check] = count
    if (count > this.#cap) return
    const number = record * CHECKS + check
    this.#list.push(number)
    if (extras !== undefined) this.#extras.set(number, extras)
  }

  /** How many findings of a check are kept. */
  kept(check: number): number {
    return Math.min(this.counts[check] ?? 0, this.#cap)
  }

  /** The kept findings in the order record, check. */
  *sorted(): Generator<{ record: number; check: number; extras: Extras | undefined }> {
    const numbers = new Float64Array(this.#list.size)
    for (let index = 0; index < numbers.length; index++) numbers[index] = this.#list.get(index)
    numbers.sort()
    for (const number of numbers) {
      yield {
        record: Math.floor(number / CHECKS),
        check: number % CHECKS,
        extras: this.#extras.size === 0 ? undefined : this.#extras.get(number),
      }
    }
  }
}
