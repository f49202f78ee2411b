import { METHODS } from 'node:http'
import { PROBLEMS } from '../../src/http/problems.ts'
import { type Data, KNOWN } from './data.ts'
import { HEADER_CHANGES } from './make-headers.ts'
import { OPERATIONS, type Parameter } from './operations.ts'
import type { Random } from './random.ts'
import { type Holds, otherRequest, plainRequest, type Request, setHeader } from './request.ts'
import { TEXTS } from './texts.ts'
import { breakEncoding, encode, type Meaning, makeValue, toBytes, type Value } from './values.ts'

/** What the maker of a request knows. */
export interface World {
  readonly data: Data
  /** The ETag of each operation's first page, by its id. */
  readonly etags: ReadonlyMap<string, string>
}

export type Change = (request: Request, random: Random, world: World) => void

/** Kinds of requests that are whole HTTP, however wrong in themselves. */
export const REQUEST_KINDS = {
  'parameter values': makeParameters,
  'parameter names': makeNames,
  addresses: makeAddress,
  headers: makeHeaders,
  methods: makeMethods,
  'other addresses': makeOther,
} satisfies Record<string, (random: Random, world: World) => Request>

function begin(random: Random, { data }: World): Request {
  const request = plainRequest(random.pick(OPERATIONS), data)
  const { operation } = request
  if (operation?.parameters.some((parameter) => parameter.in === 'path')) {
    request.token = random.pick(['fuzz-none', 'fuzz-few', 'fuzz-few', 'fuzz-many', 'fuzz-many'])
    place(request, operation.path.replace('{submissionToken}', request.token))
  }
  return request
}

function place(request: Request, address: string): void {
  request.target = address
  request.routed = address
}

function queryParameters({ operation }: Request): readonly Parameter[] {
  return (operation?.parameters ?? []).filter((parameter) => parameter.in === 'query')
}

type Pair = readonly [name: string, value: string | undefined]

function setQuery(request: Request, pairs: readonly Pair[]): void {
  if (pairs.length === 0) return
  const query = pairs.map(([name, value]) => (value === undefined ? name : `${name}=${value}`)).join('&')
  request.target += `?${query}`
  request.routed += `?${query}`
}

function valueFor(random: Random, { name, schema }: Parameter): Value {
  return makeValue(random, schema, KNOWN[name] ?? ['x'])
}

/** A value that is taken. */
function goodValueFor(random: Random, parameter: Parameter): Value {
  for (;;) {
    const value = valueFor(random, parameter)
    if (value.meaning.as === 'value') return value
  }
}

function makeParameters(random: Random, world: World): Request {
  const request = begin(random, world)
  const parameters = queryParameters(request)
  const chosen = parameters.filter(() => random.chance(0.4))
  if (chosen.length === 0) chosen.push(random.pick(parameters))
  // One hostile value among good ones shows more than several.
  const focus = random.chance(0.7) ? random.pick(chosen) : undefined
  const reading = new Map<string, Meaning>()
  const pairs = chosen.map((parameter): Pair => {
    const hostile = focus === undefined || focus === parameter
    const { raw, meaning } = hostile ? valueFor(random, parameter) : goodValueFor(random, parameter)
    reading.set(parameter.name, meaning)
    return [parameter.name, raw]
  })
  request.reading = reading
  setQuery(request, random.chance(0.5) ? pairs : pairs.reverse())
  return request
}

/** Names that are no parameter, each nearly one. */
const NAME_ENDINGS = [
  '%00',
  '+',
  '%20',
  '[]',
  '[0]',
  '%C2%A0',
  '.',
  '%E2%80%8B',
  "'",
  '%5B%5D',
  '%FF',
  '\xe9',
  '%zz',
  ':',
  '2',
  '%',
]
const NO_NAMES = [
  '',
  '%00',
  '__proto__',
  'constructor',
  'toString',
  'L%D1%96mit',
  '%CE%9Cage',
  'page%C5%BFize',
  'limit[gt]',
  'Filter',
  'Filter.',
  '_',
  'callback',
  'api_key',
  '%F0%9F%98%80',
  '%',
  'a'.repeat(200),
]

