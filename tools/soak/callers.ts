import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { MINOR_GROUPS } from '../../bench/data.ts'
import { codeOf, EID } from '../../bench/mahi.ts'
import { type Sizes, tokenOf } from './changes.ts'

const QUERIES = ['manage records', 'kaiako', 'techers', 'plan local budgets', 'zzz', 'train animals daily']

interface Question {
  readonly path: string
  readonly expected: readonly number[]
  readonly headers?: Readonly<Record<string, string>>
  /** Sent by POST, as JSON. */
  readonly body?: unknown
  /** Leaves once the response has begun. */
  readonly leaves?: boolean
}

const draw = (bound: number) => Math.floor(Math.random() * bound)
const ok = (path: string): Question => ({ path, expected: [200] })

/** Questions by their weight; the sizes say which records, submissions and findings exist. */
const QUESTIONS: readonly (readonly [number, (sizes: Sizes) => Question])[] = [
  [12, ({ records }) => ok(`/v1/occupations?Limit=${[1, 20, 100][draw(3)]}&Cursor=${codeOf(draw(records))}`)],
  [
    12,
    () =>
      ok(
        `/v1/occupations?Filter.MinorGroupCode=${100 + draw(MINOR_GROUPS)}&Filter.MajorGroupCode=${draw(10)}`,
      ),
  ],
  [
    10,
    () => ok(`/v1/occupations?Filter.LastUpdatedAfter=${new Date(Date.now() - draw(600_000)).toISOString()}`),
  ],
  [4, () => ok(`/v1/occupations/search?q=${encodeURIComponent(QUERIES[draw(QUERIES.length)] ?? '')}`)],
  [2, () => ok(`/v1/occupations/suggestions?q=${(QUERIES[draw(QUERIES.length)] ?? '').slice(0, 4)}`)],
  [2, () => ok('/v1/occupation-groups')],
  [2, () => ok('/v1/occupations/changes?Limit=20')],
  [2, () => ({ ...ok('/v1/codings'), body: { items: [{ title: QUERIES[draw(QUERIES.length)] }] } })],
  // Imports take the last of each hundred away and bring it back.
  [2, ({ records }) => ({ path: `/v1/occupations/${codeOf(draw(records))}`, expected: [200, 410] })],
  [24, (sizes) => ok(`${resultsOf(sizes)}?page=${1 + draw(sizes.findings / 1000)}&pageSize=1000`)],
  [2, (sizes) => ({ ...ok(`${resultsOf(sizes)}?pageSize=1000`), leaves: true })],
  [2, (sizes) => ({ path: `${resultsOf(sizes)}?page=1000000`, expected: [400] })],
  [2, () => ({ path: '/v1/submissions/other/validation-results', expected: [401] })],
  [2, (sizes) => ({ path: resultsOf(sizes), headers: { eid: '2002' }, expected: [401] })],
  [3, (sizes) => ({ path: resultsOf(sizes), headers: { 'x-api-key': 'wrong' }, expected: [401] })],
  [3, () => ({ path: '/v1/occupations?Limit=0', expected: [400] })],
  [1, () => ({ path: `/nowhere/${draw(1_000_000)}`, expected: [404] })],
  [1, () => ({ path: '/v9/occupations', expected: [400] })],
  [2, () => ok('/openapi.json')],
  [1, () => ok('/readyz')],
]
const TOTAL = QUESTIONS.reduce((sum, [weight]) => sum + weight, 0)

const resultsOf = ({ submissions }: Sizes) =>
  `/v1/submissions/${tokenOf(draw(submissions))}/validation-results`

function choose(sizes: Sizes): Question {
  let left = draw(TOTAL)
  for (const [weight, make] of QUESTIONS) {
    if (left < weight) return make(sizes)
    left -= weight
  }
  throw new Error('there is nothing to ask')
}

/** Callers who come, ask some questions of every kind and go. */
export class Callers {
  #times: number[] = []
  responses = 0
  /** Turned away with 503. */
  turnedAway = 0
  /** Responses that should not have been, the first few of them. */
  readonly unexpected: string[] = []
  readonly #running: readonly Promise<void>[]
  readonly #agent = new Agent({ keepAlive: true })
  #stopping = false

  /** @param rate requests a second of all together, if responses take no time */
  constructor(
    url: string,
    { callers, rate, sizes, key }: { callers: number; rate: number; sizes: Sizes; key: () => string },
  ) {
    const comeAndGo = async () => {
      while (!this.#stopping) {
        const etags = new Map<string, string>()
        for (let left = 1 + draw(200); left > 0 && !this.#stopping; left--) {
          await sleep((Math.random() * 2_000 * callers) / rate)
          const question = choose(sizes)
          const headers = { 'x-api-key': key(), eid: EID, ...question.headers }
          await this.#ask(url, { ...question, headers }, etags)
        }
      }
    }
    this.#running = Array.from({ length: callers }, comeAndGo)
  }

  /** The times of the responses since the last call, in milliseconds. */
  take(): number[] {
    const times = this.#times
    this.#times = []
    return times
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#running)
    this.#agent.destroy()
  }

  async #ask(url: string, question: Question, etags: Map<string, string>): Promise<void> {
    const { path, headers, expected, body, leaves } = question
    const begun = performance.now()
    try {
      const known = etags.get(path)
      const conditional = known !== undefined && { 'if-none-match': known }
      const encoding = ['identity', 'gzip', 'br'][draw(3)] ?? ''
      const method = body === undefined ? 'GET' : 'POST'
      const type = body !== undefined && { 'content-type': 'application/json' }
      const all = { ...headers, 'accept-encoding': encoding, ...conditional, ...type }
      const sent = request(url + path, { agent: this.#agent, method, headers: all })
      sent.end(body === undefined ? undefined : JSON.stringify(body))
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      if (leaves) {
        response.destroy()
        return
      }
      await buffer(response)
      const { statusCode: status = 0 } = response
      const { etag } = response.headers
      this.#times.push(performance.now() - begun)
      this.responses++
      if (etag !== undefined && expected.includes(200)) etags.set(path, etag)
      if (status === 503) this.turnedAway++
      else if (!expected.includes(status) && !(status === 304 && known !== undefined))
        this.#note(`${path}: ${status}`)
    } catch (error) {
      this.#note(`${path}: ${error}`)
    }
  }

  #note(text: string): void {
    if (this.unexpected.length < 20) this.unexpected.push(text)
  }
}
