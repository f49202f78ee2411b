import { createSendRequest } from '../../client/src/request.ts'
import type { OccupationPage, OccupationRecord } from '../../client/src/types.ts'

/** What a mirror asks a service for: the parameters of section 4.1 of the interface, in short. */
export interface SourceQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly minorGroupCode?: string
  readonly lastUpdatedAfter?: string
  readonly lastUpdatedBefore?: string
}

export interface SourcePage {
  readonly records: readonly MirroredRecord[]
  readonly nextCursor: string | undefined
  readonly totalCount: number
  /** Names the state of the catalogue that the page is of: pages of one state belong together. */
  readonly revision: string
}

/** A record as a mirror needs it: every record of a catalogue has a code and a date. */
export type MirroredRecord = OccupationRecord & { occupationCode: string; lastUpdatedDate: string }

/** Fetches a page, with retries. */
export type FetchPage = (query: SourceQuery) => Promise<SourcePage>

/** Records a page: the most that a service takes unless it is set up otherwise. */
export const PAGE_LIMIT = 100

/** How long one page may take, retries and the pauses of a rate limit included, in milliseconds. */
const DEADLINE = 5 * 60_000

/** Asks a service with the client. The revision is what the ETag says before its hyphen. */
export function createSource(baseUrl: string, apiKey: string | undefined): FetchPage {
  const request = createSendRequest({ baseUrl, apiKey, deadline: DEADLINE, cachedPages: 0 })
  return async ({ limit, cursor, minorGroupCode, lastUpdatedAfter, lastUpdatedBefore }) => {
    const { body, etag } = await request<OccupationPage>(
      '/v1/occupations',
      {
        Limit: limit,
        Cursor: cursor,
        'Filter.MinorGroupCode': minorGroupCode,
        'Filter.LastUpdatedAfter': lastUpdatedAfter,
        'Filter.LastUpdatedBefore': lastUpdatedBefore,
      },
      undefined,
    )
    return {
      records: (body.data ?? []) as MirroredRecord[],
      nextCursor: body.nextCursor,
      totalCount: body.totalCount ?? 0,
      revision: etag?.split('-', 1)[0] ?? '',
    }
  }
}

/** Every page of a query, in order. Its pages may be of several states: each tells its own. */
export async function* walk(fetchPage: FetchPage, query: SourceQuery): AsyncGenerator<SourcePage> {
  for (let { cursor } = query; ; ) {
    const page = await fetchPage({ ...query, limit: PAGE_LIMIT, ...(cursor === undefined ? {} : { cursor }) })
    yield page
    cursor = page.nextCursor
    if (cursor === undefined) return
  }
}