function makeNames(random: Random, world: World): Request {
  const request = begin(random, world)
  const parameter = random.pick(queryParameters(request))
  const { raw, meaning } = goodValueFor(random, parameter)
  const { name } = parameter
  interface Named {
    readonly pairs: readonly Pair[]
    /** What the parameter is then taken for; `undefined` where the names are wrong. */
    readonly as: Meaning | undefined
  }
  const right = (pairs: readonly Pair[], as = meaning): Named => ({ pairs, as })
  const wrong = (...pairs: readonly Pair[]): Named => ({ pairs, as: undefined })
  const own: Pair = [name, raw]
  const nothing: Pair = ['', undefined]
  const times = (count: number, make: (index: number) => Pair) =>
    Array.from({ length: count }, (_, index) => make(index))
  const changes: readonly (() => Named)[] = [
    () => right([[mixCase(random, name), raw]]),
    () => right([[escapeLetter(random, name), raw]]),
    () => right([nothing, own, nothing]),
    () => right([[name, undefined]], { as: 'absent' }),
    () => wrong(own, [mixCase(random, name), raw]),
    () => wrong(...times(random.between(2, 60), () => own)),
    () => wrong([name, ''], own),
    () => wrong([name + random.pick(NAME_ENDINGS), raw]),
    () => wrong([random.pick(NAME_ENDINGS) + name, raw]),
    () => wrong([random.pick(NO_NAMES), random.chance(0.5) ? raw : encode(random, random.pick(TEXTS))], own),
    () => wrong([random.pick(['', 'x', 'Limit%00']), encode(random, random.pick(TEXTS))]),
    () => wrong([encode(random, random.pick(['\u202e', '\u{1f600}', 'a\u0304'])) + name, raw]),
    () => wrong(...times(random.between(20, 1500), (index) => [`x${index}`, undefined])),
    () => wrong([breakEncoding(random), undefined], own),
  ]
  const { pairs, as } = random.pick(changes)()
  if (as === undefined) request.wrongParameters = 'yes'
  else request.reading = new Map([[name, as]])
  setQuery(request, pairs)
  return request
}

function mixCase(random: Random, name: string): string {
  return [...name]
    .map((letter) => (random.chance(0.5) ? letter.toLowerCase() : letter.toUpperCase()))
    .join('')
}

function escapeLetter(random: Random, name: string): string {
  const index = random.below(name.length)
  return `${name.slice(0, index)}%${name.charCodeAt(index).toString(16)}${name.slice(index + 1)}`
}

