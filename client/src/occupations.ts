import { MahiError } from './errors.ts'
import { assertPage, compareCodePoints } from './page.ts'
import type { CallOptions, SendRequest } from './request.ts'
import type { OccupationPage, OccupationRecord } from './types.ts'

/** Which occupations to list. Each name stands for a parameter of the interface; filters combine with AND. */
export interface OccupationsQuery {
  /** `Limit`: number of records per page. Above the installation's maximum is refused, never clamped. */
  limit?: number | undefined
  /**
   * `Cursor`: where the page starts: the first occupation code at or after this one. Usually the `nextCursor` of the
   * page before.
   */
  cursor?: string | undefined
  /** `Filter.MajorGroupCode`: only records with a minor group, Primary or Secondary, of this major group. */
  majorGroupCode?: string | undefined
  /** `Filter.MinorGroupCode`: only records of this minor group, Primary or Secondary. */
  minorGroupCode?: string | undefined
  /** `Filter.LastUpdatedAfter`: only records last updated after this time, exclusive. Text is RFC 3339. */
  lastUpdatedAfter?: Date | string | undefined
  /** `Filter.LastUpdatedBefore`: only records last updated before this time, exclusive. Text is RFC 3339. */
  lastUpdatedBefore?: Date | string | undefined
}

/** List occupations. Every function here rejects with a `MahiError`, or with the signal's reason. */
export interface Occupations {
  /** One page of the occupations. */
  list(query?: OccupationsQuery, options?: CallOptions): Promise<OccupationPage>
  /** Every page from the cursor on, or from the first one, following `nextCursor`. */
  pages(query?: OccupationsQuery, options?: CallOptions): AsyncGenerator<OccupationPage, void, undefined>
  /**
   * Every record from the cursor on, or from the first one, by occupation code, a page at a time.
   *
   * Where the catalogue changes meanwhile, no code comes twice and no record is missed that is there all along. One
   * that is added, changed or deleted meanwhile comes as it was when its page was read.
   */
  all(query?: OccupationsQuery, options?: CallOptions): AsyncGenerator<OccupationRecord, void, undefined>
}

export function createOccupations(send: SendRequest): Occupations {
  async function list(query: OccupationsQuery = {}, options?: CallOptions): Promise<OccupationPage> {
    const { body, etag } = await send<OccupationPage>('/v1/occupations', nameParameters(query), options)
    assertPage(body, etag)
    return body
  }

  async function* pages(query?: OccupationsQuery, options?: CallOptions) {
    let cursor = query?.cursor
    do {
      const page = await list({ ...query, cursor }, options)
      yield page
      const { nextCursor } = page
      if (nextCursor !== undefined && cursor !== undefined && compareCodePoints(nextCursor, cursor) <= 0) {
        throw new MahiError('unreadable', { title: 'The pages lead back to where they came from' })
      }
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }

  async function* all(query?: OccupationsQuery, options?: CallOptions) {
    for await (const { data = [] } of pages(query, options)) {
      for (const record of data) {
        options?.signal?.throwIfAborted()
        yield record
      }
    }
  }

  return { list, pages, all }
}

/** A name that does not exist is sent too: the service refuses it, where leaving it out would list everything. */
function nameParameters(query: OccupationsQuery): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const capitalised = name.charAt(0).toUpperCase() + name.slice(1)
      return [name === 'limit' || name === 'cursor' ? capitalised : `Filter.${capitalised}`, value]
    }),
  )
}
