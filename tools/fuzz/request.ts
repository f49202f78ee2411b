import { readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Random } from '../../test/support/random.ts'
import { ANYWHERE, METHODS, OPERATIONS, type Operation } from './document.ts'
import { damage, listInvalid, makeJson, makeText, makeValid, pick } from './values.ts'
import { EID, FOREIGN_TOKEN, tokensOf, type World } from './world.ts'

/** A request, one character for each byte, and the statuses that its response may have. */
export interface Request {
  readonly operation: Operation
  /** What is wrong with it, for a report. */
  readonly faults: readonly string[]
  readonly method: string
  readonly target: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  readonly statuses: ReadonlySet<number>
}

/** A request that is being made. */
interface Draft {
  readonly operation: Operation
  readonly faults: string[]
  method: string
  path: string
  query: [name: string, value: string][]
  headers: Map<string, string>
  body: string
  statuses: ReadonlySet<number>
}

/** A character for each byte of the UTF-8 of a text. */
const toBytes = (text: string) => Buffer.from(text).toString('latin1')
const encode = (text: string) => encodeURIComponent(text.toWellFormed())

/** The statuses of a request that is refused before its operation is reached. */
const REFUSALS = [401, 405, 406, 414, 417, 431]

/** A fault that is put into a request, and the statuses that it must lead to. */
interface Fault {
  readonly name: string
  readonly statuses: readonly number[]
  /** Whether the fault was possible in this request. */
  apply(request: Draft, random: Random, world: World): boolean
}

const setHeader =
  (name: string, value: string | ((world: World) => string)): Fault['apply'] =>
  ({ headers }, _, world) => {
    headers.set(name, typeof value === 'string' ? value : value(world))
    return true
  }

const addPath: Fault['apply'] = (request) => {
  request.path = `${request.path}/x/y`
  return true
}

/** Each of these faults leads to its status, whatever the rest of the request is. */
const FAULTS: readonly Fault[] = [
  { name: 'no credential', statuses: [401], apply: ({ headers }) => headers.delete('X-API-Key') },
  { name: 'an expired key', statuses: [401], apply: setHeader('X-API-Key', ({ expired }) => expired) },
  { name: 'an unknown key', statuses: [401], apply: setHeader('X-API-Key', 'mahi_0123456789ab_x') },
  {
    name: 'a key without the scope',
    statuses: [401],
    apply: ({ operation, headers }, _, { powerless }) => {
      headers.set('X-API-Key', powerless)
      return operation.scope !== ''
    },
  },
  {
    name: 'a token of another organisation',
    statuses: [401],
    apply: (request) => {
      if (!request.operation.path.includes('{submissionToken}') || request.operation.scope === 'operate')
        return false
      request.path = request.path.replace(/\/submissions\/[^/]+/, `/submissions/${FOREIGN_TOKEN}`)
      return true
    },
  },
  {
    name: 'the EID of another organisation',
    statuses: [401],
    apply: ({ operation, headers }) => {
      headers.set('EID', '2002')
      return operation.scope !== '' && operation.parameters.some(({ name }) => name === 'EID')
    },
  },
  { name: 'an unknown version', statuses: [400], apply: setHeader('x-api-version', '9') },
  {
    name: 'an unknown parameter',
    statuses: [400],
    apply: (request, random) => request.query.push([pick(random, ['x', 'limits', 'toString', 'ā']), '1']) > 0,
  },
  {
    name: 'a repeated parameter',
    statuses: [400],
    apply: ({ query, operation }, random) => {
      const known = operation.parameters.filter((each) => each.in === 'query' && each.schema.type !== 'array')
      const [{ name, schema } = { name: '', schema: {} }] = known.length === 0 ? [] : [pick(random, known)]
      if (name !== '')
        query.push([name, makeValid(random, schema, name)], [name, makeValid(random, schema, name)])
      return name !== ''
    },
  },
  {
    name: 'an invalid parameter',
    statuses: [400],
    apply: (request, random) => {
      const known = request.operation.parameters.filter(
        (each) => each.in === 'query' && listInvalid(each.schema).length > 0,
      )
      if (known.length === 0) return false
      const { name, schema } = pick(random, known)
      request.query = request.query.filter(([other]) => other !== name)
      request.query.push([name, pick(random, listInvalid(schema))])
      return true
    },
  },
  {
    name: 'a method that the path does not support',
    statuses: [405],
    apply: (request, random) => {
      const supported = METHODS.get(request.operation.path) ?? []
      const others = ['POST', 'PUT', 'DELETE', 'PATCH'].filter((method) => !supported.includes(method))
      // A value of a path that ends with a parameter may be a longer fixed path.
      if (others.length === 0 || request.body !== '' || request.operation.path.endsWith('}')) return false
      request.method = pick(random, others)
      return true
    },
  },
  { name: 'a path that leads nowhere', statuses: [404], apply: addPath },
  {
    name: 'a URL that is too long',
    statuses: [414],
    apply: ({ query }) => query.push(['x', 'x'.repeat(9_000)]) > 0,
  },
  {
    name: 'headers that are too large',
    statuses: [431],
    apply: (request) => {
      // A service that has not read the request does not know that it was HEAD.
      if (request.method === 'HEAD') return false
      request.headers.set('X-Large', 'x'.repeat(20_000))
      return true
    },
  },
  { name: 'an unknown expectation', statuses: [417], apply: setHeader('Expect', 'x') },
  {
    name: 'a body of another media type',
    // A path or a header may be refused before.
    statuses: [400, 404, 412, 415],
    apply: ({ operation, headers, body }) => {
      headers.set('Content-Type', 'text/x-none')
      return operation.body !== undefined && body !== ''
    },
  },
  {
    name: 'a body that is no JSON',
    statuses: [400],
    apply: (request) => {
      if (request.operation.body?.['application/json'] === undefined) return false
      request.headers.delete('Content-Encoding')
      request.headers.delete('Transfer-Encoding')
      setBody(request, 'application/json', '{"items":')
      return true
    },
  },
]

