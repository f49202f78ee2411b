import { NumberList } from '../../../foundation/text/interner.ts'

/** Findings encode a record number and a check number below this in one number. */
const CHECKS = 65_536

/** The values of a rule's columns besides the record number. */
export type Extras = Readonly<Record<string, string>>

/**
 * The findings of one file, each as one number until it is written. Counts are exact for each check, but findings
 * beyond the cap are only counted.
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

  /** The kept findings ordered by record and check. */
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
