import { METHODS } from 'node:http'
import { PROBLEMS } from '../../src/api/contract/problems.ts'
import { KNOWN } from './data.ts'
import { makeAddress } from './make-address.ts'
import { HEADER_CHANGES } from './make-headers.ts'
import type { Parameter } from './operations.ts'
import type { Random } from './random.ts'
import { type Holds, otherRequest, type Request, setHeader } from './request.ts'
import { TEXTS } from './texts.ts'
import { breakEncoding, encode, type Meaning, makeValue, toBytes, type Value } from './values.ts'
import { begin, type World } from './world.ts'

/** Kinds of requests that are whole HTTP, however wrong in themselves. */
export const REQUEST_KINDS = {
  'parameter values': makeParameters,
  'parameter names': makeNames,
  addresses: makeAddress,
  headers: makeHeaders,
  methods: makeMethods,
  'other addresses': makeOther,
} satisfies Record<string, (random: Random, world: World) => Request>

function queryParameters({ operation }: Request): readonly Parameter[] {
  return (operation?.parameters ?? []).filter((parameter) => parameter.in === 'query')
}

type Pair = readonly [name: string, value: string | undefined]

export function setQuery(request: Request, pairs: readonly Pair[]): void {
  if (pairs.length === 0) return
  const query = pairs.map(([name, value]) => (value === undefined ? name : `${name}=${value}`)).join('&')
  request.target += `?${query}`
  request.routed += `?${query}`
}

export function valueFor(random: Random, { name, schema }: Parameter): Value {
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
    // A page is to learn why it is refused, so the question beforehand is answered everywhere.
    request.missing = 'no'
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
  ...others([200, 302, 406], 'no', '/'),
  ...others([200], 'no', '/livez', '/readyz', '/openapi.json', '/docs', '/docs/static/reference.css'),
  ...others([200], 'no', ...Object.keys(PROBLEMS).map((slug) => `/problems/${slug}`)),
  ...others(
    [404],
    'no',
    ...['x', '__proto__', '%00', 'toString', '%C4%81'].map((slug) => `/problems/${slug}`),
  ),
  ...others([404], 'yes', '/problems/'),
  ...others([404], 'yes', ...UP.map((path) => `/docs/static/${path}`)),
  ...others(
    [404],
    'yes',
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
