import { describePage, describeStream, NEXT_LINK, NOT_MODIFIED } from '../../http/describe.ts'
import { declare, notModified, type Operation, page, stream } from '../../operation.ts'
import { whenKnown } from '../../pages/maybe-promise.ts'
import { makeEtag } from '../../pages/page.ts'
import { listAccepted } from '../../pages/send.ts'
import { nameRevision } from '../catalogue.ts'
import { EXAMPLE_PAGE } from '../example.ts'
import { OccupationRecord } from '../schema.ts'
import { type ChangeFeed, type NamedChanges, nameChanges } from './change-feed.ts'
import { changesQuery, OccupationChange, OccupationChanges } from './schema.ts'
import type { SnapshotStore } from './snapshot-store.ts'

export interface HistoryOptions {
  readonly feed: ChangeFeed
  readonly snapshots: SnapshotStore
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** Changes per page. */
  readonly limits: { readonly max: number }
}

export function historyOperations(options: HistoryOptions): readonly Operation[] {
  return [listChanges(options), getSnapshot(options)]
}

const EXAMPLE_CHANGES = {
  delta: 'WzU3XQ.q1Z3bG9ycGljYWxr',
  totalCount: 42,
  revision: 57,
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
      detail: 'Limit must be a whole number from 1 to 100, not "500".',
    },
    handle({ query, isFresh }) {
      const etag = feed.etag(query)
      if (isFresh(etag)) return notModified(etag)
      return whenKnown(feed.page(query), (found) => page(found))
    },
  })
}

const NDJSON = 'application/x-ndjson'

const text = (description: string) => ({ description, type: 'string' })
const SNAPSHOT_HEADERS = {
  'delta-token': text('The token with which the change feed continues from this snapshot.'),
  'catalogue-revision': text('Number of the revision; it goes back only after a restore from a backup.'),
  'total-count': text('Number of records, one on each line.'),
  'repr-digest': text('SHA-256 of the bytes as they are sent (RFC 9530).'),
  'ndjson-digest': text('SHA-256 of the NDJSON, whatever its encoding, in the same form.'),
}

function getSnapshot({ snapshots, anonymous }: HistoryOptions): Operation {
  const caching = anonymous ? 'public, no-cache' : 'private, no-cache'
  return declare({
    name: 'occupation-snapshot',
    id: 'getOccupationSnapshot',
    summary: 'Get the whole catalogue',
    description:
      'Every record of one revision as NDJSON, ordered by occupation code: a record on each line, as in the list. Continue with the change feed from the token in Delta-Token.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupations/snapshot',
    scope: 'occupations:read',
    limit: 'occupations',
    anonymous,
    caching,
    accepts: [NDJSON, 'application/json'],
    responses: {
      200: describeStream(NDJSON, 'The catalogue.', SNAPSHOT_HEADERS),
      304: NOT_MODIFIED,
    },
    problems: {
      'invalid-parameters': 'A parameter is wrong, or the version is not supported.',
      unauthorized: 'There is no valid credential.',
      'too-many-requests': 'The limit of requests is used up for now.',
      unavailable: 'The snapshot of a new revision is being prepared, or the database does not respond.',
    },
    async handle({ request, isFresh }) {
      const known = makeEtag(nameRevision(snapshots.revision), 'snapshot')
      if (isFresh(known)) return notModified(known)
      const opened = await snapshots.open([...listAccepted(request.headers['accept-encoding']), 'identity'])
      const { snapshot, encoding, sent } = opened
      const etag = makeEtag(nameRevision(snapshot.revision), 'snapshot')
      const isHead = request.method === 'HEAD'
      if (isHead || isFresh(etag)) await opened.close()
      if (isFresh(etag)) return notModified(etag)
      return stream(NDJSON, isHead ? nothing() : opened.body, {
        etag,
        'cache-control': caching,
        vary: 'accept, accept-encoding',
        'content-length': String(sent.length),
        'content-disposition': 'attachment; filename="occupations.ndjson"',
        'delta-token': snapshot.delta,
        'catalogue-revision': String(snapshot.revision.number),
        'total-count': String(snapshot.total),
        'repr-digest': `sha-256=:${sent.digest}:`,
        'ndjson-digest': `sha-256=:${snapshot.identity.digest}:`,
        ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
      })
    },
  })
}

async function* nothing(): AsyncGenerator<Buffer> {}
