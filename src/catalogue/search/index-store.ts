import { createHash } from 'node:crypto'
import { INDEX_FORMAT, type IndexData, listPieces } from '../../engines/finding/index.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import {
  bumpRevision,
  isSameRevision,
  type Revision,
  readRevisions,
} from '../../foundation/database/revisions.ts'
import { endNumberedJobs, schedule } from '../../foundation/jobs/queue.ts'
import { takeTurn } from '../../foundation/timed-turns.ts'

/** Bytes of an index in one row. */
const PART = 2 ** 20

/** Bytes of the SHA-256 with which a stored index ends. */
const DIGEST = 32

/** An index in the database, and the revision of the catalogue that it was built from. */
export interface StoredIndex {
  readonly revision: Revision
  readonly bytes: number
  /** The revision `search` of the database, which increases when an index is stored or removed. */
  readonly search: Revision
}

/** The revision that could not be indexed, and why. */
interface IndexFailure {
  readonly revision: Revision
  /** Milliseconds since 1970. */
  readonly failed: number
  readonly reason: string
}

export interface IndexState {
  /** The newest stored index. */
  readonly stored: StoredIndex | undefined
  /** Why the current catalogue has no index; `undefined` if nobody has failed to build it. */
  readonly failure: IndexFailure | undefined
  /** Whether the newest stored index is that of the current catalogue. */
  readonly current: boolean
}

/** What the database holds of the search index. */
export async function readIndexState(reader: Reader): Promise<IndexState> {
  const { catalogue, search } = await readRevisions(reader)
  const row = await reader.get<Revision & { bytes: number }>(
    `select number, changed, (select sum(octet_length(bytes)) from search_index where number = head.number
       and changed = head.changed and format = head.format) as bytes
     from search_index head where part = 0 and format = $1 order by changed desc, number desc limit 1`,
    [INDEX_FORMAT],
  )
  const failed = await reader.get<{ failed: number; reason: string }>(
    'select failed, reason from search_failure where number = $1 and changed = $2 and format = $3',
    [catalogue.number, catalogue.changed, INDEX_FORMAT],
  )
  const stored =
    row === undefined
      ? undefined
      : { revision: { number: row.number, changed: row.changed }, bytes: row.bytes, search }
  const current = stored !== undefined && isSameRevision(stored.revision, catalogue)
  return {
    stored,
    failure: failed === undefined || current ? undefined : { revision: catalogue, ...failed },
    current,
  }
}

/**
 * Reads a stored index into memory that threads can share, a part at a time, so that requests are not delayed.
 *
 * @returns `undefined` if it is damaged, or is being replaced
 */
export async function readIndex(
  reader: Reader,
  { revision: { number, changed }, bytes }: StoredIndex,
): Promise<SharedArrayBuffer | undefined> {
  if (bytes < DIGEST) return undefined
  const memory = new SharedArrayBuffer(bytes - DIGEST)
  const [hash, digest] = [createHash('sha256'), Buffer.alloc(DIGEST)]
  let offset = 0
  for (let part = 0; offset < bytes; part++) {
    const row = await reader.get<{ bytes: Buffer }>(
      'select bytes from search_index where number = $1 and changed = $2 and format = $3 and part = $4',
      [number, changed, INDEX_FORMAT, part],
    )
    if (row === undefined || offset + row.bytes.length > bytes) return undefined
    const content = row.bytes.subarray(0, Math.max(0, memory.byteLength - offset))
    new Uint8Array(memory).set(content, offset)
    hash.update(content)
    const rest = row.bytes.subarray(content.length)
    if (rest.length > 0) digest.set(rest, offset + content.length - memory.byteLength)
    offset += row.bytes.length
    await takeTurn()
  }
  return hash.digest().equals(digest) ? memory : undefined
}

/**
 * Removes a stored index that was found damaged, and requests another one.
 *
 * @returns `false` if it was replaced or removed while it was read
 */
export async function removeDamagedIndex(database: Database, index: StoredIndex): Promise<boolean> {
  const { number, changed } = index.revision
  const removed = await database.write('search', async (writer) => {
    const { search } = await readRevisions(writer)
    if (!isSameRevision(search, index.search)) return false
    await writer.run('delete from search_index where number = $1 and changed = $2 and format = $3', [
      number,
      changed,
      INDEX_FORMAT,
    ])
    await bumpRevision(writer, 'search')
    return true
  })
  if (removed) await schedule(database, 'index', String(number))
  return removed
}

/**
 * Stores an index and removes those of other revisions, so that servers open it. Its job is done.
 *
 * @returns `false` if the catalogue has changed: servers open the index all the same, and another job builds the next
 */
export async function storeIndex(database: Database, revision: Revision, data: IndexData): Promise<boolean> {
  const { number, changed } = revision
  const key = [number, changed, INDEX_FORMAT]
  return await database.write('search', async (writer) => {
    const { catalogue } = await readRevisions(writer)
    // Processes of another version, which open another format, keep theirs while they open the same catalogue.
    await writer.run('delete from search_index where format = $3 or number <> $1 or changed <> $2', key)
    let part = 0
    const rows = function* () {
      for (const bytes of cutIntoParts(withDigest(listPieces(data)))) yield [...key, part++, bytes]
    }
    await writer.load('search_index', ['number', 'changed', 'format', 'part', 'bytes'], rows())
    await writer.run('delete from search_failure')
    await endNumberedJobs(writer, 'index', number)
    await bumpRevision(writer, 'search')
    return isSameRevision(catalogue, revision)
  })
}

/** Records that the index of a revision could not be built, which ends its job. */
export async function recordIndexFailure(
  database: Database,
  revision: Revision,
  reason: string,
): Promise<void> {
  const { number, changed } = revision
  await database.write('search', async (writer) => {
    await writer.run('delete from search_failure')
    await writer.run(
      'insert into search_failure (number, changed, format, failed, reason) values ($1, $2, $3, $4, $5)',
      [number, changed, INDEX_FORMAT, Date.now(), reason],
    )
    await endNumberedJobs(writer, 'index', number)
    await bumpRevision(writer, 'search')
  })
}

/** Adds the digest of all pieces. */
function* withDigest(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  const hash = createHash('sha256')
  for (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
  yield hash.digest()
}

/** Cuts pieces of any length into parts of the same length. */
function* cutIntoParts(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let part = new Uint8Array(PART)
  let length = 0
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const taken = Math.min(PART - length, piece.length - from)
      part.set(piece.subarray(from, from + taken), length)
      length += taken
      from += taken
      if (length < PART) continue
      yield part
      part = new Uint8Array(PART)
      length = 0
    }
  }
  if (length > 0) yield part.subarray(0, length)
}