/** Ways to write the address of an operation: `rest` is what comes after the version. */
const ADDRESSES: readonly ((rest: string, random: Random, request: Request) => string)[] = [
  (rest, random, request) => {
    request.routed = `/v1${rest}`
    return (
      random.pick([
        '',
        '/v1.0',
        '/v1',
        'http://localhost/v1',
        'HTTPS://user@example.org:99',
        'http://[::1]:1/v1.0',
      ]) + rest
    )
  },
  (rest, random, request) => {
    request.wrongVersion = 'yes'
    request.routed = `/v1${rest}`
    return (
      random.pick([
        '/v9',
        '/v0',
        '/v2',
        '/v1.1',
        '/v01',
        '/v1.0.0',
        '/v1.00',
        `/v${'9'.repeat(400)}`,
        'http://a/v3',
      ]) + rest
    )
  },
  (rest, random, request) => {
    request.missing = 'yes'
    return (
      random.pick([
        '/V1',
        '/v1.',
        '/vx',
        '/v',
        '//v1',
        '/v1/',
        '/v-1',
        '/v1%00',
        '/./v1',
        '/x/../v1',
        '/v1;a',
        '/api/v1',
      ]) + rest
    )
  },
  (rest, random, request) => {
    request.missing = 'yes'
    request.routed = `/v1${rest}/`
    if (rest.includes(request.token) && random.chance(0.3))
      return `/v1${rest.replace(request.token, `x/${request.token}`)}`
    return `/v1${rest}${random.pick(['/', '/x', '.json', '%20', '%00', '/..', ';a=1', '/%2e', '%2F'])}`
  },
  (rest, random, request) => {
    // A letter that need not be encoded is the same address: it is taken or not there, but nothing else.
    request.missing = 'maybe'
    const index = random.between(1, rest.indexOf('/', 1) === -1 ? rest.length - 1 : rest.indexOf('/', 1) - 1)
    return `/v1${rest.slice(0, index)}%${rest.charCodeAt(index).toString(16)}${rest.slice(index + 1)}`
  },
  (rest, random, request) => {
    request.malformed = 'yes'
    return `/v1${rest}#${random.pick(['', 'a', '?Limit=5', '/'])}`
  },
  (rest, random, request) => {
    request.malformed = 'yes'
    return `/v1${rest}${random.pick(['%', '%zz', '%C4', '%ff', '%C0%80', '%ED%A0%80', '/%E0%A4'])}`
  },
  (rest, random, request) => {
    request.routed = `/v1${rest}?${'&'.repeat(random.pick([100, 8100, 8192 - 4 - rest.length, 8189 - rest.length, 8300, 12_000]))}`
    return request.routed
  },
]

function makeAddress(random: Random, world: World): Request {
  const request = begin(random, world)
  const withToken = request.target.includes(request.token)
  if (withToken && random.chance(0.5)) {
    makeToken(request, random)
    return request
  }
  const rest = request.target.replace(/^\/v1/, '')
  request.target = random.pick(ADDRESSES)(rest, random, request)
  if (request.target.startsWith('/v1') && request.routed.length < request.target.length)
    request.routed = request.target
  return request
}

