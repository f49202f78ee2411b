import { getOrMake } from '../../../foundation/get-or-make.ts'
import type { Check } from '../definition/definition.ts'

/**
 * The fields of the current record whose value is unknown: it cannot be read, or it fails its own field's checks.
 * Unknown is not absent: a check that needs such a value does not run for the record, because what it would say may
 * be false.
 */
export class Unknown {
  /** 1 for each field that is unknown. */
  readonly flags: Uint8Array
  count = 0
  /** Whether the record itself cannot be read, which is a finding of its own. */
  isWhole = false
  /** What the cells of such a record probably are. */
  broken: readonly string[] = []

  /** The value of a field as the file has it. */
  readonly cellOf: (field: number) => string

  constructor(fields: number, cellOf: (field: number) => string) {
    this.flags = new Uint8Array(fields)
    this.cellOf = cellOf
  }

  mark(field: number): void {
    if (this.flags[field] === 1) return
    this.flags[field] = 1
    this.count++
  }

  /** @param cells what the cells of a record that cannot be read probably are */
  markAll(cells: readonly string[]): void {
    this.flags.fill(1)
    this.count = this.flags.length
    this.isWhole = true
    this.broken = cells
  }

  clear(): void {
    if (this.count === 0) return
    this.flags.fill(0)
    this.count = 0
    this.isWhole = false
    this.broken = []
  }

  /** The first of some fields that is unknown, or -1. */
  firstOf(fields: readonly number[]): number {
    if (this.count === 0) return -1
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index] as number
      if (this.flags[field] === 1) return field
    }
    return -1
  }
}

/** For how many records a check did not run, because a value that it needs is unknown. */
export interface Undecided {
  readonly check: Check
  /** The resource and the position of the unknown field. */
  readonly resource: string
  readonly field: number
  readonly records: number
}

/** Counts the records for which checks did not run, by check and unknown field. */
export class UndecidedCounts {
  readonly #counts = new Map<Check, Map<string, { resource: string; field: number; records: number }>>()

  add(check: Check, resource: string, field: number, records = 1): void {
    const fields = getOrMake(this.#counts, check, () => new Map())
    getOrMake(fields, `${resource}\n${field}`, () => ({ resource, field, records: 0 })).records += records
  }

  *list(): Generator<Undecided> {
    for (const [check, fields] of this.#counts) {
      for (const each of fields.values()) yield { check, ...each }
    }
  }
}
