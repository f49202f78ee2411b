import type * as types from '../../client/src/types.ts'
import type { Api, Having } from './api.ts'

/** A revision from `/v1/occupation-revisions`. */
type Revision = Having<
  types.OccupationRevision,
  'revision' | 'command' | 'files' | 'created' | 'updated' | 'removed' | 'totalCount'
>

/** A record that differs between two revisions. */
export type Difference = Omit<types.OccupationDifference, 'fields'> & {
  readonly occupationCode: string
  readonly fields: readonly (types.FieldDifference & { readonly field: string })[]
}

/** From `/v1/occupation-revisions/{revision}`. */
export interface Differences {
  readonly differences: readonly Difference[]
  /** The value of `After` that reads on. */
  readonly next?: string
}

export function listRevisions(api: Api, limit: number): Promise<{ readonly revisions: readonly Revision[] }> {
  return api.call('/occupation-revisions', { query: { Limit: limit } })
}
