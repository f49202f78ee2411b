import type { Answer, CacheRequest } from './cache.ts'
import type { AskOrigin } from './cdn.ts'

/** What Mahi sends with an open catalogue: `test/scale.cdn.test.ts` compares. */
export const CACHE_CONTROL = 'public, max-age=60, stale-while-revalidate=600'

/** An origin that does as Mahi does, without the pages: every import changes the ETag of every page. */
export function simulatedOrigin(imports: readonly number[]): AskOrigin {
  let revision = 0
  return ({ url, headers }, now) => {
    while ((imports[revision] ?? Number.POSITIVE_INFINITY) <= now) revision++
    const etag = `W/"c${revision}-${url}"`
    const described = { etag, 'cache-control': CACHE_CONTROL, vary: 'accept-encoding', date: String(now) }
    return headers['if-none-match'] === etag
      ? { status: 304, headers: described, body: '' }
      : { status: 200, headers: described, body: String(revision) }
  }
}

/** Addresses such as readers of a catalogue ask for, the most wanted first: its pages, and those of its groups. */
export function listUrls(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const page = Math.floor(index / 3)
    const cursor = page === 0 ? '' : `&Cursor=O${String(page * 20).padStart(7, '0')}`
    const filters = [
      '',
      `&Filter.MajorGroupCode=${page % 10}`,
      `&Filter.MinorGroupCode=${100 + (page % 100)}`,
    ]
    return `/v1/occupations?Limit=20${cursor}${filters[index % 3]}`
  })
}

/** A real Mahi with an open catalogue as an origin, on the simulation's clock. */
export class RealOrigin {
  readonly counts = { full: 0, notModified: 0, bytes: 0 }
  readonly #url: string
  /** What its ETags begin with, one revision after the other. */
  readonly #revisions: string[] = []
  readonly #sent = new Map<string, string>()

  private constructor(url: string) {
    this.#url = url
  }

  static async of(url: string): Promise<RealOrigin> {
    const origin = new RealOrigin(url)
    origin.#revisions.push(await origin.#readRevision())
    return origin
  }

  /** Waits until it shows another revision than before. */
  async untilChanged(): Promise<void> {
    let revision = await this.#readRevision()
    while (revision === this.#revisions.at(-1)) revision = await this.#readRevision()
    this.#revisions.push(revision)
  }

  readonly ask: AskOrigin = async ({ url, headers }, now) => {
    const response = await fetch(this.#url + url, { headers })
    const etag = response.headers.get('etag') ?? ''
    const described = {
      etag,
      'cache-control': response.headers.get('cache-control') ?? '',
      vary: response.headers.get('vary') ?? '',
      date: String(now),
    }
    this.counts.bytes += Number(response.headers.get('content-length'))
    const text = await response.text()
    if (response.status === 304) {
      this.counts.notModified++
      return { status: 304, headers: described, body: '' }
    }
    if (response.status !== 200) throw new Error(`${url} is answered ${response.status}: ${text}`)
    this.counts.full++
    this.#sent.set(`${etag} ${url}`, text)
    const revision = this.#revisions.indexOf(revisionOf(etag))
    return { status: 200, headers: described, body: `${revision} ${text}` }
  }

  /** Fails unless a cache sends, under an ETag, what the origin sent under it. */
  readonly check = ({ url }: CacheRequest, { headers, body }: Answer): void => {
    const text = this.#sent.get(`${headers.etag} ${url}`)
    if (text === undefined || body.slice(body.indexOf(' ') + 1) !== text) {
      throw new Error(`a cache answers ${url} with what the origin never sent as ${headers.etag}`)
    }
  }

  async #readRevision(): Promise<string> {
    const response = await fetch(`${this.#url}/v1/occupations?Limit=1`)
    await response.text()
    return revisionOf(response.headers.get('etag') ?? '')
  }
}

function revisionOf(etag: string): string {
  return etag.split('-', 1)[0] ?? ''
}
