import type { FastifyBaseLogger } from 'fastify'
import type { Part } from '../api/contract/part.ts'
import type { Serving } from '../api/create-serving.ts'
import { VERSIONS } from '../api/request/versions.ts'
import type { Database } from '../foundation/database/database.ts'
import type { RevisionWatch } from '../foundation/database/revision-watch.ts'
import { reviewOperations } from './codings/operations.ts'
import { groupOperations } from './groups/operations.ts'
import { listChanges } from './history/changes-operation.ts'
import { revisionOperations } from './history/revisions.ts'
import { getSnapshot } from './history/snapshot-operation.ts'
import { SnapshotStore } from './history/snapshot-store.ts'
import { Catalogue } from './records/catalogue.ts'
import { occupationOperations } from './records/operations.ts'
import { CodingThreads } from './search/coding-threads.ts'
import { LiveIndex } from './search/live-index.ts'
import { searchOperations } from './search/operations.ts'

/** Records of a page, as the interface says for Limit; fewer where an installation allows fewer. */
const DEFAULT_LIMIT = 20

export interface CatalogueSettings {
  readonly OCCUPATIONS_ACCESS: 'key' | 'public'
  readonly OCCUPATIONS_LIMIT_MAX: number
  readonly SNAPSHOT_FOLDER: string
}

export interface CatalogueOptions {
  readonly database: Database
  /** Reports changes of the catalogue and of its search index. */
  readonly revisions: RevisionWatch
  readonly serving: Pick<Serving, 'app' | 'createCache'>
  readonly log: FastifyBaseLogger
}

/** The pages, the history and the search of the catalogue. */
export function createCatalogue(
  settings: CatalogueSettings,
  { database, revisions, serving, log }: CatalogueOptions,
): Part {
  const anonymous = settings.OCCUPATIONS_ACCESS === 'public'
  const path = `${VERSIONS[0].prefix}/occupations`
  const revision = revisions.current.catalogue
  const catalogue = new Catalogue(database, revision, serving.createCache(), path)
  const snapshots = new SnapshotStore(database, settings.SNAPSHOT_FOLDER, revision, (err) =>
    log.error({ err }, 'the snapshot could not be created: check SNAPSHOT_FOLDER'),
  )
  const index = new LiveIndex(
    database,
    (err) => log.error({ err }, 'the search index could not be loaded'),
    () => log.error('the stored search index was damaged and has been removed: a worker builds it again'),
  )
  const coding = new CodingThreads(serving.app.slots.codings)
  void index.load()
  revisions.on('catalogue', (revision) => {
    catalogue.advance(revision)
    void index.load()
    snapshots.advance(revision)
  })
  revisions.on('search', () => void index.load())
  // Otherwise an outdated page would be served for as long as changes cannot be read.
  revisions.onStale(() => catalogue.doubt())
  revisions.onFresh(() => catalogue.trust(revisions.current.catalogue))
  return {
    operations: [
      ...occupationOperations({
        catalogue,
        anonymous,
        limits: {
          default: Math.min(DEFAULT_LIMIT, settings.OCCUPATIONS_LIMIT_MAX),
          max: settings.OCCUPATIONS_LIMIT_MAX,
        },
      }),
      ...groupOperations(catalogue, anonymous),
      listChanges({ catalogue, snapshots, path, anonymous, limits: { max: settings.OCCUPATIONS_LIMIT_MAX } }),
      getSnapshot(snapshots, anonymous),
      ...revisionOperations(database),
      ...searchOperations({ index, coding, pages: serving.createCache(), anonymous, path: `${path}/search` }),
      ...reviewOperations(database),
    ],
    metrics: [
      {
        name: 'mahi_search_index_bytes',
        help: 'Bytes of the search index in use.',
        read: () => index.bytes,
      },
      {
        name: 'mahi_search_index_age_seconds',
        help: 'Seconds since the search index in use was loaded; NaN if there is none.',
        read: () => index.age,
      },
      {
        name: 'mahi_search_index_behind_seconds',
        help: 'Seconds for which the catalogue has been newer than the search index in use.',
        read: () => index.behind,
      },
    ],
    stop: async () => {
      await coding.close()
      await index.close()
      await snapshots.close()
    },
  }
}
