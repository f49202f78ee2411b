import { getOrMake } from '../../../foundation/get-or-make.ts'
import type { Field, Resource } from '../definition/definition.ts'
import { FIELD_KINDS } from '../definition/field-kinds.ts'
import { describeCheck } from './explain.ts'
import type { FieldNatures } from './natures.ts'
import type { SeenFinding } from './seen-finding.ts'

/** Columns of a file that have one cause if the same happened to all of them. */
const LEAST_COLUMNS_ALIKE = 3

/** What happened to values of a field, or that they are empty or have spaces at their ends. */
interface ColumnFault {
  readonly field: Field
  readonly kind: string
  /** One of the values. */
  readonly value: string
  readonly first: number
  findings: number
  last: number
}

/** Columns of a file to which the same happened. */
export interface Alike {
  readonly key: string
  /** Such as `courseStartDate, courseEndDate and 2 more columns`. */
  readonly names: string
  /** The number of the columns. */
  readonly columns: number
}

/** Finds columns to which the same happened: one setting of an export changes many. */
export class AlikeColumns {
  readonly #naturesOf: (field: Field) => FieldNatures
  readonly #faults = new Map<Field, Map<string, ColumnFault>>()
  readonly #alike = new Map<Field, Map<string, Alike>>()

  constructor(naturesOf: (field: Field) => FieldNatures) {
    this.#naturesOf = naturesOf
  }

  /** @param name the nature of the value, or the kind of a check whose values say nothing */
  add({ check, record }: SeenFinding, field: Field, name: string, value = ''): void {
    const faults = getOrMake(this.#faults, field, () => new Map())
    const fault = getOrMake(faults, name, () => {
      return { field, kind: check.kind, value, first: record, last: record, findings: 0 }
    })
    fault.findings++
    fault.last = record
  }

  /** Decides which columns are alike. Empty ones are only if the same records seem to lack them. */
  choose(resource: Resource): void {
    const faults = resource.fields.flatMap((field) => [...(this.#faults.get(field)?.values() ?? [])])
    const groups = Map.groupBy(faults, ({ field, kind, value, findings, first, last }) => {
      if (kind === 'spaces') return kind
      if (kind !== 'required') {
        const { name = '', fix = '' } = this.#naturesOf(field).find(kind, value) ?? {}
        return `${name} ${fix}`
      }
      const check = field.checks[kind]
      const { fix } = check === undefined ? {} : describeCheck(resource, check)
      return [kind, findings, first, last, fix].join(' ')
    })
    for (const [, group] of groups) {
      const fields = [...new Set(group.map(({ field }) => field))]
      if (fields.length < LEAST_COLUMNS_ALIKE) continue
      for (const { field, kind, value } of group) {
        // More values may have decided meanwhile what happened to this one.
        const name =
          FIELD_KINDS[kind]?.state !== undefined
            ? kind
            : (this.#naturesOf(field).find(kind, value)?.name ?? '')
        const alike = getOrMake(this.#alike, field, () => new Map())
        const key = `column:${resource.name}:${fields[0]?.name}:${name}`
        alike.set(name, { key, names: joinNames(fields.map((each) => each.name)), columns: fields.length })
      }
    }
  }

  find(field: Field, name: string): Alike | undefined {
    return this.#alike.get(field)?.get(name)
  }
}

/** `a, b and c`, or `a, b and 11 more columns`. */
function joinNames(names: readonly string[]): string {
  const shown = names.length > LEAST_COLUMNS_ALIKE ? names.slice(0, 2) : names.slice(0, -1)
  const last = names.length > LEAST_COLUMNS_ALIKE ? `${names.length - 2} more columns` : names.at(-1)
  return `${shown.join(', ')} and ${last}`
}
