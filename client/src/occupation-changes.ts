import { MahiError } from './errors.ts'
import { readCount, readLines, readObjects } from './lines.ts'
import { nameParameters } from './operations.ts'
import { assertChanges } from './page.ts'
import type { CallOptions, Requests } from './request.ts'
import type { ChangesQuery, OccupationChanges, OccupationRecord } from './types.ts'

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
export interface OccupationCopy extends Pick<OccupationSnapshot, 'revision' | 'delta' | 'etag'> {
  /** The records by code, ordered by code. */
  readonly records: ReadonlyMap<string, OccupationRecord>
}

/** Follow the catalogue. Every function here rejects with a `MahiError`, or with the signal's reason. */
export function createOccupationChanges({ send, stream }: Requests) {
  async function changes(query: ChangesQuery = {}, options?: CallOptions) {
    const sent = { ...options, query: nameParameters(query) }
    const { body, etag } = await send<OccupationChanges>(['occupations', 'changes'], sent)
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

  async function snapshot({ ifNoneMatch, ...options }: SnapshotOptions = {}): Promise<OccupationSnapshot> {
    const { headers, body } = await stream(['occupations', 'snapshot'], {
      ...options,
      headers: {
        accept: 'application/x-ndjson',
        ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
      },
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
      lines: () => readLines(body, totalCount, 'snapshot', options.signal),
      records: () => readObjects<OccupationRecord>(body, totalCount, 'snapshot', options.signal),
    }
  }

  async function copy(earlier?: OccupationCopy, options?: CallOptions): Promise<OccupationCopy> {
    try {
      const {
        revision,
        delta,
        etag,
        digest,
        records: read,
      } = await snapshot({
        ...options,
        ifNoneMatch: earlier?.etag,
      })
      const records = new Map<string, OccupationRecord>()
      for await (const record of read()) records.set(record.occupationCode ?? '', record)
      if ((await digestRecords(records)) !== digest)
        throw new MahiError('unreadable', { title: 'The snapshot does not match its digest' })
      return { revision, delta, etag, records }
    } catch (error) {
      if (earlier !== undefined && error instanceof MahiError && error.status === 304) return earlier
      throw error
    }
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
    /** A copy of the catalogue in memory: the earlier one, if nothing has changed since, or else a new one. */
    copy,
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
