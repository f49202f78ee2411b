import type { Operation } from '../../api/contract/contract.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Catalogue } from '../records/catalogue.ts'
import type { ChangeFeed } from './change-feed.ts'
import { getOccupationRevision } from './get-revision.ts'
import { getSnapshot } from './get-snapshot.ts'
import { listChanges } from './list-changes.ts'
import { listOccupationRevisions } from './list-revisions.ts'
import type { SnapshotStore } from './snapshot-store.ts'

export interface HistoryOptions {
  readonly catalogue: Catalogue
  readonly feed: ChangeFeed
  readonly snapshots: SnapshotStore
  /** Has the history. */
  readonly database: Database
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** Changes per page. */
  readonly limits: { readonly max: number }
}

export function historyOperations(options: HistoryOptions): readonly Operation[] {
  return [
    listChanges(options),
    getSnapshot(options),
    listOccupationRevisions(options),
    getOccupationRevision(options),
  ]
}
