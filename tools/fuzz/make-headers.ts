import { CLIENT, OTHER_EID } from './data.ts'
import type { Random } from './random.ts'
import { type Holds, setHeader } from './request.ts'
import { TEXTS } from './texts.ts'
import { toBytes } from './values.ts'
import type { Change } from './world.ts'

/** A header's value that HTTP allows: bytes of UTF-8 or none, without control characters. */
function anyValue(random: Random): string {
  const text = random.chance(0.6)
    ? toBytes(random.pick(TEXTS))
    : random.bytes(random.pick([1, 10, 200, 4000]))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f]/g, '.')
}

/** Sets a header that may be wrong in itself. */
function choose(
  name: string,
  flag: 'excludesJson',
  choices: readonly (readonly [Holds, ...string[]])[],
): Change {
  return (request, random) => {
    if (request.operation === undefined) return
    const [holds, ...values] = random.pick(choices)
    setHeader(request, name, ...values)
    request[flag] = holds
  }
}

const ONE_VERSION = ['1', '1.0', 'v1', 'V1.0', ' 1 ', '', '  ', '1, 1.0', 'v1,1', '\t1\t']
const NO_VERSION = [
  '2',
  '9',
  '0',
  '1.0.0',
  '01',
  '-1',
  '1.',
  '.1',
  'one',
  '1;',
  ',',
  '1,',
  '1, 2',
  '9, 1',
  'vv1',
  '\xff',
  'NaN',
  '9'.repeat(3000),
]

const version: Change = (request, random) => {
  if (request.operation === undefined) return
  const good = random.chance(0.5)
  setHeader(request, 'x-api-version', random.pick(good ? ONE_VERSION : NO_VERSION))
  request.wrongVersion = good ? 'no' : 'yes'
}

const versionTwice: Change = (request, random) => {
  if (request.operation === undefined) return
  const [one, other] = [random.pick(['1', '1.0', '9']), random.pick(['1', 'v1', '2', '9'])]
  setHeader(request, 'X-Api-Version', one, other)
  request.wrongVersion = [one, other].every((each) => ['1', '1.0', 'v1'].includes(each)) ? 'no' : 'yes'
}

const credential: Change = (request, random, { data }) => {
  if (request.operation === undefined) return
  const { whole, none, expired } = data.keys
  const [holds, headers] = random.pick<readonly [Holds, readonly [string, string][]]>([
    ['no', [['Authorization', `Bearer ${whole}`]]],
    ['no', [['authorization', `bEARER   ${whole}  `]]],
    [
      'no',
      [
        ['X-API-Key', whole],
        ['X-Client-ID', CLIENT],
      ],
    ],
    [
      'no',
      [
        ['X-API-Key', whole],
        ['Authorization', 'Bearer nonsense'],
      ],
    ],
    ['no', [['X-API-Key', `  ${whole}\t`]]],
    [
      'yes',
      [
        ['X-API-Key', 'nonsense'],
        ['Authorization', `Bearer ${whole}`],
      ],
    ],
    [
      'yes',
      [
        ['X-API-Key', whole],
        ['X-Client-ID', 'another'],
      ],
    ],
    [
      'yes',
      [
        ['X-API-Key', whole],
        ['X-Client-ID', ''],
      ],
    ],
    [
      'yes',
      [
        ['X-API-Key', whole],
        ['X-API-Key', whole],
      ],
    ],
    ['yes', [['X-API-Key', none]]],
    ['yes', [['X-API-Key', expired]]],
    ['yes', [['X-API-Key', '']]],
    ['yes', [['X-API-Key', whole.toUpperCase()]]],
    ['yes', [['X-API-Key', whole.slice(0, -1)]]],
    ['yes', [['X-API-Key', `${whole}x`]]],
    ['yes', [['X-API-Key', `${whole.slice(0, 18)}${'A'.repeat(43)}`]]],
    ['yes', [['X-API-Key', anyValue(random)]]],
    ['yes', [['Authorization', anyValue(random)]]],
    ['yes', [['Authorization', `Bearer ${anyValue(random)}`]]],
    ['yes', [['Authorization', `Basic ${whole}`]]],
    ['yes', [['Authorization', 'Bearer']]],
    ['yes', [['Authorization', `Bearer ${whole} ${whole}`]]],
    ['yes', [['Authorization', 'Bearer e30.e30.e30']]],
    ['yes', [['Authorization', `Bearer ${'a.'.repeat(2000)}`]]],
    ['yes', [['Cookie', `X-API-Key=${whole}`]]],
  ])
  for (const name of ['X-API-Key', 'X-Client-ID', 'Authorization', 'Cookie']) setHeader(request, name)
  request.headers.push(...headers)
  request.unauthorized = holds
  request.anonymous = headers.every(([name]) => name === 'Cookie')
}

