import type { Check, Resource } from '../definition/definition.ts'
import type { Parameters } from '../parameters.ts'
import { compileField } from './field-checks.ts'
import type { Found } from './found.ts'
import { NumberList, NumberSet } from './interner.ts'
import type { OpenFile } from './read-file.ts'
import type { Values } from './record-checks.ts'
import { compileValues } from './values.ts'

/** The keys whose earlier record is named; further repeats are counted without it. */
const MOST_KEYS = 100_000

/**
 * The records of a file that repeat a key of an earlier one. Few files have any, so the earlier records are looked up
 * in a second pass, and nothing is kept of the keys that occur once.
 */
export class Repeats {
  readonly #position: number
  readonly #toText: (values: Values) => string
  /** The first record of each key, 0 while it is not known. */
  readonly #first = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #records = new NumberList()
  #open = 0

  constructor({ fields }: Resource, key: readonly number[], position: number) {
    this.#position = position
    const readers = key.map((field) => {
      const definition = fields[field]
      const toKey = definition === undefined ? String : compileValues(definition).toKey
      return { field, toKey }
    })
    this.#toText = (values) => {
      const parts = readers.map(({ field, toKey }) => {
        const value = values[field] as string
        return value === '' ? '' : toKey(value)
      })
      return parts.includes('') ? '' : parts.join('\n')
    }
  }

  get isEmpty(): boolean {
    return this.#records.size === 0
  }

  /** Whether an earlier record is still to be found. */
  get isOpen(): boolean {
    return this.#open > 0
  }

  add(values: Values, record: number): void {
    this.#records.push(record)
    if (this.#keys.length >= MOST_KEYS) return
    const key = this.#toText(values)
    this.#keys.push(key)
    if (this.#first.has(key)) return
    this.#first.set(key, 0)
    this.#open++
  }

  /** Looks at a record of the second pass, which has them in the same order. */
  look(values: Values, record: number): void {
    const key = this.#toText(values)
    if (key === '' || this.#first.get(key) !== 0) return
    this.#first.set(key, record)
    this.#open--
  }

  /**
   * Reports the repeats, with the line of the earlier record. One that has none was taken for a repeat.
   *
   * @param reported the records that already have a finding about another key
   */
  report(found: Found, lineOf: (record: number) => number, reported: NumberSet): void {
    for (let index = 0; index < this.#records.size; index++) {
      const first = this.#first.get(this.#keys[index] ?? '') ?? 0
      const record = this.#records.get(index)
      if (first === record || !reported.add(record)) continue
      found.add(this.#position, record, first === 0 ? undefined : { earlierLine: String(lineOf(first)) })
    }
  }
}

/** Reads a file again up to the earlier records of all repeated keys, and reports the repeats. */
export function reportRepeats(
  repeats: readonly Repeats[],
  { resource, found, isInForce, parameters, lineOf, open }: RepeatsRun,
): void {
  const some = repeats.filter(({ isEmpty }) => !isEmpty)
  if (some.length === 0) return
  const file = open()
  const { reader, columns } = file
  const checks = resource.fields.map((field) =>
    compileField(field, {
      at: () => -1,
      isInForce: (kind) => isInForce(field.checks[kind]),
      report: () => undefined,
      conceal: () => undefined,
      asOf: parameters.asOf,
    }),
  )
  const values: string[] = checks.map(() => '')
  for (let record = 1; some.some(({ isOpen }) => isOpen) && reader.next(); record++) {
    if (reader.fault !== undefined || reader.count !== columns.width) continue
    for (const [field, check] of checks.entries()) {
      const at = columns.positions[field] ?? -1
      values[field] = at === -1 ? '' : check(reader.cells[at] ?? '')
    }
    for (const each of some) each.look(values, record)
  }
  file.close()
  // A record that repeats several keys of earlier ones has one finding: the first.
  const reported = new NumberSet()
  for (const each of some) each.report(found, lineOf, reported)
}

export interface RepeatsRun {
  readonly resource: Resource
  readonly found: Found
  readonly isInForce: (check: Check | undefined) => boolean
  readonly parameters: Parameters
  readonly lineOf: (record: number) => number
  /** Opens the file again, at its first record. */
  readonly open: () => OpenFile
}
