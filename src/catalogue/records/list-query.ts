import type { QueryValues } from '../../api/contract/contract.ts'
import { Problem } from '../../api/request/problems.ts'
import { compareCodePoints } from '../../foundation/text/code-points.ts'
import { type occupationQuery, RECORD_FIELDS } from './schema.ts'

/** The checked parameters of section 4.1 and further ones, with defaults. */
export type OccupationQuery = QueryValues<ReturnType<typeof occupationQuery>>

const NAMES = [
  'Limit',
  'Cursor',
  'Filter.MajorGroupCode',
  'Filter.MinorGroupCode',
  'Filter.GroupRelation',
  'Filter.Codes',
  'Filter.LastUpdatedAfter',
  'Filter.LastUpdatedBefore',
  'Fields',
] as const satisfies readonly (keyof OccupationQuery)[]

/** Renders a query in its canonical form, which identifies a page in the cache, in ETags and in links. */
export function writeQuery(query: OccupationQuery): string {
  let text = ''
  for (const name of NAMES) {
    const value = query[name]
    if (value === undefined) continue
    const written = Array.isArray(value)
      ? value.map(encodeURIComponent).join(',')
      : encodeURIComponent(value as string | number)
    text += `${text === '' ? '' : '&'}${name}=${written}`
  }
  return text
}

/** A query and its name. */
export interface NamedQuery {
  readonly query: OccupationQuery
  /** From `writeQuery`. */
  readonly key: string
}

/** @throws {Problem} `invalid-parameters` for parameters that make no sense together */
export function nameQuery(values: OccupationQuery): NamedQuery {
  const query = canonicalise(values)
  return { query, key: writeQuery(query) }
}

/** Converts queries of the same meaning to the same form. */
function canonicalise(values: OccupationQuery): OccupationQuery {
  const { 'Filter.GroupRelation': relation, 'Filter.Codes': codes, Fields: fields, ...query } = values
  if (relation === 'Primary') assertGroupFilter(values)
  const named = new Set(fields)
  return {
    ...query,
    ...(relation === 'Primary' && { 'Filter.GroupRelation': relation }),
    ...(codes !== undefined && { 'Filter.Codes': [...new Set(codes)].sort(compareCodePoints) }),
    ...(fields !== undefined && { Fields: RECORD_FIELDS.filter((field) => named.has(field)) }),
  }
}

/** Without a group, the relation would filter nothing, and the response would be the whole list. */
function assertGroupFilter(values: OccupationQuery): void {
  if ((values['Filter.MajorGroupCode'] ?? values['Filter.MinorGroupCode']) !== undefined) return
  throw new Problem(
    'invalid-parameters',
    'Filter.GroupRelation=Primary needs Filter.MajorGroupCode or Filter.MinorGroupCode: add one of them.',
  )
}
