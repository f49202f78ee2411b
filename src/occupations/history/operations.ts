import { describePage, NEXT_LINK, NOT_MODIFIED } from '../../http/describe.ts'
import { declare, notModified, type Operation, page } from '../../operation.ts'
import { whenKnown } from '../../pages/maybe-promise.ts'
import { EXAMPLE_PAGE } from '../example.ts'
import { OccupationRecord } from '../schema.ts'
import { type ChangeFeed, type NamedChanges, nameChanges } from './change-feed.ts'
import { changesQuery, OccupationChange, OccupationChanges } from './schema.ts'

export interface HistoryOptions {
  readonly feed: ChangeFeed
  /** Whether the catalogue is open to callers without a credential. */
  readonly anonymous: boolean
  /** Changes a page. */
  readonly limits: { readonly max: number }
}

export function historyOperations(options: HistoryOptions): readonly Operation[] {
  return [listChanges(options)]
}

const EXAMPLE_CHANGES = {
  delta: 'WzU3XQ.q1Z3bG9ycGljYWxr',
  totalCount: 42,
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

function listChanges({ feed, anonymous, limits }: HistoryOptions): Operation {
  return declare<unknown, NamedChanges>({
    name: 'occupation-changes',
    id: 'listOccupationChanges',
    summary: 'List changes',
    description:
      'The occupations that were created, updated or removed since a token, each once and in its newest state. Follow `next` until it is absent, then keep `delta` for the next time.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupations/changes',
    scope: 'occupations:read',
    limit: 'occupations',
    anonymous,
    caching: anonymous ? 'public, no-cache' : 'private, no-cache',
    parameters: { query: { schema: changesQuery(limits), derive: nameChanges } },
    schemas: { OccupationRecord, OccupationChange, OccupationChanges },
    responses: {
      200: describePage('OccupationChanges', 'A page of changes.', EXAMPLE_CHANGES, NEXT_LINK),
      304: NOT_MODIFIED,
    },
    problems: {
      'invalid-parameters': 'A parameter is wrong, or the version is not supported.',
      unauthorized: 'There is no valid credential.',
      gone: 'The token is not valid here, or no longer. Location is the snapshot to begin again with.',
      'too-many-requests': 'The limit of requests is used up for now.',
    },
    badRequest: {
      schemaName: 'Problem',
      detail: 'Limit is "500", and should be a whole number from 1 to 100.',
    },
    handle({ query, isFresh }) {
      const etag = feed.etag(query)
      if (isFresh(etag)) return notModified(etag)
      return whenKnown(feed.page(query), (found) => page(found))
    },
  })
}
