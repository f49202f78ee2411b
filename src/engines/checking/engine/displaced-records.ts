import { formatNumber } from '../../../foundation/text/format-number.ts'
import type { Field } from '../definition/definition.ts'
import { NumberSet } from './interner.ts'
import type { SeenFinding } from './seen-finding.ts'

/** A record with wrong values in so many columns is wrong as a whole. */
const LEAST_WRONG = 4
/** The part of a file's records beyond which its columns are wrong, and not these records. */
const MOST_OF_FILE = 0.1

interface Displaced {
  readonly records: NumberSet
  count: number
}

/**
 * Records whose values fit many of their columns badly for no reason of their own: their cells have moved, or they were
 * copied from another file. Without this, each of their columns would be a cause.
 */
export class DisplacedRecords {
  readonly #recordsOf: (resource: string) => number
  readonly #files = new Map<string, Displaced>()
  #name = ''
  #record = -1
  #wrong = new Set<Field>()

  /** @param recordsOf the number of records of a file */
  constructor(recordsOf: (resource: string) => number) {
    this.#recordsOf = recordsOf
  }

  /** Adds a value that fails a check, and to which nothing typical happened. Findings come in the order of the records. */
  add({ name, record }: SeenFinding, field: Field): void {
    if (name !== this.#name || record !== this.#record) {
      this.#name = name
      this.#record = record
      this.#wrong = new Set()
    }
    if (this.#wrong.has(field)) return
    if (this.#wrong.add(field).size !== LEAST_WRONG) return
    const file = this.#files.get(name) ?? { records: new NumberSet(), count: 0 }
    this.#files.set(name, file)
    file.records.add(record)
    file.count++
  }

  has({ resource, name, record }: SeenFinding): boolean {
    const file = this.#files.get(name)
    return file?.records.has(record) === true && file.count <= this.#recordsOf(resource.name) * MOST_OF_FILE
  }
}

/** What is said of displaced records. */
export function describeDisplaced(count: number): string {
  const [have, their] =
    count === 1 ? ['A record has', 'its'] : [`${formatNumber(count)} records have`, 'their']
  const belonged = count === 1 ? 'it belonged' : 'they belonged'
  return `${have} wrong values in ${LEAST_WRONG} or more columns, as if ${their} cells had moved or ${belonged} to another file.`
}
