import { makeEtag, Page, surround } from '../../api/serving/page.ts'
import { cacheUpTo, type PageCache, SharedReads } from '../../api/serving/page-cache.ts'
import { remember } from '../../foundation/cache/remember.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { isSameRevision, type Revision } from '../../foundation/database/revisions.ts'
import { type NamedQuery, type OccupationQuery, writeQuery } from './list-query.ts'
import { readListedPage } from './listed.ts'
import { asPrimary } from './primary.ts'
import { type PageQuery, type PlannedWindow, planPage, readPage, readWindowPage } from './queries.ts'
import { type OccupationRows, renderMissingCode } from './rows.ts'
import { windowBetween } from './window.ts'

/** Memory for cached plans of windows, in bytes: callers choose the windows, and a plan may be a list of codes. */
const PLANS_CAPACITY = 8 * 2 ** 20

/** Memory for documents that are kept also without a page cache, in bytes. */
const LASTING_CAPACITY = 8 * 2 ** 20

/** A rendered page, and the revision that it belongs to. */
export interface RenderedPage {
  readonly revision: Revision
  readonly body: Buffer
  readonly link?: string | undefined
  /** How it differs from the page that its key promises: then it has another ETag, and is not kept. */
  readonly differs?: string | undefined
}

/** The pages of the catalogue. Rendered pages are cached while their revision is current. */
export class Catalogue {
  readonly #database: Reader
  readonly #pages: PageCache
  readonly #lasting = cacheUpTo<Page>(LASTING_CAPACITY)
  readonly #path: string
  readonly #plans = cacheUpTo<KeptPlan>(PLANS_CAPACITY)
  readonly #reads = new SharedReads<Page>()
  /** The newest revision that this process has seen. */
  #revision: Revision
  /** False while the process cannot know whether there is a newer revision. */
  #current = true
  /** Returns the ETag of a page in the current revision by its key. */
  #nameEtag: (key: string) => string

  /** @param path the path of the operation, for links */
  constructor(database: Reader, revision: Revision, pages: PageCache, path: string) {
    this.#database = database
    this.#revision = revision
    this.#nameEtag = namesEtagsOf(revision)
    this.#pages = pages
    this.#path = path
  }