const eid: Change = (request, random) => {
  if (request.operation?.id !== 'getValidationResults') return
  const own = random.pick<[Holds, ...string[]]>([
    ['no', '1001'],
    ['no', ' 1001\t'],
    ['yes'],
    ['yes', ''],
    ['yes', OTHER_EID],
    ['yes', '1001', '1001'],
    ['yes', '1001,1001'],
    ['yes', '01001'],
    ['yes', '1001.0'],
    ['yes', '*'],
    ['yes', toBytes('\uff11\uff10\uff10\uff11')],
    ['yes', anyValue(random)],
  ])
  const [holds, ...values] = own
  setHeader(request, 'eid', ...values)
  request.foreign = holds
}

const accept = choose('Accept', 'excludesJson', [
  ...[
    '*/*',
    'application/*',
    'application/json',
    'APPLICATION/JSON',
    'text/html, */*;q=0.1',
    'application/json;q=0.001',
  ].map((value): [Holds, string] => ['no', value]),
  ...[
    'text/html',
    'image/*',
    'application/json;q=0',
    '*/*;q=0',
    'application/problem+json',
    'text/plain, image/png',
  ].map((value): [Holds, string] => ['yes', value]),
  ...[
    '',
    ',',
    ';',
    '*',
    '*/',
    '/',
    'application/json;q=2',
    'application/json;q=',
    'application/json;q=-1',
    'application/json;q=NaN',
    `${'text/x,'.repeat(500)}*/*`,
    '"',
    'a/b;c="',
    toBytes('m\u0101/\u0101'),
    '\xff',
  ].map((value): [Holds, string] => ['maybe', value]),
])

const anyAccept: Change = (request, random) => {
  setHeader(request, 'Accept', anyValue(random))
  request.excludesJson = 'maybe'
}

const encoding: Change = (request, random) => {
  setHeader(
    request,
    'Accept-Encoding',
    random.pick([
      'br',
      'gzip',
      'identity',
      'gzip, br',
      'br;q=0, gzip;q=0.1',
      '*',
      '*;q=0',
      'identity;q=0',
      'identity;q=0, *;q=0',
      'deflate',
      'zstd',
      'GZIP',
      '',
      ',',
      'br;q=',
      'gzip;q=9',
      `${'x,'.repeat(1000)}br`,
      'x'.repeat(3000),
      '\xff',
      anyValue(random),
    ]),
  )
}

const ifNoneMatch: Change = (request, random, { etags }) => {
  const etag = etags.get(request.operation?.id ?? '')
  if (request.operation === undefined || etag === undefined) return
  const first =
    !request.target.includes('?') && request.token !== 'fuzz-many' && request.token !== 'fuzz-none'
  const matching = random.pick([etag, etag.replace('W/', ''), `"a", ${etag}`, `${etag},`, `  ${etag}  `])
  const [holds, value] = random.pick<[Holds, string]>([
    ['yes', '*'],
    ['yes', ' * '],
    [first ? 'yes' : 'maybe', matching],
    ...['', '"', 'W/', 'W/"', '"x"', 'w/"c1"', '**', ',', `${'"a",'.repeat(800)}`, '\xff'].map(
      (each): [Holds, string] => ['no', each],
    ),
  ])
  setHeader(request, 'If-None-Match', value)
  request.isFresh = holds
}

/** Headers that nobody looks at. */
const IGNORED = [
  'Range',
  'If-Range',
  'If-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
  'Cookie',
  'Referer',
  'User-Agent',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'Forwarded',
  'X-HTTP-Method-Override',
  'X-Original-URL',
  'X-Request-Id',
  'Request-Id',
  'Traceparent',
  'Accept-Language',
  'Accept-Charset',
  'Cache-Control',
  'Pragma',
  'Via',
  'Max-Forwards',
  'Date',
  'Upgrade',
  'TE',
  'Trailer',
  'HTTP2-Settings',
  'Origin',
  'Access-Control-Request-Method',
  'Keep-Alive',
  'Proxy-Connection',
  'Content-Type',
  'Content-Encoding',
  '__proto__',
  'constructor',
  "x'",
  '!#$%&*+-.^_`|~',
  'x'.repeat(2000),
]

