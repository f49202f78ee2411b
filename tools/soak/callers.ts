import { Agent, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { MINOR_GROUPS } from '../../bench/data.ts'
import { EID } from '../../bench/mahi.ts'
import { type Sizes, tokenOf } from './changes.ts'

/** Whoever is not answered for so long hangs, in milliseconds. */
const HANGING = 30_000

const QUERIES = ['manage records', 'kaiako', 'techers', 'plan local budgets', 'zzz', 'train animals daily']

interface Question {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly expected: readonly number[]
  /** Sent by POST, as JSON. */
  readonly body?: unknown
  /** Leaves once the answer has begun. */
  readonly leaves?: boolean
}

/** Callers who come, ask some questions of every kind on one connection, and go. */
export class Callers {
  /** Milliseconds that answers took since `take` was last called. */
  #times: number[] = []
  answered = 0
  /** Turned away with 503 for want of time. */
  turnedAway = 0
  /** Answers that should not have been, the first few of them. */
  readonly unexpected: string[] = []
  readonly #url: string
  readonly #sizes: Sizes
  readonly #key: () => string
  readonly #pause: number
  readonly #running: readonly Promise<void>[]
  #stopping = false

  /** @param rate requests a second, of all together, where answers take no time */
  constructor(
    url: string,
    { callers, rate, sizes, key }: { callers: number; rate: number; sizes: Sizes; key: () => string },
  ) {
    this.#url = url
    this.#sizes = sizes
    this.#key = key
    this.#pause = (callers / rate) * 1000
    this.#running = Array.from({ length: callers }, () => this.#comeAndGo())
  }

  /** The times of the answers since the last call. */
  take(): number[] {
    const times = this.#times
    this.#times = []
    return times
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#running)
  }

  async #comeAndGo(): Promise<void> {
    while (!this.#stopping) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const known = new Map<string, string>()
      for (let left = 1 + draw(200); left > 0 && !this.#stopping; left--) {
        await sleep(Math.random() * 2 * this.#pause)
        await this.#ask(agent, this.#choose(known), known)
      }
      agent.destroy()
    }
  }

  async #ask(agent: Agent, question: Question, known: Map<string, string>): Promise<void> {
    const begun = performance.now()
    try {
      const { status, etag } = await ask(this.#url, agent, question)
      if (question.leaves) return
      this.#times.push(performance.now() - begun)
      this.answered++
      if (status === 503) this.turnedAway++
      else if (!question.expected.includes(status)) this.#note(`${question.path}: ${status}`)
      // A record that imports take away is not asked for again: 410 would be right as well.
      const stays = !question.expected.includes(410)
      if (etag !== undefined && stays && known.size < 50) known.set(question.path, etag)
    } catch (error) {
      this.#note(`${question.path}: ${error}`)
    }
  }

  #note(text: string): void {
    if (this.unexpected.length < 20) this.unexpected.push(text)
  }

  #choose(known: ReadonlyMap<string, string>): Question {
    const headers = {
      'x-api-key': this.#key(),
      eid: EID,
      'accept-encoding': ['identity', 'gzip', 'br'][draw(3)] ?? '',
    }
    const results = `/v1/submissions/${tokenOf(draw(this.#sizes.submissions))}/validation-results`
    const kind = draw(100)
    if (kind < 24) return { path: this.#catalogue(), headers, expected: [200] }
    if (kind < 38) return { headers, ...this.#find() }
    if (kind < 48) {
      const [path = '/v1/occupations', etag = ''] = [...known][draw(Math.max(1, known.size))] ?? []
      return { path, headers: { ...headers, 'if-none-match': etag }, expected: [200, 304] }
    }
    if (kind < 58) {
      const after = new Date(Date.now() - draw(600_000)).toISOString()
      return { path: `/v1/occupations?Filter.LastUpdatedAfter=${after}`, headers, expected: [200] }
    }
    if (kind < 82) {
      const pageSize = [20, 100, 1000][draw(3)] ?? 100
      const page = 1 + draw(Math.max(1, Math.floor(this.#sizes.findings / pageSize)))
      return { path: `${results}?page=${page}&pageSize=${pageSize}`, headers, expected: [200] }
    }
    if (kind < 84) return { path: `${results}?page=1000000`, headers, expected: [400] }
    if (kind < 86) return { path: results.replace('soak', 'other'), headers, expected: [401] }
    if (kind < 88) return { path: results, headers: { ...headers, eid: '2002' }, expected: [401] }
    if (kind < 91) return { path: results, headers: { 'x-api-key': 'wrong', eid: EID }, expected: [401] }
    if (kind < 94) return { path: '/v1/occupations?Limit=0', headers, expected: [400] }
    if (kind < 95) return { path: `/nowhere/${draw(1_000_000)}`, headers, expected: [404] }
    if (kind < 96) return { path: '/v9/occupations', headers, expected: [400] }
    if (kind < 97) return { path: '/openapi.json', headers, expected: [200] }
    if (kind < 98) return { path: '/readyz', headers, expected: [200] }
    return { path: `${results}?pageSize=1000`, headers, expected: [200], leaves: true }
  }

  /** Search, look-up and changes. */
  #find(): Omit<Question, 'headers'> {
    const index = draw(this.#sizes.records)
    const words = QUERIES[draw(QUERIES.length)] ?? ''
    const found = (path: string) => ({ path, expected: [200] })
    switch (draw(7)) {
      case 0:
      case 1:
        return found(`/v1/occupations/search?q=${encodeURIComponent(words)}`)
      case 2:
        return found(`/v1/occupations/suggestions?q=${encodeURIComponent(words.slice(0, 5))}`)
      case 3:
        // Imports take the last of each hundred away and bring it back.
        return {
          path: `/v1/occupations/O${String(index).padStart(7, '0')}`,
          expected: index % 100 === 99 ? [200, 410] : [200],
        }
      case 4:
        return found('/v1/occupation-groups')
      case 5:
        return found('/v1/occupations/changes?Limit=20')
      default:
        return { path: '/v1/codings', expected: [200], body: { items: [{ title: words }] } }
    }
  }

  #catalogue(): string {
    const parameters = [`Limit=${[1, 20, 100][draw(3)]}`]
    if (draw(2) === 0) parameters.push(`Cursor=O${String(draw(this.#sizes.records)).padStart(7, '0')}`)
    if (draw(3) === 0) parameters.push(`Filter.MinorGroupCode=${100 + draw(MINOR_GROUPS)}`)
    if (draw(3) === 0) parameters.push(`Filter.MajorGroupCode=${draw(10)}`)
    return `/v1/occupations?${parameters.join('&')}`
  }
}

/** A whole number below `bound`. */
function draw(bound: number): number {
  return Math.floor(Math.random() * bound)
}

async function ask(
  url: string,
  agent: Agent,
  { path, headers, body, leaves }: Question,
): Promise<{ status: number; etag: string | undefined }> {
  return await new Promise((resolve, reject) => {
    const posted = body !== undefined && { method: 'POST' }
    const type = body !== undefined && { 'content-type': 'application/json' }
    const options = { ...posted, headers: { ...headers, ...type }, agent }
    const request = send(url + path, options, (response) => {
      const answer = { status: response.statusCode ?? 0, etag: response.headers.etag }
      if (leaves) {
        response.destroy()
        resolve(answer)
        return
      }
      response.resume()
      response.once('error', reject)
      response.once('end', () => resolve(answer))
    })
    request.once('error', reject)
    request.setTimeout(HANGING, () => request.destroy(new Error('there is no answer')))
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
