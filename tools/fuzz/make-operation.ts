import { readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { ANYWHERE } from '../../src/api/contract/describe.ts'
import { PROBLEMS } from '../../src/api/contract/problems.ts'
import type { Case } from './case.ts'
import { DELETED_TOKENS, KNOWN, OPEN_TOKENS } from './data.ts'
import { mutate } from './make-delivery.ts'
import { HEADER_CHANGES } from './make-headers.ts'
import { setQuery, valueFor } from './make-request.ts'
import { ALL_OPERATIONS, type BodySchema, type Operation } from './operations.ts'
import type { Random } from './random.ts'
import { plainRequest, type Request, setHeader, write } from './request.ts'
import { NEAR, TEXTS } from './texts.ts'
import { encode, toBytes } from './values.ts'
import { place, type World } from './world.ts'

/** What any operation may answer, besides what is described for it alone: no 500. A path may lead to none. */
const SHARED = [404, ...ANYWHERE.map((slug) => PROBLEMS[slug].status).filter((status) => status !== 500)]

/**
 * A request of any operation, with any of its parameters, headers and bodies. What it must be answered is not known
 * in advance: it must be something that openapi.json describes, and never a failure of the service.
 */
export function makeOperation(random: Random, world: World): Case {
  const operation = random.pick(ALL_OPERATIONS)
  const request = plainRequest(operation, world.data)
  request.method = operation.method === 'GET' && random.chance(0.1) ? 'HEAD' : operation.method
  place(request, fillPath(random, operation))
  const query = operation.parameters.filter((parameter) => parameter.in === 'query')
  setQuery(
    request,
    query.filter(() => random.chance(0.4)).map((each) => [each.name, valueFor(random, each).raw] as const),
  )
  for (const { name } of operation.parameters.filter((parameter) => parameter.in === 'header'))
    if (name !== 'EID' && random.chance(0.15)) setHeader(request, name, headerValue(random, name))
  if (operation.body !== undefined) addBody(random, request, operation.body)
  if (random.chance(0.25)) random.pick(HEADER_CHANGES)(request, random, world)
  // To HTTP/1.0 a stream has no length: it ends with the connection, and another request cannot follow it.
  if (request.version === '1.0') return makeOperation(random, world)
  const statuses = [...new Set([...operation.statuses, ...SHARED])]
  return {
    kind: 'operations',
    what: `${request.method} ${operation.id}`,
    steps: [{ send: write(request) }],
    expected: [
      {
        method: request.method,
        statuses,
        path: operation.path,
        ...(operation.method !== 'GET' && { described: operation.method }),
        continues: true,
      },
    ],
    ends: undefined,
    // A body that is refused unread ends the connection.
    alone: request.body !== '' || request.malformed !== 'no',
  }
}

function fillPath(random: Random, { id, path }: Operation): string {
  return path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    if (name === 'submissionToken') return makeToken(random, id)
    const value = hostileOrKnown(random, name)
    return value === ''
      ? 'x'
      : encode(random, value).replaceAll('/', '%2F').replaceAll('+', '%20').replaceAll('?', '%3F')
  })
}

/** Requests that end a submission have tokens of their own, so that the others find something. */
function makeToken(random: Random, id: string): string {
  if (random.chance(0.1)) return encodeURIComponent(random.pick(TEXTS).toWellFormed() || 'x')
  if (random.chance(0.1)) return random.pick(['fuzz-other', 'fuzz-gone', DELETED_TOKENS[0] ?? ''])
  return random.pick(id === 'deleteSubmission' ? DELETED_TOKENS : OPEN_TOKENS)
}

function hostileOrKnown(random: Random, name: string): string {
  const known = KNOWN[name] ?? ['x', '1']
  return random
    .weigh([
      [6, () => random.pick(known)],
      [1, () => random.pick(NEAR)(random.pick(known))],
      [1, () => random.pick(TEXTS)],
    ])()
    .toWellFormed()
}

function headerValue(random: Random, name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  return toBytes(hostileOrKnown(random, name)).replace(/[\u0000-\u001f\u007f]/g, '.')
}

const SAMPLES = new Map(
  ['learners', 'courses', 'enrolments', 'course-completions'].map((name) => [
    name,
    readFileSync(new URL(`../../samples/sdr/faulty/${name}.csv`, import.meta.url), 'utf8').slice(0, 20_000),
  ]),
)

