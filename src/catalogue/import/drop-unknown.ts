import type { SourceRecord } from '../../engines/records/index.ts'
import { isFault } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import type { TSchema } from '../../foundation/schema/type.ts'

/** Yields records without the fields that a schema lacks, at any depth. */
export async function* dropUnknown(
  records: AsyncIterable<SourceRecord | Fault>,
  schema: TSchema,
  onIgnored: (name: string) => void,
): AsyncGenerator<SourceRecord | Fault> {
  for await (const record of records) {
    if (isFault(record)) yield record
    else {
      const value = drop(record.value, schema, '', onIgnored)
      yield { ...record, value }
    }
  }
}

function drop(value: unknown, schema: TSchema, place: string, onIgnored: (name: string) => void): unknown {
  const { properties, items } = schema as { properties?: Record<string, TSchema>; items?: TSchema }
  if (Array.isArray(value)) {
    return items === undefined ? value : value.map((item) => drop(item, items, place, onIgnored))
  }
  if (properties === undefined || typeof value !== 'object' || value === null) return value
  const kept: [string, unknown][] = []
  for (const [name, field] of Object.entries(value)) {
    const at = place === '' ? name : `${place}.${name}`
    const inner = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (inner === undefined) onIgnored(at)
    else kept.push([name, drop(field, inner, at, onIgnored)])
  }
  return Object.fromEntries(kept)
}
