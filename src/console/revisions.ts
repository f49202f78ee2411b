import type * as types from '../../client/src/types.ts'
import type { Api, Having } from './api.ts'
import { html, type VNode } from './html.ts'
import { table } from './table.ts'
import { showTime } from './time.ts'

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

/** The table of revisions. The number of one is a link to its changes if there is a revision before it. */
export function showRevisions(revisions: readonly Revision[]): VNode {
  return table(
    'Revisions',
    revisions,
    [
      [
        'Revision',
        ({ revision }) =>
          revision === 0 ? revision : html`<a href=${`/console/changes/${revision}`}>${revision}</a>`,
        { label: 'Revision' },
      ],
      ['When', ({ stored }) => showTime(stored), 'when'],
      [
        'Command',
        ({ command, files }) =>
          html`${command}${files.map((name) => html` <span class="soft">${name}</span>`)}`,
      ],
      ['New', ({ created }) => created, 'number'],
      ['Changed', ({ updated }) => updated, 'number'],
      ['Removed', ({ removed }) => removed, 'number'],
      ['In all', ({ totalCount }) => totalCount, 'number'],
    ],
    { empty: 'Nothing has been imported yet.' },
  )
}

export function listRevisions(api: Api, limit: number): Promise<{ readonly revisions: readonly Revision[] }> {
  return api.call('/occupation-revisions', { query: { Limit: limit } })
}
