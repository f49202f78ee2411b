import type { Agent } from 'node:http'
import type { Place } from '../../bench/empty-database.ts'
import { Random } from '../../test/support/random.ts'
import { MahiProcess } from '../mahi-process.ts'
import { assertAnswer } from './oracle.ts'
import { makeRequest, type Request } from './request.ts'
import { type Answer, ask, makeAgent } from './wire.ts'
import { fill, type World } from './world.ts'

interface FuzzOptions {
  readonly place: Place
  readonly seed: number
  readonly requests: number
  /** The one case to try. */
  readonly only?: number
}

/** Requests at a time. */
const CONNECTIONS = 16
const MOST_FAILURES = 50
/** Bytes of a request or a response that are printed; `--only` makes the whole request again. */
const MOST_SHOWN = 1_500

const LIMITS = ['OCCUPATIONS', 'RESULTS', 'SUBMISSIONS', 'FAILED_CREDENTIALS', 'ORGANISATION', 'CODINGS']

/** Lines of a log in which nothing is wrong: of credentials that were refused, and of suspensions. */
const AUDIT = /^\{"level":"warn","time":"[^"]+","audit":"/

/** Fills an empty database, starts a service on it, and sends it hostile requests. */
export async function fuzz({ place, seed, requests, only }: FuzzOptions) {
  const world = await fill(place.commandUrl)
  const limits = LIMITS.map((name) => [`RATE_LIMIT_${name}`, 'off'])
  const service = await MahiProcess.start('serve', {
    environment: { DATABASE_URL: place.serverUrl, WORKERS: '1', ...Object.fromEntries(limits) },
  })
  const fuzzing = new Fuzzing(service.port, world)
  const { failures } = fuzzing
  let next = only ?? 0
  const end = only === undefined ? requests : only + 1
  const work = async () => {
    while (next < end && failures.length < MOST_FAILURES) {
      const index = next++
      // The case of a number is the same for the same seed.
      const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
      await fuzzing.try(random, `--seed ${seed} --only ${index}`)
      if (!service.alive) throw new Error(`${service.fault} (case ${index}, seed ${seed})`)
    }
  }
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, work))
    const ready = await fetch(`${service.url}/readyz`)
    if (ready.status !== 200) failures.push(`/readyz is ${ready.status}`)
    failures.push(...service.warnings.filter((line) => !AUDIT.test(line)).slice(0, 5))
  } finally {
    const status = await service.stop()
    if (status !== 0) failures.push(`the service stopped with ${status}`)
    fuzzing.agent.destroy()
  }
  return { responses: fuzzing.responses, failures }
}

class Fuzzing {
  readonly agent: Agent = makeAgent(CONNECTIONS)
  readonly responses = new Map<number, number>()
  readonly failures: string[] = []
  readonly #port: number
  readonly #world: World

  constructor(port: number, world: World) {
    this.#port = port
    this.#world = world
  }

  async try(random: Random, name: string): Promise<void> {
    const request = makeRequest(random, this.#world)
    const { method, target, operation, faults } = request
    let answer: Answer | undefined
    try {
      answer = await ask(this.#port, this.agent, request)
      this.#assert(request, answer)
      // The catalogue does not change meanwhile.
      if (method === 'GET' && answer.status === 200 && /^\/v1\/occupation[^?]*(?:\?|$)/.test(target))
        await this.#repeat(request, answer)
    } catch (error) {
      const sent = `${method} ${target} ${JSON.stringify([...request.headers])} ${request.body}`
      const came = answer === undefined ? 'nothing' : `${answer.status} ${answer.head} ${answer.body}`
      const what = [operation.id, ...faults].join(' with ')
      const shown = [sent, came].map((text) => JSON.stringify(text.slice(0, MOST_SHOWN)))
      this.failures.push(`${name}: ${what}: ${(error as Error).message}\n  sent ${shown.join('\n  came ')}`)
    }
  }

  #assert({ method, statuses, operation }: Request, answer: Answer): void {
    this.responses.set(answer.status, (this.responses.get(answer.status) ?? 0) + 1)
    const described = method === operation.method || method === 'HEAD'
    const path = described ? { path: operation.path } : {}
    const secrets = Object.values(this.#world)
    assertAnswer(answer, { method, statuses, ...path, secrets })
  }

  /** The same request with the ETag of its response must be a 304, and as HEAD the same without the body. */
  async #repeat(request: Request, { headers }: Answer): Promise<void> {
    const { etag } = headers
    if (etag === undefined || request.target.includes('/search') || request.target.includes('/suggestions'))
      return
    const send = async (changed: Request) => {
      const answer = await ask(this.#port, this.agent, changed)
      this.#assert(changed, answer)
      return answer
    }
    const known = new Map([...request.headers, ['If-None-Match', etag]])
    const found = await send({ ...request, headers: known, statuses: new Set([304]) })
    if (found.status === 304 && found.headers.etag !== etag) throw new Error('the 304 has another ETag')
    const head = await send({ ...request, method: 'HEAD', statuses: new Set([200]) })
    // A file that is compressed meanwhile is sent in another coding.
    if (head.status !== 200 || head.headers['content-encoding'] !== headers['content-encoding']) return
    for (const name of ['etag', 'content-length', 'content-type'])
      if (head.headers[name] !== headers[name])
        throw new Error(`HEAD has another ${name}: ${head.headers[name]}, not ${headers[name]}`)
  }
}
