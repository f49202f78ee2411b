import type { Static } from 'typebox'
import type { occupationQuery } from './schema.ts'

/** The parameters of section 4.1, read and checked, with their defaults. */
export type OccupationQuery = Static<ReturnType<typeof occupationQuery>> & { Limit: number }

const NAMES = [
  'Limit',
  'Cursor',
  'Filter.MajorGroupCode',
  'Filter.MinorGroupCode',
  'Filter.LastUpdatedAfter',
  'Filter.LastUpdatedBefore',
] as const satisfies readonly (keyof OccupationQuery)[]

/** A query in its one canonical form: it names a page in the cache, in its ETag and in links. */
export function writeQuery(query: OccupationQuery): string {
  let text = ''
  for (const name of NAMES) {
    const value = query[name]
    if (value !== undefined) text += `${text === '' ? '' : '&'}${name}=${encodeURIComponent(value)}`
  }
  return text
}
