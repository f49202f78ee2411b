import { MahiError } from './errors.ts'
import { assertPage, compareCodePoints } from './page.ts'
import type { CallOptions, Path, SendChange, SendRequest } from './request.ts'

import type {
  CodingDecisions,
  Codings,
  CodingsQuery,
  OccupationGroups,
  OccupationPage,
  OccupationRecord,
  OccupationSearchPage,
  OccupationSuggestions,
  ReviewedCodingPage,
  ReviewedCodings,
} from './types.ts'

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
  /** `Filter.GroupRelation`: `Primary` counts only Primary relations to the groups. Default `Any`. */
  groupRelation?: 'Primary' | 'Any' | undefined
  /** `Filter.Codes`: only the records with these codes, up to 100: without `limit`, all on one page. `missingCodes` of the page lists those that do not exist. A code with a comma cannot be named. */
  codes?: readonly string[] | undefined
  /** `Fields`: the fields that each record shows. */
  fields?: readonly (keyof OccupationRecord)[] | undefined
  /** `Filter.LastUpdatedAfter`: only records last updated after this time, exclusive. Text is RFC 3339. */
  lastUpdatedAfter?: Date | string | undefined
  /** `Filter.LastUpdatedBefore`: only records last updated before this time, exclusive. Text is RFC 3339. */
  lastUpdatedBefore?: Date | string | undefined
}

/** What to search for. Each name stands for a parameter of the interface. */
export interface SearchQuery {
  /** `q`: the words, at most 200 characters. */
  q: string
  /** `Lang`: only names in this language. */
  lang?: 'en' | 'mi' | undefined
  /** `Filter.MajorGroupCode`: only occupations of this major group. */
  majorGroupCode?: string | undefined
  /** `Filter.MinorGroupCode`: only occupations of this minor group. */
  minorGroupCode?: string | undefined
  /** `Filter.GroupRelation`: `Primary` counts only Primary relations to the groups. Default `Any`. */
  groupRelation?: 'Primary' | 'Any' | undefined
  /** `Limit`: number of results per page. */
  limit?: number | undefined
  /** `Page`: number of the page, from 1. */
  page?: number | undefined
}

/** What to complete. */
export interface SuggestionsQuery {
  /** `q`: what has been typed. */
  q: string
  /** `Lang`: only names in this language. */
  lang?: 'en' | 'mi' | undefined
  /** `Limit`: number of suggestions. */
  limit?: number | undefined
}

/** Which reviewed titles to list. Each name stands for a parameter of the interface. */
export interface ConfirmedCodingsQuery {
  /** `Limit`: number of titles per page. */
  limit?: number | undefined
  /** `Cursor`: the `nextCursor` of the page before. */
  cursor?: string | undefined
  /** `Filter.State`: only titles in this state. */
  state?: 'confirmed' | 'disputed' | 'unknown' | undefined
}

/** List occupations. Every function here rejects with a `MahiError`, or with the signal's reason. */
export type Occupations = ReturnType<typeof createOccupations>

// Search follows an import by seconds, and an older index is better than none: those calls accept any revision.
export function createOccupations(send: SendRequest, change: SendChange) {
  async function list(query: OccupationsQuery = {}, options?: CallOptions): Promise<OccupationPage> {
    const { body, etag } = await send<OccupationPage>(['occupations'], nameParameters(query), options)
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
        throw new MahiError('unreadable', { title: 'The pages form a loop' })
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

  async function read<Body>(path: Path, query: object, options: CallOptions | undefined): Promise<Body> {
    return (await send<Body>(path, nameParameters(query), options)).body
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
    /** The occupations that words may mean, best first. */
    search: (query: SearchQuery, options?: CallOptions) =>
      read<OccupationSearchPage>(['occupations', 'search'], query, options),
    /** Names that complete what has been typed. */
    suggest: (query: SuggestionsQuery, options?: CallOptions) =>
      read<OccupationSuggestions>(['occupations', 'suggestions'], query, options),
    /** The occupation code of each job title, with the probability that it is right. */
    code: (query: CodingsQuery, options?: CallOptions) =>
      change<Codings>(['codings'], { method: 'POST', body: query }, options),
    /** Stores decisions about job titles, and returns the titles with the decisions of all reviewers. */
    confirmCodings: (decisions: CodingDecisions, options?: CallOptions) =>
      change<ReviewedCodings>(['confirmed-codings'], { method: 'POST', body: decisions }, options),
    /** A page of the titles that reviewers have decided about, in alphabetical order. */
    confirmedCodings: (query: ConfirmedCodingsQuery = {}, options?: CallOptions) =>
      read<ReviewedCodingPage>(['confirmed-codings'], query, options),
    /** Withdraws the client's own decision about the title with an id. */
    withdrawCoding: (id: string, options?: CallOptions) =>
      change<ReviewedCodings>(['confirmed-codings', id], { method: 'DELETE' }, options),
    /**
     * The record with a code. A code that was removed is a `MahiError` with status 410, and one that never existed is one
     * with status 404. The codes `.` and `..` cannot be part of a URL: list them with `codes`.
     */
    get: (code: string, options?: CallOptions) => read<OccupationRecord>(['occupations', code], {}, options),
    /** Every major and minor group, with the number of its occupations. */
    groups: (options?: CallOptions) => read<OccupationGroups>(['occupation-groups'], {}, options),
    /** The major group with a code, the minor group with it, or both. */
    group: (code: string, options?: CallOptions) =>
      read<OccupationGroups>(['occupation-groups', code], {}, options),
  }
}

/** The parameters whose names begin with `Filter.`. */
const FILTERS = new Set([
  ...['majorGroupCode', 'minorGroupCode', 'groupRelation', 'codes', 'lastUpdatedAfter', 'lastUpdatedBefore'],
  'state',
])

/** A name that does not exist is sent too: the service refuses it, where leaving it out would list everything. */
function nameParameters(query: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      if (name === 'q') return [name, value]
      const capitalised = name.charAt(0).toUpperCase() + name.slice(1)
      return [FILTERS.has(name) ? `Filter.${capitalised}` : capitalised, value]
    }),
  )
}
