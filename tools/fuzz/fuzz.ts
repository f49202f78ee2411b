import type { Place } from '../../bench/empty-database.ts'
import { Random } from '../../test/support/random.ts'
import { MahiProcess } from '../mahi-process.ts'
import { assertAnswer, type Expected } from './oracle.ts'
import { BROKEN, makeRequest, write } from './request.ts'
import { pick } from './values.ts'
import { type Answer, Wire } from './wire.ts'
import { fill, type World } from './world.ts'

export interface FuzzOptions {
  readonly place: Place
  readonly seed: number
  readonly requests: number
  /** Whether the service has rate limits and a public catalogue. */
  readonly limited: boolean
  /** The one case to try. */
  readonly only?: number
}

/** Connections that are used at a time. */
const CONNECTIONS = 16
const MOST_FAILURES = 50

const LIMITS = ['OCCUPATIONS', 'RESULTS', 'SUBMISSIONS', 'FAILED_CREDENTIALS', 'ORGANISATION', 'CODINGS']
const settings = (limited: boolean) =>
  Object.fromEntries([
    ...LIMITS.map((name) => [`RATE_LIMIT_${name}`, limited ? '100/2' : 'off']),
    // Requests that are turned away because the machine is busy would hide their responses.
    ['OVERLOAD_DELAY_MS', '0'],
  ]) as Record<string, string>

/** Lines of a log in which nothing is wrong: of credentials that were refused, and of suspensions. */
const AUDIT = /^\{"level":"warn","time":"[^"]+","audit":"/

interface Case {
  readonly what: string
  readonly bytes: string
  readonly expected: Expected
  /** Whether the connection is used for nothing else. */
  readonly alone: boolean
  /** Whether a repetition with the ETag of the response is a 304. */
  readonly repeats: boolean
}

/** The case of a number: the same for the same seed. */
function makeCase(seed: number, index: number, world: World, limited: boolean): Case {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
  const secrets = Object.values(world)
  if (random.chance(0.05)) {
    const [bytes, statuses] = pick(random, BROKEN)
    const expected = { method: 'GET', statuses: new Set(statuses), limited, secrets }
    return { what: 'broken HTTP', bytes, expected, alone: true, repeats: false }
  }
  const request = makeRequest(random, world)
  const { method, statuses, faults, operation, body } = request
  const described = method === operation.method || method === 'HEAD'
  return {
    what: `${method} ${operation.id}${faults.length === 0 ? '' : ` with ${faults.join(' and ')}`}`,
    bytes: write(request),
    expected: { method, statuses, limited, secrets, ...(described && { path: operation.path }) },
    // A body that is refused unread ends the connection.
    alone: body !== '',
    repeats: method === 'GET' && operation.id.includes('ccupation') && !operation.id.startsWith('search'),
  }
}

export interface FuzzReport {
  readonly responses: ReadonlyMap<number, number>
  readonly failures: readonly string[]
}

/** Fills an empty database, starts a service on it, and sends it hostile requests. */
export async function fuzz({ place, seed, requests, limited, only }: FuzzOptions): Promise<FuzzReport> {
  const world = await fill(place.commandUrl)
  const service = await MahiProcess.start('serve', {
    environment: { DATABASE_URL: place.serverUrl, ...settings(limited) },
  })
  const responses = new Map<number, number>()
  const failures: string[] = []
  let next = only ?? 0
  const end = only === undefined ? requests : only + 1
  const work = async () => {
    let wire: Wire | undefined
    while (next < end && failures.length < MOST_FAILURES) {
      const index = next++
      const each = makeCase(seed, index, world, limited)
      if (each.alone || wire?.isSpent === true) {
        wire?.destroy()
        wire = undefined
      }
      let answer: Answer | undefined
      try {
        wire ??= await Wire.open(service.port)
        answer = await exchange(wire, each)
        responses.set(answer.status, (responses.get(answer.status) ?? 0) + 1)
        if (each.repeats && answer.status === 200) await repeat(wire, each, answer)
      } catch (error) {
        failures.push(describe(each, index, seed, answer, (error as Error).message))
        wire?.destroy()
        wire = undefined
      }
      if (!service.alive) throw new Error(`${service.fault} (case ${index}, seed ${seed})`)
      if (!each.alone && answer?.headers.connection !== 'close') continue
      wire?.destroy()
      wire = undefined
    }
    wire?.destroy()
  }
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, work))
    const ready = await fetch(`${service.url}/readyz`)
    if (ready.status !== 200) failures.push(`/readyz is ${ready.status}`)
    failures.push(...service.warnings.filter((line) => !AUDIT.test(line)).slice(0, 5))
  } finally {
    const status = await service.stop()
    if (status !== 0) failures.push(`the service stopped with ${status}`)
  }
  return { responses, failures }
}

async function exchange(wire: Wire, { bytes, expected }: Case): Promise<Answer> {
  void wire.send(bytes)
  let answer = await wire.read(expected.method === 'HEAD')
  if (answer?.status === 100) answer = await wire.read(expected.method === 'HEAD')
  if (answer === undefined) throw new Error('the connection ended without a response')
  assertAnswer(answer, expected)
  return answer
}

/** The same request with the ETag of its response must be a 304, and as HEAD the same without the body. */
async function repeat(wire: Wire, each: Case, { headers }: Answer): Promise<void> {
  const { etag } = headers
  if (etag === undefined || headers.connection === 'close') return
  const statuses = new Set([304])
  const conditional = each.bytes.replace('\r\n\r\n', `\r\nIf-None-Match: ${etag}\r\n\r\n`)
  const found = await exchange(wire, {
    ...each,
    bytes: conditional,
    expected: { ...each.expected, statuses },
  })
  if (found.status === 304 && found.headers.etag !== etag) throw new Error('the 304 has another ETag')
  const expected = { ...each.expected, method: 'HEAD', statuses: new Set([200]) }
  const head = await exchange(wire, { ...each, bytes: each.bytes.replace('GET', 'HEAD'), expected })
  // A file that is compressed meanwhile is sent in another coding.
  if (head.headers['content-encoding'] !== headers['content-encoding']) return
  for (const name of ['etag', 'content-length', 'content-type'])
    if (head.status === 200 && head.headers[name] !== headers[name])
      throw new Error(`HEAD has another ${name}: ${head.headers[name]}, not ${headers[name]}`)
}

/** Bytes of a request or a response that are printed; `--only` makes the whole request again. */
const MOST_SHOWN = 1_500

function describe(each: Case, index: number, seed: number, answer: Answer | undefined, why: string): string {
  const quote = (bytes: string) => JSON.stringify(bytes.slice(0, MOST_SHOWN))
  const came =
    answer === undefined ? 'nothing' : quote(`${answer.head}\r\n\r\n${answer.body.toString('utf8')}`)
  return `--seed ${seed} --only ${index}: ${each.what}: ${why}\n  sent ${quote(each.bytes)}\n  came ${came}`
}
