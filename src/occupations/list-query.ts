import type { Static } from 'typebox'
import { digestQuery } from '../pages/page.ts'
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

/** A query under its names. */
export interface NamedQuery {
  readonly query: OccupationQuery
  /** From `writeQuery`. */
  readonly key: string
  /** Of the key, for ETags. */
  readonly digest: string
}

export function nameQuery(query: OccupationQuery): NamedQuery {
  const key = writeQuery(query)
  return { query, key, digest: digestQuery(key) }
}
