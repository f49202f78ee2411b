import { MahiError } from './errors.ts'
import { createOccupationOperations, nameParameters } from './operations.ts'
import { assertPage } from './page.ts'
import type { CallOptions, Requests } from './request.ts'
import type { OccupationPage, OccupationsQuery } from './types.ts'

/** List occupations. Every function here rejects with a `MahiError`, or with the signal's reason. */
export function createOccupations({ send, call }: Requests) {
  async function list(query: OccupationsQuery = {}, options?: CallOptions): Promise<OccupationPage> {
    const sent = { ...options, query: nameParameters(query) }
    const { body, etag } = await send<OccupationPage>(['occupations'], sent)
    assertPage(body, etag)
    return body
  }

  async function* pages(query?: OccupationsQuery, options?: CallOptions) {
    const seen = new Set<string>()
    for (let cursor = query?.cursor; ; ) {
      const page = await list({ ...query, cursor }, options)
      yield page
      cursor = page.nextCursor
      if (cursor === undefined) return
      if (seen.has(cursor)) throw new MahiError('unreadable', { title: 'The pages form a loop' })
      seen.add(cursor)
    }
  }

  async function* all(query?: OccupationsQuery, options?: CallOptions) {
    for await (const { data = [] } of pages(query, options)) {
      for (const record of data) {
        options?.signal?.throwIfAborted()
        yield record
      }
    }
  }

  return {
    /** One page of the occupations. */
    list,
    /** Every page from the cursor on, or from the first one, following `nextCursor`. */
    pages,
    /**
     * Every record from the cursor on, or from the first one, by occupation code, a page at a time.
     *
     * Where the catalogue changes meanwhile, no code comes twice and no record is missed that is there all along. One
     * that is added, changed or deleted meanwhile comes as it was when its page was read.
     */
    all,
    ...createOccupationOperations(call),
  }
}
