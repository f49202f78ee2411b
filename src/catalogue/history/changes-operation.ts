import type { Operation } from '../../api/contract/contract.ts'
import { describePage, NEXT_LINK, NOT_MODIFIED } from '../../api/contract/describe.ts'
import type { Static } from '../../foundation/schema/type.ts'
import type { Catalogue } from '../records/catalogue.ts'
import { alwaysAsk, fromCatalogue, readingOperations } from '../records/contract.ts'
import { EXAMPLE_PAGE } from '../records/example.ts'
import { type NamedChanges, nameChanges, renderFeed } from './change-feed.ts'
import { changesQuery, OccupationChanges } from './schema.ts'
import type { SnapshotStore } from './snapshot-store.ts'

const EXAMPLE_CHANGES: Static<typeof OccupationChanges> = {
  delta: 'WzU3XQ.q1Z3bG9ycGljYWxr',
  totalCount: 42,
  revision: 57,
  digest: 'RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=',
  changes: [
    { change: 'updated', occupationCode: 'A0101', record: EXAMPLE_PAGE.data[0] ?? {} },
    {
      change: 'removed',
      occupationCode: 'A0103',
      removedDate: '2026-01-31T09:30:00.000Z',
      replacedBy: ['A0101'],
    },
  ],
  resultsCount: 2,
}

interface FeedOptions {
  readonly catalogue: Catalogue
  readonly snapshots: SnapshotStore
  /** The path of the catalogue, for links. */
  readonly path: string
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** Changes per page. */
  readonly limits: { readonly max: number }
}

export function listChanges({ catalogue, anonymous, limits, ...feed }: FeedOptions): Operation {
  return readingOperations(anonymous)({
    name: 'occupation-changes',
    id: 'listOccupationChanges',
    summary: 'List changes',
    description:
      'The occupations that were created, updated or removed since a token, each once and in its newest state. Follow `next` until it is absent, then keep `delta` for the next time.',
    method: 'GET',
    path: '/occupations/changes',
    caching: alwaysAsk(anonymous),
    request: { query: changesQuery(limits), derive: nameChanges },
    responses: {
      200: describePage(OccupationChanges, 'A page of changes.', EXAMPLE_CHANGES, NEXT_LINK),
      304: NOT_MODIFIED,
    },
    problems: {
      gone: 'The token is not valid here, or no longer. Location is the snapshot to begin again with.',
    },
  }).handle(
    ...fromCatalogue(
      catalogue,
      ({ query }: { query: NamedChanges }) => query,
      (query) => catalogue.rendered(query.key, (reader) => renderFeed(reader, query, feed)),
    ),
  )
}