  /** Called when the catalogue has a new revision: pages and plans of other revisions are discarded. */
  advance(revision: Revision): void {
    if (isSameRevision(revision, this.#revision)) return
    this.#revision = revision
    this.#nameEtag = namesEtagsOf(revision)
    this.#clear()
  }

  #clear(): void {
    this.#pages.clear()
    this.#lasting.clear()
    this.#plans.clear()
  }

  /** Called while changes cannot be read: until they can, every request reads its page from the database. */
  doubt(): void {
    this.#current = false
    this.#clear()
  }

  /** Called when changes can be read again. */
  trust(revision: Revision): void {
    this.#current = true
    this.advance(revision)
  }

  /** The current ETag of a page, if this process can know it. */
  etag(key: string): string | undefined {
    return this.#current ? this.#nameEtag(key) : undefined
  }

  /** The page with this key, if it is in memory. */
  recall(key: string): Page | undefined {
    return this.#pages.get(key) ?? this.#lasting.get(key)
  }

  /** Reads the page for a query, of the newest known revision or a later one. */
  page({ query, key }: NamedQuery): Promise<Page> {
    return this.rendered(key, async (reader) => {
      const rows = projectFields(await this.#read(query, reader), query.Fields)
      const { revision, nextCursor } = rows
      return { revision, body: renderPage(rows), link: this.#linkTo(query, nextCursor) }
    })
  }

  /**
   * Reads a page of the catalogue other than a list page, such as one record, which is kept like those.
   *
   * @param read reads the page and the revision that it belongs to
   * @param lasts whether it is rendered once for a revision, whatever the size of the page cache: for the few pages
   * that cost as much as many others
   */
  rendered(
    key: string,
    read: (reader: Reader) => Promise<RenderedPage>,
    { lasts = false } = {},
  ): Promise<Page> {
    // A caller that knows of a newer revision must not share a read that began before it.
    return this.#reads.get(`${this.#revision.number}/${key}`, async () => {
      const { revision, body, link, differs } = await read(this.#database)
      if (revision.number > this.#revision.number) this.advance(revision)
      const page = new Page(body, makeEtag(nameRevision(revision), key + (differs ?? '')), { link })
      if (differs === undefined && this.#current && isSameRevision(revision, this.#revision))
        (lasts ? this.#lasting : this.#pages).set(key, page)
      return page
    })
  }

  async #read(query: OccupationQuery, reader: Reader): Promise<OccupationRows> {
    const page = toPageQuery(query)
    const window = windowBetween(query['Filter.LastUpdatedAfter'], query['Filter.LastUpdatedBefore'])
    const codes = query['Filter.Codes']
    if (codes !== undefined) return readListedPage(reader, codes, page, window)
    if (window === undefined) return readPage(reader, page)

    const planKey = JSON.stringify([page.majorGroup, page.minorGroup, window.from, window.to])
    for (;;) {
      const plan = this.#plans.get(planKey)?.plan ?? (await planPage(reader, page, window))
      const rows = await readWindowPage(reader, page, window, plan)
      if (isSameRevision(rows.revision, plan.revision)) {
        this.#plans.set(planKey, { plan, weight: weigh(plan) })
        return rows
      }
      // An import happened between the plan and the page.
      this.#plans.delete(planKey)
    }
  }

  #linkTo(query: OccupationQuery, nextCursor: string | undefined): string | undefined {
    if (nextCursor === undefined) return undefined
    return `<${this.#path}?${writeQuery({ ...query, Cursor: nextCursor })}>; rel="next"`
  }
}

function toPageQuery(query: OccupationQuery): PageQuery {
  const name = query['Filter.GroupRelation'] === 'Primary' ? asPrimary : (code: string) => code
  const { 'Filter.MajorGroupCode': major, 'Filter.MinorGroupCode': minor } = query
  return {
    limit: query.Limit,
    cursor: query.Cursor ?? '',
    majorGroup: major === undefined ? '' : name(major),
    minorGroup: minor === undefined ? '' : name(minor),
  }
}

/** Keeps only some fields of the records. */
function projectFields(rows: OccupationRows, fields: readonly string[] | undefined): OccupationRows {
  if (fields === undefined || rows.documents === undefined) return rows
  const records = JSON.parse(`[${rows.documents.toString('utf8')}]`) as Record<string, unknown>[]
  const projected = records.map((record) =>
    Object.fromEntries(fields.flatMap((field) => (field in record ? [[field, record[field]]] : []))),
  )
  return { ...rows, documents: Buffer.from(JSON.stringify(projected).slice(1, -1)) }
}

interface KeptPlan {
  readonly plan: PlannedWindow
  readonly weight: number
}

/** The approximate memory of a plan: a code is a separate short string. */
function weigh({ plan }: PlannedWindow): number {
  return 500 + (plan.kind === 'list' ? plan.codes.length * 40 : 0)
}

/** The response of section 2.1, with its fields in the order of the interface. */
function renderPage({
  nextCursor,
  currentCursor,
  totalCount,
  documents,
  resultsCount,
  missing = [],
}: OccupationRows): Buffer {
  const cursors = { nextCursor, currentCursor, totalCount }
  return surround(
    `${JSON.stringify(cursors).slice(0, -1)},"data":[`,
    documents,
    `],"resultsCount":${resultsCount}${missing.length === 0 ? '' : `,"missingCodes":${JSON.stringify(missing.map(renderMissingCode))}`}}`,
  )
}

/** Identifies a revision of the catalogue in an ETag. */
export function nameRevision({ number, changed }: Revision): string {
  return `c${number}.${changed.toString(36)}`
}

function namesEtagsOf(revision: Revision): (key: string) => string {
  const name = nameRevision(revision)
  return remember((key) => makeEtag(name, key))
}
