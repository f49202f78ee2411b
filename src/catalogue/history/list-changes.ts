import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describePage, NEXT_LINK, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { fromCatalogue } from '../contract.ts'
import { EXAMPLE_PAGE } from '../records/example.ts'
import { OccupationRecord } from '../records/schema.ts'
import { type NamedChanges, nameChanges } from './change-feed.ts'
import type { HistoryOptions } from './operations.ts'
import { changesQuery, OccupationChange, OccupationChanges } from './schema.ts'

const EXAMPLE_CHANGES = {
  delta: 'WzU3XQ.q1Z3bG9ycGljYWxr',
  totalCount: 42,
  revision: 57,
  digest: 'RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=',
  changes: [
    { change: 'updated', occupationCode: 'A0101', record: EXAMPLE_PAGE.data[0] },
    {
      change: 'removed',
      occupationCode: 'A0103',
      removedDate: '2026-01-31T09:30:00.000Z',
      replacedBy: ['A0101'],
    },
  ],
  resultsCount: 2,
}

export function listChanges({ catalogue, feed, anonymous, limits }: HistoryOptions): Operation {
  return operation({
    name: 'occupation-changes',
    id: 'listOccupationChanges',
    summary: 'List changes',
    description:
      'The occupations that were created, updated or removed since a token, each once and in its newest state. Follow `next` until it is absent, then keep `delta` for the next time.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupations/changes',
    access: withScope('occupations:read', { anonymous }),
    limit: 'occupations',
    caching: anonymous ? 'public, no-cache' : 'private, no-cache',
    request: { query: changesQuery(limits), derive: nameChanges },
    schemas: { OccupationRecord, OccupationChange, OccupationChanges },
    responses: {
      200: describePage(OccupationChanges, 'A page of changes.', EXAMPLE_CHANGES, NEXT_LINK),
      304: NOT_MODIFIED,
    },
    problems: {
      ...COMMON_PROBLEMS,
      gone: 'The token is not valid here, or no longer. Location is the snapshot to begin again with.',
    },
  }).handle(
    ...fromCatalogue(
      catalogue,
      ({ query }: { query: NamedChanges }) => query,
      (query) => feed.page(query),
    ),
  )
}
