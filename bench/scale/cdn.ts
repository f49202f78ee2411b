import {
  type Answer,
  ageOf,
  answerTo,
  type CacheRequest,
  complete,
  type Found,
  type Headers,
  SharedCache,
  withAge,
} from './cache.ts'
import { exponential, type Random, seeded, zipf } from './random.ts'

/** Asks the origin at a time, in seconds. A body begins with the number of the catalogue's revision. */
export type AskOrigin = (request: CacheRequest, now: number) => Answer | Promise<Answer>

export interface CdnOptions {
  readonly seed: number
  readonly pointsOfPresence: number
  /** Whether all points of presence ask one cache in the middle, and only that one asks the origin. */
  readonly shield: boolean
  /** Of all points of presence together. */
  readonly requestsPerSecond: number
  readonly seconds: number
  /** Not counted at the beginning, while the caches fill. */
  readonly warmUp: number
  readonly urls: readonly string[]
  readonly zipfExponent: number
  /** Seconds from a cache to whom it asks and back. */
  readonly roundTrip: number
  /** When an import is to be seen at the origin: each makes a revision. */
  readonly imports: readonly number[]
  readonly askOrigin: AskOrigin
  /** Called when the clock has reached an import. */
  readonly onImport?: (index: number) => void | Promise<void>
  readonly onAnswer?: (request: CacheRequest, answer: Answer) => void
}

export interface CdnCounts {
  requests: number
  fresh: number
  stale: number
  waited: number
  /** Requests that reached the origin, and how it answered. */
  origin: number
  notModified: number
  /** The most that reached it in one second. */
  originPeak: number
  /** Seconds since an import of the oldest answer that did not show it yet. */
  oldest: number
  /** By the ten seconds since the last import: answers, and those of them that did not show it yet. */
  readonly since: { answers: number; outdated: number }[]
}

/** What callers accept: a point of presence makes one of these of every other header, as they all do. */
const ENCODINGS = [
  { below: 0.9, headers: { 'accept-encoding': 'br' } },
  { below: 0.99, headers: { 'accept-encoding': 'gzip' } },
] as const
const NO_ENCODING = { 'accept-encoding': 'identity' }

/** An answer that is on its way to a cache. */
interface Coming {
  readonly request: CacheRequest
  readonly answer: Answer
  readonly asked: number
  readonly at: number
}

/** A cache that asks whoever is behind it. */
class Edge {
  readonly #cache = new SharedCache()
  readonly #coming = new Map<string, Coming>()
  readonly #roundTrip: number
  readonly #ask: AskOrigin

  constructor(roundTrip: number, ask: AskOrigin) {
    this.#roundTrip = roundTrip
    this.#ask = ask
  }

  /** How a request is answered, and with what: as it is kept, or as it comes in the end. */
  async answer(
    request: CacheRequest,
    now: number,
  ): Promise<{ use: Found['use']; answer: Answer; age: number }> {
    const key = request.headers['accept-encoding'] + request.url
    let coming = this.#coming.get(key)
    if (coming !== undefined && coming.at <= now) {
      this.#cache.receive(coming.request, coming.answer, coming.asked, coming.at)
      this.#coming.delete(key)
      coming = undefined
    }
    const found = this.#cache.find(request, now)
    const { use, stored } = found
    if (use !== 'fresh' && coming === undefined) {
      const answer = await this.#ask(found.ask, now)
      coming = { request: found.ask, answer, asked: now, at: now + this.#roundTrip }
      this.#coming.set(key, coming)
    }
    if (use !== 'none') return { use, answer: stored.answer, age: ageOf(stored, now) }
    // One question at a time: whoever else has to wait, waits for the same answer.
    if (coming === undefined) throw new Error('somebody waits for nothing')
    return { use, answer: complete(coming.answer, stored), age: Number(coming.answer.headers.age ?? 0) }
  }

  /** The same as it is sent to another cache. */
  readonly send: AskOrigin = async (request, now) => {
    const { answer, age } = await this.answer(request, now)
    return answerTo(request, withAge(answer, age))
  }
}

/** Lets callers all over the world ask caches, which ask the origin, on a clock of its own. */
export async function simulateCdn(options: CdnOptions): Promise<CdnCounts> {
  const { pointsOfPresence, urls, imports, seconds, warmUp } = options
  const random = seeded(options.seed)
  const drawUrl = zipf(random, urls.length, options.zipfExponent)
  const counts: CdnCounts = {
    requests: 0,
    fresh: 0,
    stale: 0,
    waited: 0,
    origin: 0,
    notModified: 0,
    originPeak: 0,
    oldest: 0,
    since: [],
  }
  let [second, inSecond] = [0, 0]
  const askOrigin: AskOrigin = async (request, now) => {
    const answer = await options.askOrigin(request, now)
    if (now < warmUp) return answer
    counts.origin++
    if (answer.status === 304) counts.notModified++
    if (Math.floor(now) !== second) [second, inSecond] = [Math.floor(now), 0]
    counts.originPeak = Math.max(counts.originPeak, ++inSecond)
    return answer
  }
  const shield = new Edge(options.roundTrip, askOrigin)
  const ask = options.shield ? shield.send : askOrigin
  const edges = Array.from({ length: pointsOfPresence }, () => new Edge(options.roundTrip, ask))

  let revision = 0
  let now = 0
  for (;;) {
    now += exponential(random, 1 / options.requestsPerSecond)
    if (now >= seconds) return counts
    for (; (imports[revision] ?? Number.POSITIVE_INFINITY) <= now; revision++) {
      await options.onImport?.(revision)
    }
    const edge = edges[Math.floor(random() * pointsOfPresence)]
    const url = urls[drawUrl()]
    if (edge === undefined || url === undefined) throw new Error('nobody to ask, or nothing')
    const request = { url, headers: draw(random) }
    const { use, answer } = await edge.answer(request, now)
    options.onAnswer?.(request, answer)
    if (now < warmUp) continue
    counts.requests++
    counts[use === 'none' ? 'waited' : use]++
    count(counts, Number.parseInt(answer.body, 10), revision, imports, now)
  }
}

function draw(random: Random): Headers {
  const drawn = random()
  return ENCODINGS.find(({ below }) => drawn < below)?.headers ?? NO_ENCODING
}

function count(
  counts: CdnCounts,
  shown: number,
  revision: number,
  imports: readonly number[],
  now: number,
): void {
  const outdated = shown < revision
  if (outdated) counts.oldest = Math.max(counts.oldest, now - (imports[shown] ?? now))
  const last = imports[revision - 1]
  if (last === undefined) return
  const slot = Math.floor((now - last) / 10)
  const each = counts.since[slot] ?? { answers: 0, outdated: 0 }
  counts.since[slot] = each
  each.answers++
  if (outdated) each.outdated++
}
