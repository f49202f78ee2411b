import { MahiError } from './errors.ts'
import { readCount, readLines, readObjects } from './lines.ts'
import { assertChanges, compareCodePoints } from './page.ts'
import type { CallOptions, SendRequest, StreamRequest } from './request.ts'
import type {
  OccupationChanges,
  OccupationDifferences,
  OccupationRecord,
  OccupationRevisions,
} from './types.ts'

/** Which changes to list. */
export interface ChangesQuery {
  /**
   * `Since`: the `delta` of an earlier page or of a snapshot, or the `next` of the page before. `latest` gives only the
   * token of the current state. Without it, every record comes as created.
   */
  since?: string | undefined
  /** `Limit`: number of changes per page; by default as many as the installation allows. */
  limit?: number | undefined
}

/** The whole catalogue of one revision. */
export interface OccupationSnapshot {
  /** Number of the revision; it goes back only after a restore from a backup. */
  readonly revision: number
  /** Number of records. */
  readonly totalCount: number
  /** The token with which the changes continue from here. */
  readonly delta: string
  readonly etag: string
  /** SHA-256 of the NDJSON, in base64. */
  readonly digest: string
  /** The records as JSON texts, by occupation code; to be read once. Fails unless they are as many as `totalCount`. */
  lines(): AsyncGenerator<string, void, undefined>
  /** The same, parsed. */
  records(): AsyncGenerator<OccupationRecord, void, undefined>
}

/** How a snapshot is asked for. */
export interface SnapshotOptions extends CallOptions {
  /** The `etag` of an earlier snapshot: while the catalogue is the same, the call rejects with status 304. */
  ifNoneMatch?: string | undefined
}

/** A copy of the catalogue in memory, compared with the service's digest. */
export interface OccupationCopy {
  /** Number of the revision. */
  readonly revision: number
  /** The token with which the changes continue from here. */
  readonly delta: string
  /** The records by code, ordered by code. */
  readonly records: ReadonlyMap<string, OccupationRecord>
  /** Why everything was fetched again, if it was. */
  readonly notice?: string
}

/** Follow the catalogue. Every function here rejects with a `MahiError`, or with the signal's reason. */
export type OccupationChangeFeed = ReturnType<typeof createOccupationChanges>

