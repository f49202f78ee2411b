import type { Reader } from '../../database/database.ts'
import type { Revision } from '../../database/revisions.ts'
import { Problem } from '../../http/problems.ts'
import { digestQuery, makeEtag, Page } from '../../pages/page.ts'
import { SharedReads } from '../../pages/shared-reads.ts'
import type { UnreadResponses } from '../../pages/unread-responses.ts'
import { formatTimestamp } from '../../text/timestamp.ts'
import { nameRevision } from '../catalogue.ts'
import { type Change, type ChangePage, readChanges, type Since, TokenExpired } from './changes.ts'

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
export const LATEST = 'latest'

export function nameChanges({ Since, Limit }: ChangesQuery): NamedChanges {
  const key = `changes?Since=${encodeURIComponent(Since ?? '')}&Limit=${Limit}`
  const since: Since =
    Since === undefined ? { from: 'beginning' } : Since === LATEST ? { from: 'latest' } : { token: Since }
  return { since, limit: Limit, key, digest: digestQuery(key) }
}

/** The pages of the change feed. They are read for each request, because few callers are at the same position. */
export class ChangeFeed {
  readonly #reader: Reader
  readonly #primary: Reader
  readonly #path: string
  readonly #snapshotPath: string
  readonly #readings: SharedReads<Page>
  #revision: Revision

  /** @param path the path of the catalogue, for links */
  constructor(
    { reader, primary }: { reader: Reader; primary: Reader },
    revision: Revision,
    unread: UnreadResponses,
    path: string,
  ) {
    this.#reader = reader
    this.#primary = primary
    this.#revision = revision
    this.#path = `${path}/changes`
    this.#snapshotPath = `${path}/snapshot`
    this.#readings = new SharedReads(unread, reader.dialect.mostReads)
  }

  /** Called when the catalogue has a new revision. */
  advance(revision: Revision): void {
    this.#revision = revision
  }

  /** The current ETag of a page, as far as this process knows. */
  etag({ digest }: NamedChanges): string {
    return makeEtag(nameRevision(this.#revision), digest)
  }

  /** @throws {Problem} `gone` if the token is no longer valid */
  page(query: NamedChanges): Promise<Page> {
    return this.#readings.get(query.key, () => this.#readPage(query))
  }

  async #readPage({ since, limit, digest }: NamedChanges): Promise<Page> {
    const found = await readChanges(this.#reader, this.#primary, since, limit).catch((error: unknown) => {
      if (error instanceof TokenExpired) throw this.#explainExpired()
      throw error
    })
    const link =
      found.next === undefined
        ? undefined
        : `<${this.#path}?Since=${encodeURIComponent(found.next)}&Limit=${limit}>; rel="next"`
    return new Page(renderChanges(found), makeEtag(nameRevision(found.revision), digest), link)
  }

  #explainExpired(): Problem {
    return new Problem(
      'gone',
      `The token in Since is not valid here: it is malformed, too old, from another installation, or from before a restore. Load the snapshot at ${this.#snapshotPath} and continue with the token in its Delta-Token header.`,
      { headers: { location: this.#snapshotPath } },
    )
  }
}

function renderChanges({ next, delta, revision, totalCount, changes }: ChangePage): Buffer[] {
  const head = JSON.stringify({ next, delta, totalCount, revision: revision.number })
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
