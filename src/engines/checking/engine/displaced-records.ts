import { getOrMake } from '../../../foundation/get-or-make.ts'
import { increment } from '../../../foundation/increment.ts'
import { formatNumber } from '../../../foundation/text/format-number.ts'
import { NumberSet } from '../../../foundation/text/interner.ts'
import type { Field, Resource } from '../definition/definition.ts'
import type { FileOf } from './file-state.ts'
import type { SeenFinding } from './seen-finding.ts'

/** A record with wrong values in so many columns is wrong as a whole. */
const LEAST_WRONG = 4
/** The part of a file's records beyond which its columns are wrong, and not these records. */
const MOST_OF_FILE = 0.1

/** The records of a file whose wrong columns are remembered. */
const REMEMBERED = 10_000

interface Displaced {
  readonly records: NumberSet
  readonly columns: Map<number, ReadonlySet<Field>>
  count: number
}

/**
 * Records whose values fit many of their columns badly for no reason of their own: their cells have moved, or they were
 * copied from another file. Without this, each of their columns would be a cause.
 */
export class DisplacedRecords {
  readonly #fileOf: FileOf
  readonly #files = new Map<string, Displaced>()
  readonly #counts = new Map<Field, number>()
  #name = ''
  #record = -1
  #wrong = new Set<Field>()

  constructor(fileOf: FileOf) {
    this.#fileOf = fileOf
  }

  /** Adds a value that fails a check, and to which nothing typical happened. Findings come in the order of the records. */
  add({ name, record }: SeenFinding, field: Field): void {
    if (name !== this.#name || record !== this.#record) {
      this.#name = name
      this.#record = record
      this.#wrong = new Set()
    }
    if (this.#wrong.has(field)) return
    increment(this.#counts, field)
    if (this.#wrong.add(field).size !== LEAST_WRONG) return
    const file = getOrMake(this.#files, name, () => {
      return { records: new NumberSet(), columns: new Map(), count: 0 }
    })
    file.records.add(record)
    if (file.columns.size < REMEMBERED) file.columns.set(record, this.#wrong)
    file.count++
  }

  has({ resource, name, record }: SeenFinding): boolean {
    const file = this.#files.get(name)
    if (file?.records.has(record) !== true) return false
    if (file.count > this.#fileOf(resource.name).count * MOST_OF_FILE) return false
    // Where the other records have no right values either, the columns are wrong.
    const columns = [...(file.columns.get(record) ?? [])]
    return columns.length === 0 || columns.some((field) => this.#hasRight(resource, field))
  }

  #hasRight(resource: Resource, field: Field): boolean {
    return (
      (this.#counts.get(field) ?? 0) * 2 <=
      this.#fileOf(resource.name).countValues(resource.fields.indexOf(field))
    )
  }
}

/** What is said of displaced records. */
export function describeDisplaced(count: number): string {
  const [have, their] =
    count === 1 ? ['A record has', 'its'] : [`${formatNumber(count)} records have`, 'their']
  const belonged = count === 1 ? 'it belonged' : 'they belonged'
  return `${have} wrong values in ${LEAST_WRONG} or more columns, as if ${their} cells had moved or ${belonged} to another file.`
}
