import { MahiError } from '../../client/src/errors.ts'
import { createSendRequest } from '../../client/src/request.ts'
import type { OccupationPage, OccupationRecord } from '../../client/src/types.ts'
import { compareCodePoints } from '../text/code-points.ts'

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
    const { data = [], nextCursor, totalCount = 0 } = body
    if (!isPage(data, nextCursor, totalCount)) {
      throw new MahiError('unreadable', { title: 'The answer is no page of a catalogue' })
    }
    return { records: data, nextCursor, totalCount, revision: etag?.split('-', 1)[0] ?? '' }
  }
}

/** Whether an answer has what a mirror relies on: the service may be any, and what it sends is not to be trusted. */
function isPage(data: unknown, nextCursor: unknown, totalCount: unknown): data is MirroredRecord[] {
  if (!Array.isArray(data) || !data.every(isMirroredRecord) || !Number.isSafeInteger(totalCount)) return false
  const codes = data.map(({ occupationCode }) => occupationCode)
  if (nextCursor !== undefined) {
    if (typeof nextCursor !== 'string') return false
    codes.push(nextCursor)
  }
  return codes.every((code, index) => index === 0 || compareCodePoints(codes[index - 1] ?? '', code) < 0)
}

/** The one form in which the service sends dates: as text they sort as they do in time. */
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function isMirroredRecord(value: unknown): value is MirroredRecord {
  if (!isObject(value)) return false
  const { occupationCode: code, lastUpdatedDate: date, minorGroups = [] } = value
  return (
    typeof code === 'string' &&
    code !== '' &&
    typeof date === 'string' &&
    DATE.test(date) &&
    !Number.isNaN(Date.parse(date)) &&
    Array.isArray(minorGroups) &&
    minorGroups.every(
      (each) =>
        isObject(each) &&
        (each.minorGroup === undefined ||
          (isObject(each.minorGroup) && ['string', 'undefined'].includes(typeof each.minorGroup.code))),
    )
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Every page of a query, in order. Its pages may be of several states: each tells its own. */
export async function* walk(fetchPage: FetchPage, query: SourceQuery): AsyncGenerator<SourcePage> {
  for (let { cursor } = query; ; ) {
    const page = await fetchPage({ ...query, limit: PAGE_LIMIT, ...(cursor === undefined ? {} : { cursor }) })
    yield page
    const next = page.nextCursor
    if (next === undefined) return
    if (cursor !== undefined && compareCodePoints(next, cursor) <= 0) {
      throw new MahiError('unreadable', {
        title: 'The pages of the catalogue lead back to where they came from',
      })
    }
    cursor = next
  }
}
