import { Problem } from '../../api/contract/problems.ts'
import { digestQuery, makeEtag, Page } from '../../api/serving/page.ts'
import { SharedReads } from '../../api/serving/shared-reads.ts'
import type { UnreadResponses } from '../../api/serving/unread-responses.ts'
import type { Budget } from '../../foundation/budget/budget.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import type { Servers } from '../../foundation/database/servers.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { nameRevision, readSince } from '../records/catalogue.ts'
import { type Change, type ChangePage, readChanges, type Since, TokenExpired } from './changes.ts'
import type { SnapshotStore } from './snapshot-store.ts'

/** The checked parameters of the change feed. */
export interface ChangesQuery {
  readonly Since?: string
  readonly Limit: number
}

/** A query and its names. */
export interface NamedChanges {
  readonly since: Since
  readonly limit: number
  readonly key: string
  readonly digest: string
}

/** The value of `Since` that requests only the token of the current state. */
const LATEST = 'latest'

export function nameChanges({ Since, Limit }: ChangesQuery): NamedChanges {
  const key = `changes?Since=${encodeURIComponent(Since ?? '')}&Limit=${Limit}`
  const since: Since =
    Since === undefined ? { from: 'beginning' } : Since === LATEST ? { from: 'latest' } : { token: Since }
  return { since, limit: Limit, key, digest: digestQuery(key) }
}

/** The pages of the change feed. They are read for each request, because few callers are at the same position. */
export class ChangeFeed {
  readonly #servers: Servers
  readonly #path: string
  readonly #snapshotPath: string
  readonly #readings: SharedReads<Page>
  readonly #snapshots: Pick<SnapshotStore, 'digestAt'>
  #revision: Revision

  /**
   * @param snapshots has the digest of the catalogue at a revision
   * @param path the path of the catalogue, for links
   */
  constructor(
    servers: Servers,
    revision: Revision,
    unread: UnreadResponses,
    reads: Budget,
    snapshots: Pick<SnapshotStore, 'digestAt'>,
    path: string,
  ) {
    this.#servers = servers
    this.#snapshots = snapshots
    this.#revision = revision
    this.#path = `${path}/changes`
    this.#snapshotPath = `${path}/snapshot`
    this.#readings = new SharedReads(unread, reads)
  }

  /** Called when the catalogue has a new revision. */
  advance(revision: Revision): void {
    this.#revision = revision
  }

  /** The current ETag of a page, as far as this process knows. */
  etag({ digest }: NamedChanges): string {
    return makeEtag(nameRevision(this.#revision), digest)
  }

  /**
   * @param caller in whose turn the page is read
   * @throws {Problem} `gone` if the token is no longer valid
   */
  page(query: NamedChanges, caller: string): Promise<Page> {
    const known = this.#revision
    const key = `${known.number}/${query.key}`
    return this.#readings.get(key, caller, () => this.#readPage(query, known))
  }

  async #readPage({ since, limit, digest }: NamedChanges, known: Revision): Promise<Page> {
    const found = await readSince(this.#servers, known, async (reader) => {
      try {
        return await readChanges(reader, since, limit)
      } catch (error) {
        throw error instanceof TokenExpired ? this.#explainExpired() : error
      }
    })
    const link =
      found.next === undefined
        ? undefined
        : `<${this.#path}?Since=${encodeURIComponent(found.next)}&Limit=${limit}>; rel="next"`
    const verified = found.delta === undefined ? undefined : await this.#snapshots.digestAt(found.revision)
    // A last page without the digest has other bytes, and so another ETag.
    const name = found.delta === undefined || verified !== undefined ? digest : `${digest}-unverified`
    return new Page(renderChanges(found, verified), makeEtag(nameRevision(found.revision), name), link)
  }

  #explainExpired(): Problem {
    return new Problem(
      'gone',
      `The token in Since is not valid here: it is malformed, too old, from another installation, or from before a restore. Load the snapshot at ${this.#snapshotPath} and continue with the token in its Delta-Token header.`,
      { headers: { location: this.#snapshotPath } },
    )
  }
}

function renderChanges(
  { next, delta, revision, totalCount, changes }: ChangePage,
  digest: string | undefined,
): Buffer[] {
  const head = JSON.stringify({ next, delta, totalCount, revision: revision.number, digest })
  const entries = changes.map(renderChange).join(',')
  return [Buffer.from(`${head.slice(0, -1)},"changes":[${entries}],"resultsCount":${changes.length}}`)]
}

/** The stored document is sent unchanged. */
function renderChange({ code, document, existed, removed, replacedBy }: Change): string {
  if (document !== undefined) {
    const head = JSON.stringify({ change: existed ? 'updated' : 'created', occupationCode: code })
    return `${head.slice(0, -1)},"record":${document}}`
  }
  return JSON.stringify({
    change: 'removed',
    occupationCode: code,
    removedDate: formatTimestamp(removed ?? 0),
    ...(replacedBy.length > 0 ? { replacedBy } : {}),
  })
}