function makeToken(request: Request, random: Random): void {
  const { target, token } = request
  const put = (segment: string) =>
    place(
      request,
      target.replace(`/${token}/`, () => `/${segment}/`),
    )
  if (random.chance(0.2)) {
    put(
      [...token]
        .map((letter) => (random.chance(0.5) ? `%${letter.charCodeAt(0).toString(16)}` : letter))
        .join(''),
    )
    return
  }
  request.foreign = 'yes'
  if (random.chance(0.2)) {
    put(breakEncoding(random))
    // Bytes that are not ASCII are no token either.
    request.malformed = 'maybe'
    return
  }
  const text = random.weigh([
    [3, () => random.pick(TEXTS)],
    [1, () => 'fuzz-other'],
    [2, () => token + random.pick(TEXTS)],
    [
      1,
      () =>
        random.pick([
          token.toUpperCase(),
          `${token} `,
          ` ${token}`,
          `${token}/`,
          `/${token}`,
          '.',
          '..',
          '*',
        ]),
    ],
    [1, () => random.pick(['a', '\u0101', '%', '/']).repeat(random.pick([1, 63, 64, 255, 1000, 2600, 7000]))],
  ])()
  put(
    random.chance(0.5)
      ? encodeURIComponent(text.toWellFormed())
      : [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  )
}

function makeHeaders(random: Random, world: World): Request {
  const request = random.chance(0.85) ? begin(random, world) : otherRequest('/livez', [200])
  if (request.operation !== undefined && random.chance(0.3)) {
    const parameter = random.pick(queryParameters(request))
    const { raw, meaning } = goodValueFor(random, parameter)
    request.reading = new Map([[parameter.name, meaning]])
    setQuery(request, [[parameter.name, raw]])
  }
  for (
    let count = random.weigh([
      [6, 1],
      [2, 2],
      [1, 4],
    ]);
    count > 0;
    count--
  )
    random.pick(HEADER_CHANGES)(request, random, world)
  return request
}

/** Methods that Node's parser knows; those with a meaning of their own come more often. */
const KNOWN_METHODS = [
  ...METHODS,
  'HEAD',
  'HEAD',
  'HEAD',
  'HEAD',
  'OPTIONS',
  'OPTIONS',
  'OPTIONS',
  'POST',
  'TRACE',
].filter((method) => method !== 'CONNECT')
const UNKNOWN_METHODS = [
  'get',
  'Get',
  'BREW',
  'GETT',
  'GE',
  'X'.repeat(300),
  'G\xc9T',
  'GET\u0000',
  '-',
  'PRI',
  'CONNECT',
  '__proto__',
  "GET'",
  'G"',
  '0',
]

function makeMethods(random: Random, world: World): Request {
  const request = random.weigh([
    [5, () => makeParameters(random, world)],
    [1, () => makeOther(random)],
    [1, () => makeAddress(random, world)],
  ])()
  request.method = random.chance(0.06) ? random.pick(UNKNOWN_METHODS) : random.pick(KNOWN_METHODS)
  if (request.method === 'OPTIONS' && random.chance(0.6)) {
    setHeader(
      request,
      'Origin',
      random.pick(['https://careers.example', 'null', '', toBytes('https://m\u0101.example')]),
    )
    setHeader(request, 'Access-Control-Request-Method', random.pick(['GET', 'POST', '', 'x y', '*']))
    setHeader(
      request,
      'Access-Control-Request-Headers',
      random.pick(['x-api-key,eid', '*', '', ',,,', toBytes('m\u0101'), 'x'.repeat(3000)]),
    )
  }
  if (random.chance(0.3)) {
    request.body = random.bytes(random.pick([0, 1, 5, 100, 2000, 70_000]))
    setHeader(request, 'Content-Length', `${request.body.length}`)
    if (random.chance(0.5))
      setHeader(
        request,
        'Content-Type',
        random.pick(['application/json', ';;;', 'text/plain', '', 'multipart/form-data']),
      )
  }
  return request
}

interface Other {
  readonly target: string
  readonly answers: readonly number[]
  /** Whether there is no such address, by any method. */
  readonly missing: Holds
}
const others = (answers: readonly number[], missing: Holds, ...targets: string[]): Other[] =>
  targets.map((target) => ({ target, answers, missing }))
const UP = ['%2e%2e%2f%2e%2e%2fpackage.json', '../../package.json', '..%5c..%5cpackage.json', '%00', 'x']

const OTHER: readonly Other[] = [
  ...others([200], 'no', '/livez', '/readyz', '/openapi.json', '/docs', '/docs/static/swagger-ui.css'),
  ...others([200], 'no', ...Object.keys(PROBLEMS).map((slug) => `/problems/${slug}`)),
  ...others(
    [404],
    'no',
    ...['', 'x', '__proto__', '%00', 'toString', '%C4%81'].map((slug) => `/problems/${slug}`),
  ),
  ...others([404], 'no', ...UP.map((path) => `/docs/static/${path}`)),
  ...others(
    [404],
    'yes',
    '/',
    '/nowhere',
    '/docs/x',
    '/metrics',
    '/.env',
    '/%00',
    '/*',
    '/v1',
    '/v1/',
    '/v2',
    '/occupation',
  ),
]

function makeOther(random: Random): Request {
  const { target, answers, missing } = random.pick(OTHER)
  const request = otherRequest(target, answers)
  request.missing = missing
  if (random.chance(0.4))
    setQuery(request, [[random.pick(['a', '', 'Limit']), encode(random, random.pick(TEXTS))]])
  if (random.chance(0.3))
    setHeader(request, 'Accept', random.pick(['text/html', '*/*', 'x', '', 'application/json;q=0']))
  return request
}
