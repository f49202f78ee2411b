import type { SourceRecord } from '../../engines/records/index.ts'
import { increment } from '../../foundation/increment.ts'

/** Yields records unchanged, and counts the records in which each field path is present. */
export function countFields(source: AsyncIterable<SourceRecord>): {
  records: AsyncGenerator<SourceRecord>
  fields(): { field: string; records: number }[]
} {
  const counts = new Map<string, number>()
  async function* count(): AsyncGenerator<SourceRecord> {
    for await (const record of source) {
      for (const path of new Set(listPaths(record.value))) increment(counts, path)
      yield record
    }
  }
  return {
    records: count(),
    fields: () =>
      [...counts]
        .map(([field, records]) => ({ field, records }))
        .sort((a, b) => (a.field < b.field ? -1 : 1)),
  }
}

/** The items of a list share a path: `minorGroups[].minorGroup.code`. */
function* listPaths(value: unknown, path = ''): Generator<string> {
  if (Array.isArray(value)) {
    for (const item of value) yield* listPaths(item, `${path}[]`)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue
      const at = path === '' ? name : `${path}.${name}`
      yield at
      yield* listPaths(field, at)
    }
  }
}