const SAMPLES = ['learners', 'courses', 'enrolments'].map((name) =>
  readFileSync(new URL(`../../samples/sdr/faulty/${name}.csv`, import.meta.url), 'utf8').slice(0, 20_000),
)
/** 20 MB of zeros. */
const BOMB = gzipSync(Buffer.alloc(20 * 2 ** 20)).toString('latin1')

function setBody(request: Draft, type: string, body: string): void {
  request.body = body
  request.headers.set('Content-Type', type)
  request.headers.set('Content-Length', `${body.length}`)
}

function addBody(request: Draft, random: Random): void {
  const content = request.operation.body
  if (content === undefined) return
  const type = pick(random, Object.keys(content))
  let body =
    type === 'application/json'
      ? toBytes(JSON.stringify(makeJson(random, content[type]?.schema ?? {}, '', 0.1)))
      : type === 'text/csv'
        ? toBytes(pick(random, [...SAMPLES, '', 'a', 'x\n'.repeat(3_000)]))
        : toBytes(`${JSON.stringify({ localId: makeText(random, 'localId') })}\n`.repeat(random.below(4)))
  if (random.chance(0.3)) body = damage(random, body)
  const bytes = Buffer.from(body, 'latin1')
  const [coding, coded] = random.chance(0.7)
    ? ['', body]
    : pick(random, [
        ['gzip', gzipSync(bytes).toString('latin1')],
        ['gzip', gzipSync(bytes).toString('latin1').slice(0, -5)],
        ['gzip', body],
        ['gzip', BOMB],
        ['br', brotliCompressSync(bytes).toString('latin1')],
        ['x', body],
      ])
  setBody(request, type, coded)
  if (coding !== '') request.headers.set('Content-Encoding', coding)
  if (random.chance(0.8)) return
  request.headers.delete('Content-Length')
  request.headers.set('Transfer-Encoding', 'chunked')
}

/** A request of an operation with which nothing is wrong, as far as its schemas say. */
function begin(random: Random, world: World): Draft {
  const operation = pick(random, OPERATIONS)
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
    name === 'submissionToken'
      ? pick(random, tokensOf(operation.id))
      : encode(makeText(random, name) || 'x').replaceAll('.', '%2E'),
  )
  const query = operation.parameters
    .filter((each) => each.in === 'query' && (each.required || random.chance(0.4)))
    .map(({ name, schema }): [string, string] => [
      name,
      // A text is any text; whether it is a permitted one, the operation says.
      schema.type === 'string' && schema.enum === undefined && random.chance(0.4)
        ? makeText(random, name)
        : makeValid(random, schema, name),
    ])
  const headers = new Map([
    ['Host', 'localhost'],
    ['X-API-Key', operation.scope === 'operate' ? world.operator : world.key],
    ['Accept-Encoding', pick(random, ['identity', 'gzip', 'br', '*'])],
  ])
  if (operation.parameters.some(({ name }) => name === 'EID')) headers.set('EID', EID)
  for (const { name, in: place } of operation.parameters)
    if (place === 'header' && name !== 'EID' && name !== 'x-api-version' && random.chance(0.1))
      headers.set(
        name,
        toBytes(makeText(random, name))
          .replace(/[^\x20-\x7e\x80-\xff]/g, '.')
          .trim() || '.',
      )
  const { method } = operation
  const statuses = new Set(
    [...operation.statuses, ...ANYWHERE].filter((status) => !REFUSALS.includes(status)),
  )
  statuses.delete(500)
  // A hostile path may lead to no operation, and a hostile token to no submission.
  statuses.add(404)
  const request: Draft = { operation, faults: [], method, path, query, headers, body: '', statuses }
  addBody(request, random)
  return request
}

/** A request of any operation: half of them have one fault, and some several. */
export function makeRequest(random: Random, world: World): Request {
  const request = begin(random, world)
  if (request.method === 'GET' && random.chance(0.1)) request.method = 'HEAD'
  const expected = new Set<number>()
  for (let more = random.chance(0.6); more; more = random.chance(0.2)) {
    const fault = pick(random, FAULTS)
    if (request.faults.includes(fault.name) || !fault.apply(request, random, world)) continue
    request.faults.push(fault.name)
    for (const status of fault.statuses) expected.add(status)
  }
  const { operation, faults, method, path, query, headers, body } = request
  const search = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  const target = search === '' ? path : `${path}?${search}`
  const statuses = expected.size > 0 ? expected : request.statuses
  return { operation, faults, method, target, headers, body, statuses }
}
