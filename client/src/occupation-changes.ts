import { MahiError } from './errors.ts'
import { assertChanges } from './page.ts'
import type { CallOptions, SendRequest, StreamRequest } from './request.ts'
import type { OccupationChange, OccupationChanges, OccupationRecord } from './types.ts'

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

/** Follow the catalogue. Every function here rejects with a `MahiError`, or with the signal's reason. */
export interface OccupationChangeFeed {
  /** One page of changes. A token that is no longer valid is a problem with status 410: begin with a snapshot. */
  changes(query?: ChangesQuery, options?: CallOptions): Promise<OccupationChanges>
  /**
   * Every page of changes from a token on. The last one has `delta`, the token for the next time. Each change is the
   * newest state of its code: store created and updated records alike.
   */
  changePages(query?: ChangesQuery, options?: CallOptions): AsyncGenerator<OccupationChanges, void, undefined>
  /** Every change from a token on; returns the token for the next time. */
  allChanges(query?: ChangesQuery, options?: CallOptions): AsyncGenerator<OccupationChange, string, undefined>
  /** The whole catalogue; `options.deadline` is for its beginning, `options.signal` for all of it. */
  snapshot(options?: CallOptions): Promise<OccupationSnapshot>
}

/** The longest line that is read, in characters: several times the longest record. */
const LONGEST_LINE = 8 * 1024 * 1024

export function createOccupationChanges(send: SendRequest, stream: StreamRequest): OccupationChangeFeed {
  async function changes({ since, limit }: ChangesQuery = {}, options?: CallOptions) {
    const query = { Since: since, Limit: limit }
    const { body, etag } = await send<OccupationChanges>('/v1/occupations/changes', query, options)
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

  async function snapshot(options?: CallOptions): Promise<OccupationSnapshot> {
    const { headers, body } = await stream('/v1/occupations/snapshot', options, {
      accept: 'application/x-ndjson',
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
    const lines = () => readLines(body, totalCount)
    return {
      revision,
      totalCount,
      delta,
      etag,
      digest,
      lines,
      async *records() {
        for await (const line of lines()) yield parseRecord(line)
      },
    }
  }

  return { changes, changePages, allChanges, snapshot }
}

function readCount(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function parseRecord(line: string): OccupationRecord {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Told below.
  }
  throw new MahiError('unreadable', { title: 'A line of the snapshot is not a record' })
}

async function* readLines(
  body: ReadableStream<Uint8Array> | null,
  totalCount: number,
): AsyncGenerator<string, void, undefined> {
  const reader = body?.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let count = 0
  try {
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
      if (done || value === undefined) break
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LONGEST_LINE)
        throw new MahiError('unreadable', { title: 'The last line of the snapshot is incomplete' })
      for (const line of lines) {
        if (++count > totalCount) break
        yield line
      }
      if (count > totalCount) break
    }
  } catch (cause) {
    if (cause instanceof MahiError) throw cause
    throw new MahiError('network', { title: 'The snapshot was interrupted' }, cause)
  } finally {
    void reader?.cancel().catch(() => undefined)
  }
  if (count !== totalCount || rest !== '') {
    throw new MahiError('unreadable', {
      title: `The snapshot does not have the ${totalCount} lines that it announces`,
    })
  }
}