export function createOccupationChanges(send: SendRequest, stream: StreamRequest) {
  async function changes({ since, limit }: ChangesQuery = {}, options?: CallOptions) {
    const query = { Since: since, Limit: limit }
    const { body, etag } = await send<OccupationChanges>(['occupations', 'changes'], query, options)
    assertChanges(body, etag)
    return body
  }

  async function* changePages(query: ChangesQuery = {}, options?: CallOptions) {
    const seen = new Set<string>()
    for (let { since } = query; ; ) {
      const page = await changes({ ...query, since }, options)
      if (page.next !== undefined && seen.has(page.next)) {
        throw new MahiError('unreadable', { title: 'The pages form a loop' })
      }
      yield page
      if (page.next === undefined) return
      seen.add(page.next)
      since = page.next
    }
  }

  async function* allChanges(query?: ChangesQuery, options?: CallOptions) {
    let token = ''
    for await (const page of changePages(query, options)) {
      for (const change of page.changes ?? []) {
        options?.signal?.throwIfAborted()
        yield change
      }
      token = page.delta ?? ''
    }
    return token
  }

  async function snapshot(options?: SnapshotOptions): Promise<OccupationSnapshot> {
    const etagOfEarlier = options?.ifNoneMatch
    const { headers, body } = await stream(['occupations', 'snapshot'], {}, options, {
      accept: 'application/x-ndjson',
      ...(etagOfEarlier !== undefined && { 'if-none-match': etagOfEarlier }),
    })
    const type = headers.get('content-type')?.split(';', 1)[0]
    const totalCount = readCount(headers.get('total-count'))
    const revision = readCount(headers.get('catalogue-revision'))
    const delta = headers.get('delta-token')
    const etag = headers.get('etag')
    const digest = /^sha-256=:([^:]+):$/.exec(headers.get('ndjson-digest') ?? '')?.[1]
    if (
      type !== 'application/x-ndjson' ||
      totalCount === undefined ||
      revision === undefined ||
      !delta ||
      !digest ||
      !etag
    ) {
      void body?.cancel().catch(() => undefined)
      throw new MahiError('unreadable', { title: 'The response is not a catalogue snapshot' })
    }
    return {
      revision,
      totalCount,
      delta,
      etag,
      digest,
      lines: () => readLines(body, totalCount, 'snapshot', options?.signal),
      records: () => readObjects<OccupationRecord>(body, totalCount, 'snapshot', options?.signal),
    }
  }

  async function copyAll(options: CallOptions | undefined, notice?: string): Promise<OccupationCopy> {
    const { revision, delta, digest, records: read } = await snapshot(options)
    const records = new Map<string, OccupationRecord>()
    for await (const record of read()) records.set(record.occupationCode ?? '', record)
    if ((await digestRecords(records)) !== digest) {
      throw new MahiError('unreadable', { title: 'The snapshot does not match its digest' })
    }
    return { revision, delta, records, ...(notice !== undefined && { notice }) }
  }

  async function copy(earlier?: OccupationCopy, options?: CallOptions): Promise<OccupationCopy> {
    if (earlier === undefined) return await copyAll(options)
    const changed = new Map(earlier.records)
    let last: OccupationChanges = {}
    try {
      for await (const page of changePages({ since: earlier.delta }, options)) {
        for (const { occupationCode = '', record } of page.changes ?? []) {
          if (record === undefined) changed.delete(occupationCode)
          else changed.set(occupationCode, record)
        }
        last = page
      }
    } catch (error) {
      if (!(error instanceof MahiError) || error.status !== 410) throw error
      return await copyAll(options, 'The changes since the earlier copy are no longer available.')
    }
    const records = new Map([...changed].sort(([one], [other]) => compareCodePoints(one, other)))
    const { revision = 0, delta = '', digest } = last
    if (digest !== undefined && (await digestRecords(records)) === digest) return { revision, delta, records }
    const reason =
      digest === undefined
        ? 'The service has not sent the digest of its catalogue.'
        : 'The changes do not lead to the catalogue of the service.'
    return await copyAll(options, reason)
  }

  async function revisions({ limit }: { limit?: number } = {}, options?: CallOptions) {
    return (await send<OccupationRevisions>(['occupation-revisions'], { Limit: limit }, options)).body
  }

  async function revision(
    number: number,
    { since, after }: { since?: number; after?: string } = {},
    options?: CallOptions,
  ) {
    const path = ['occupation-revisions', number]
    return (await send<OccupationDifferences>(path, { Since: since, After: after }, options)).body
  }

  return {
    /** One page of changes. A token that is no longer valid is a problem with status 410: begin with a snapshot. */
    changes,
    /**
     * Every page of changes from a token on. The last one has `delta`, the token for the next time. Each change is the
     * newest state of its code: store created and updated records alike.
     */
    changePages,
    /** Every change from a token on; returns the token for the next time. */
    allChanges,
    /** The whole catalogue; `options.deadline` is for its beginning, `options.signal` for all of it. */
    snapshot,
    /**
     * A copy of the catalogue in memory: the earlier one with the changes since, or everything where there is none, its
     * token is no longer valid, or the changes do not lead to the service's digest; `notice` then says so. A copy that
     * does not match its digest is an error.
     */
    copy,
    /** The latest revisions of the catalogue, newest first. */
    revisions,
    /** How a revision differs from the one before it, or from another one; `next` is the `after` of the next call. */
    revision,
  }
}

/** SHA-256 of the records as NDJSON, in base64. */
async function digestRecords(records: ReadonlyMap<string, OccupationRecord>): Promise<string> {
  const encoder = new TextEncoder()
  const lines = [...records.values()].map((record) => encoder.encode(`${JSON.stringify(record)}\n`))
  const bytes = new Uint8Array(lines.reduce((size, line) => size + line.length, 0))
  let at = 0
  for (const line of lines) {
    bytes.set(line, at)
    at += line.length
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return btoa(String.fromCharCode(...digest))
}