const ignored: Change = (request, random) => {
  const name = random.pick(IGNORED)
  const values = Array.from({ length: random.pick([1, 1, 2, 20]) }, () =>
    random.pick([
      () => '',
      () => '0',
      () => 'bytes=0-5',
      () => '127.0.0.1',
      () => 'DELETE',
      () => '/nowhere',
      () => new Date(0).toUTCString(),
      () => anyValue(random).slice(0, 400),
    ])(),
  )
  setHeader(request, name, ...values)
}

const expectation: Change = (request, random) => {
  const known = random.chance(0.5)
  setHeader(
    request,
    'Expect',
    random.pick(
      known
        ? ['100-continue', '100-Continue']
        : ['200-ok', '', 'x', '100-continue, x', '100', anyValue(random)],
    ),
  )
  request.expectation = known ? 'continue' : 'unknown'
}

const host: Change = (request, random) => {
  const good = random.chance(0.4)
  setHeader(
    request,
    'Host',
    ...random.pick<string[]>(
      good
        ? [
            ['localhost'],
            ['example.org:8080'],
            ['[::1]:80'],
            ['EXAMPLE.org'],
            ['a'.repeat(2000)],
            ['1.2.3.4:'],
            [''],
            ['x_y'],
          ]
        : [
            [],
            ['a', 'a'],
            ['a', 'b'],
            ['', 'a'],
            ['a b'],
            ['a, b'],
            ['a/b'],
            ['http://a'],
            ['a:b'],
            ['a:80:80'],
            ['[::1'],
            ['a@b'],
            ['a?b'],
            ['a#b'],
            [toBytes('m\u0101')],
            ['a\tb'],
            ['"a"'],
            ['<a>'],
            ['a:-1'],
            ['a\\b'],
          ],
    ),
  )
  const isMissing = !request.headers.some(([name]) => name === 'Host')
  request.malformed = good || (isMissing && request.version === '1.0') ? 'no' : 'yes'
}

const body: Change = (request, random) => {
  for (const name of ['Content-Length', 'Transfer-Encoding']) setHeader(request, name)
  if (random.chance(0.5)) {
    request.body = random.bytes(random.pick([0, 1, 100, 5000, 100_000]))
    setHeader(request, 'Content-Length', `${request.body.length}`)
  } else {
    const content = random.bytes(random.between(1, 300))
    request.body = `${content.length.toString(16)}${random.pick(['', ';a=b', ';a="b"'])}\r\n${content}\r\n0\r\n${random.pick(['', 'X-Trailer: 1\r\n'])}\r\n`
    setHeader(request, 'Transfer-Encoding', random.pick(['chunked', 'Chunked', 'gzip, chunked']))
  }
}

const connection: Change = (request, random) => {
  setHeader(
    request,
    'Connection',
    random.pick([
      'close',
      'keep-alive',
      'Close',
      'upgrade',
      'x',
      '',
      'close, keep-alive',
      'te, x-api-key',
      anyValue(random).slice(0, 200),
    ]),
  )
}

const oldVersion: Change = (request, random) => {
  request.version = '1.0'
  if (random.chance(0.5)) setHeader(request, 'Host')
  if (!request.headers.some(([name]) => name === 'Host')) request.malformed = 'no'
  if (random.chance(0.3)) setHeader(request, 'Connection', 'keep-alive')
}

/** The same header again and again, or many different ones. */
const many: Change = (request, random) => {
  const same = random.chance(0.5)
  for (let count = random.pick([10, 100, 500, 1500]); count > 0; count--)
    request.headers.push([same ? 'X-A' : `X-${count}`, 'a'])
}

export const HEADER_CHANGES: readonly Change[] = [
  version,
  version,
  versionTwice,
  credential,
  credential,
  credential,
  eid,
  eid,
  accept,
  accept,
  anyAccept,
  encoding,
  encoding,
  ...[ifNoneMatch, ignored, ignored, expectation, host, body, connection, oldVersion, many],
]