const TYPES = [
  'application/json',
  'text/csv',
  'application/x-ndjson',
  'text/plain',
  'multipart/form-data',
  '',
  ';;;',
  '*/*',
]
const CHARSETS = [
  '',
  '',
  '',
  '; charset=utf-8',
  '; charset=utf-16',
  '; charset="UTF-8"',
  ';',
  '; header=present',
]

function addBody(random: Random, request: Request, content: NonNullable<Operation['body']>): void {
  const type = random.pick(Object.keys(content))
  const given = random.chance(0.85) ? type : random.pick(TYPES)
  setHeader(request, 'Content-Type', given + random.pick(CHARSETS))
  let body = makeBody(random, type, content[type]?.schema ?? {})
  if (random.chance(0.3)) body = mutate(random, body)
  body = compress(random, request, body)
  if (random.chance(0.2)) {
    const parts = body.match(/.{1,5000}/gs) ?? []
    request.body = [...parts, ''].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
    setHeader(request, 'Transfer-Encoding', 'chunked')
  } else {
    request.body = body
    setHeader(request, 'Content-Length', `${body.length}`)
  }
}

function makeBody(random: Random, type: string, schema: BodySchema): string {
  if (type === 'application/json') {
    const value = random.chance(0.25) ? random.pick(ODD_VALUES) : makeJson(random, schema, '', 0.1)
    return toBytes(JSON.stringify(value))
  }
  if (type === 'text/csv') return toBytes(random.pick([...SAMPLES.values(), '', 'a', 'x\n'.repeat(3000)]))
  const line = JSON.stringify({
    localId: hostileOrKnown(random, 'localId'),
    eid: EID_LIKE,
    x: random.pick(ODD_VALUES),
  })
  // Of a larger body that is refused unread, a busy machine may lose the response: the connection is reset.
  return toBytes(`${line}\n`.repeat(Math.min(random.pick([0, 1, 3, 500]), Math.ceil(100_000 / line.length))))
}

const EID_LIKE = '1001'
const deep = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
const ODD_VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, '', ' ', [], {}, [[]], [null], deep(500), 'x'.repeat(50_000)],
  ...[{ __proto__: 1 }, JSON.parse('{"__proto__":{"a":1},"constructor":{}}'), { content: 1 }, { items: {} }],
  ...[{ content: [1, null, [], { localId: 7 }] }, { items: [null, 3, 'x', { title: 1 }] }, { returnId: [] }],
  { items: Array.from({ length: 301 }, () => ({ title: 'x' })) },
  { content: Array.from({ length: 3000 }, (_, index) => ({ localId: `${index}` })) },
]

/** A value of a schema; with a probability, each part of it is another one. */
function makeJson(random: Random, schema: BodySchema, name: string, odd: number): unknown {
  if (random.chance(odd)) return random.pick(ODD_VALUES)
  if (schema.enum !== undefined) return random.pick(schema.enum)
  if (schema.type === 'array') {
    const count = random.pick([0, 1, 1, 2, 5, 30])
    return Array.from({ length: count }, () => makeJson(random, schema.items ?? {}, name, odd / 3))
  }
  if (schema.type !== 'object') return hostileOrKnown(random, name)
  const fields = Object.entries(schema.properties ?? {})
    .filter(([field]) => schema.required?.includes(field) === true || random.chance(0.4))
    .map(([field, value]) => [field, makeJson(random, value, field, odd / 3)])
  if (schema.additionalProperties === true || random.chance(0.05))
    fields.push([random.pick(['NSN', 'toString', 'x', '', 'ā']), random.pick(ODD_VALUES)])
  return Object.fromEntries(fields)
}

/** 20 MB of zeros. */
const BOMB = gzipSync(Buffer.alloc(20 * 2 ** 20)).toString('latin1')

function compress(random: Random, request: Request, body: string): string {
  const bytes = Buffer.from(body, 'latin1')
  const [coding, coded] = random.weigh<readonly [string | undefined, () => string]>([
    [14, [undefined, () => body]],
    [3, ['gzip', () => gzipSync(bytes).toString('latin1')]],
    [1, ['gzip', () => body]],
    [1, ['gzip', () => gzipSync(bytes).toString('latin1').slice(0, -5)]],
    [1, ['br', () => brotliCompressSync(bytes).toString('latin1')]],
    [1, [random.pick(['x', 'gzip, gzip', 'deflate', 'identity']), () => body]],
  ])
  if (coding !== undefined) setHeader(request, 'Content-Encoding', coding)
  return coding === 'gzip' && random.chance(0.03) ? BOMB : coded()
}
