import type { Operation } from '../../api/contract/contract.ts'
import { CONDITIONAL, describeStream, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { notModified, stream } from '../../api/contract/results.ts'
import { prefersGzip } from '../../api/serving/negotiate.ts'
import { makeEtag } from '../../api/serving/page.ts'
import { nameRevision } from '../records/catalogue.ts'
import { alwaysAsk, readingOperations } from '../records/contract.ts'
import type { SnapshotStore } from './snapshot-store.ts'

const NDJSON = 'application/x-ndjson'

const text = (description: string) => ({ description, type: 'string' })

const SNAPSHOT_HEADERS = {
  ...CONDITIONAL,
  'delta-token': text('The token with which the change feed continues from this snapshot.'),
  'catalogue-revision': text('Number of the revision; it goes back only after a restore from a backup.'),
  'total-count': text('Number of records, one on each line.'),
  'repr-digest': text('SHA-256 of the bytes as they are sent (RFC 9530).'),
  'ndjson-digest': text('SHA-256 of the NDJSON, whatever its encoding, in the same form.'),
}

export function getSnapshot(snapshots: SnapshotStore, anonymous: boolean): Operation {
  const caching = alwaysAsk(anonymous)
  return readingOperations(anonymous)({
    name: 'occupation-snapshot',
    id: 'getOccupationSnapshot',
    summary: 'Get the whole catalogue',
    description:
      'Every record of one revision as NDJSON, ordered by occupation code: a record on each line, as in the list. Continue with the change feed from the token in Delta-Token.',
    method: 'GET',
    path: '/occupations/snapshot',
    caching,
    accepts: [NDJSON, 'application/json'],
    responses: {
      200: describeStream(NDJSON, 'The catalogue.', SNAPSHOT_HEADERS),
      304: NOT_MODIFIED,
    },
    problems: {
      unavailable: 'The snapshot of a new revision is being prepared, or the database does not respond.',
    },
  }).handle(async ({ request, isFresh }) => {
    const known = makeEtag(nameRevision(snapshots.revision), 'snapshot')
    if (isFresh(known)) return notModified(known)
    const encoding = prefersGzip(request) ? 'gzip' : 'identity'
    const opened = await snapshots.open(encoding)
    const { snapshot, sent } = opened
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
  })
}

async function* nothing(): AsyncGenerator<Buffer> {}
