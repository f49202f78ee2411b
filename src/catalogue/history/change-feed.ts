import { Problem } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { toBuffer } from '../../foundation/database/utf8.ts'
import type { RenderedPage } from '../records/catalogue.ts'
import { renderMissingCode } from '../records/rows.ts'
import { type ChangePage, readChanges, type Since, TokenExpired } from './changes.ts'
import type { SnapshotStore } from './snapshot-store.ts'

/** The checked parameters of the change feed. */
export interface ChangesQuery {
  readonly Since?: string
  readonly Limit: number
}

/** A query and its name. */
export interface NamedChanges {
  readonly since: Since
  readonly limit: number
  readonly key: string
}

/** The value of `Since` that requests only the token of the current state. */
const LATEST = 'latest'

export function nameChanges({ Since, Limit }: ChangesQuery): NamedChanges {
  const key = `changes?Since=${encodeURIComponent(Since ?? '')}&Limit=${Limit}`
  const since: Since =
    Since === undefined ? { from: 'beginning' } : Since === LATEST ? { from: 'latest' } : { token: Since }
  return { since, limit: Limit, key }
}

/**
 * Renders a page of the change feed.
 *
 * @param snapshots has the digest of the catalogue at a revision
 * @param path the path of the catalogue, for links
 * @throws {Problem} `gone` if the token is no longer valid
 */
export async function renderFeed(
  reader: Reader,
  { since, limit }: NamedChanges,
  { snapshots, path }: { readonly snapshots: Pick<SnapshotStore, 'digestAt'>; readonly path: string },
): Promise<RenderedPage> {
  const found = await readChanges(reader, since, limit).catch((error: unknown) => {
    throw error instanceof TokenExpired ? explainExpired(`${path}/snapshot`) : error
  })
  const { revision, next, delta } = found
  const link =
    next === undefined
      ? undefined
      : `<${path}/changes?Since=${encodeURIComponent(next)}&Limit=${limit}>; rel="next"`
  const verified = delta === undefined ? undefined : await snapshots.digestAt(revision)
  // A last page without the digest has other bytes, and so another ETag.
  const differs = delta === undefined || verified !== undefined ? undefined : '&unverified'
  return { revision, body: renderChanges(found, verified), link, differs }
}

function explainExpired(snapshot: string): Problem {
  return new Problem(
    'gone',
    `The token in Since is not valid here: it is malformed, too old, from another installation, or from before a restore. Load the snapshot at ${snapshot} and continue with the token in its Delta-Token header.`,
    { headers: { location: snapshot } },
  )
}

/** The stored documents are copied as bytes, unchanged. */
function renderChanges(
  { next, delta, revision, totalCount, changes }: ChangePage,
  digest: string | undefined,
): Buffer {
  const head = JSON.stringify({ next, delta, totalCount, revision: revision.number, digest })
  const parts: Buffer[] = []
  let text = `${head.slice(0, -1)},"changes":[`
  for (const [index, change] of changes.entries()) {
    if (index > 0) text += ','
    if (change.document === undefined) {
      text += JSON.stringify({ change: 'removed', ...renderMissingCode(change) })
      continue
    }
    const { code, existed, document } = change
    const entry = JSON.stringify({ change: existed ? 'updated' : 'created', occupationCode: code })
    parts.push(Buffer.from(`${text}${entry.slice(0, -1)},"record":`), toBuffer(document))
    text = '}'
  }
  parts.push(Buffer.from(`${text}],"resultsCount":${changes.length}}`))
  return Buffer.concat(parts)
}
