import type { Case } from './case.ts'
import type { Random } from './random.ts'

const HOST = 'Host: localhost\r\n'
const LIVEZ = `GET /livez HTTP/1.1\r\n${HOST}\r\n`

/** What is sent, and the statuses that may come. */
interface Broken {
  readonly what: string
  readonly bytes: string
  readonly statuses: readonly number[]
}

const CONTROLS = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).filter(
  (each) => !'\t\r\n'.includes(each),
)
/** Characters that no header's name has. */
const NO_TOKEN = [...'(),/:;<=>?@[\\]{}"', ' ', '\t', '\x7f', '\x80', '\xff', ...CONTROLS]

const request = (line: string, headers = HOST, body = '') => `${line}\r\n${headers}\r\n${body}`
const get = (headers: string, body = '') => request('GET /livez HTTP/1.1', HOST + headers, body)

const LINES = [
  'GET',
  'GET ',
  'GET /livez HTTP',
  'GET /livez HTTP/',
  'GET /livez HTTP/1',
  'GET /livez HTTP/1.',
  'GET /livez HTTP/1.1x',
  'GET /livez HTTP/11',
  'GET /livez HTTP/1.2',
  'GET /livez HTTP/2.0',
  'GET /livez HTTP/0.0',
  'GET /livez HTTP/9.9',
  'GET /livez http/1.1',
  'GET /livez HTTPS/1.1',
  'GET /livez XXXX/1.1',
  'GET /livez HTTP/1,1',
  'GET /livez HTTP 1.1',
  'GET /livez  HTTP/1.1 x',
  'GET/livez HTTP/1.1',
  'GET\t/livez\tHTTP/1.1',
  ' GET /livez HTTP/1.1',
  'GET /li vez HTTP/1.1',
  'GET /livez\tx HTTP/1.1',
  'GET /livez\u0000 HTTP/1.1',
  'GET /livez\r HTTP/1.1',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 /livez GET',
  '/livez',
  ': /livez HTTP/1.1',
  '\u0000GET /livez HTTP/1.1',
  '\xef\xbb\xbfGET /livez HTTP/1.1',
  'RTSP/1.0',
  'SETUP rtsp://localhost RTSP/1.0',
  'GET livez HTTP/1.1',
  'GET ?x HTTP/1.1',
  'GET \\livez HTTP/1.1',
  'GET ://a HTTP/1.1',
  'ICY 200 OK',
]

const OTHER_PROTOCOLS = [
  Buffer.from('16030100f8010000f40303', 'hex').toString('latin1'),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'SSH-2.0-OpenSSH_9.6\r\n',
  `PROXY TCP4 192.0.2.1 192.0.2.2 5000 80\r\n${LIVEZ}`,
  `\r\n\r\n\u0000\r\nQUIT\n${'\u0000'.repeat(12)}`,
  'EHLO localhost\r\n',
  '*1\r\n$4\r\nPING\r\n',
  '\x1f\x8b\x08\x00\x00\x00\x00\x00',
  '{"jsonrpc":"2.0"}\r\n\r\n',
  '\u0000'.repeat(1000),
  '\u0000\u0000\u0000\u0008\u0004\u00d2\u0016\u002f',
]

const LENGTHS = [
  'Content-Length: 4\r\nContent-Length: 5',
  'Content-Length: 4, 5',
  'Content-Length: -1',
  'Content-Length: +4',
  'Content-Length: 4x',
  'Content-Length: 0x4',
  'Content-Length: 4.0',
  'Content-Length: four',
  `Content-Length: ${'9'.repeat(40)}`,
  'Content-Length: 18446744073709551616',
  'Content-Length: 4\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 4',
  'Content-Length: 4 4',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: chunked, identity',
  ...['Transfer-Encoding: chunkedx', 'Transfer-Encoding: chunked;q=1', 'Transfer-Encoding: "chunked"'],
]
/** Framing that readers may differ on: refused, or read in the one safe way. */
const DOUBTFUL_LENGTHS = [
  'Content-Length: 4\r\nContent-Length: 4',
  'Content-Length: 4, 4',
  'Content-Length: 04',
  'Content-Length:',
  'Transfer-Encoding:',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: , chunked',
]

const CHUNKS = [
  'zz\r\nhello',
  '-1\r\n',
  '5\r\nhelloX\r\n',
  '5 \r\nhello\r\n',
  '0x5\r\nhello\r\n',
  '5\nhello\n',
  `${'f'.repeat(17)}\r\n`,
  `5;${'x'.repeat(20_000)}\r\nhello\r\n`,
  '\r\n',
  '5\r\nhello\r\n0\r\nbad trailer\r\n\r\n',
  `0\r\n${'X-A: 1\r\n'.repeat(4000)}\r\n`,
  '5\r\nhel',
]

const MAKERS: readonly ((random: Random) => Broken)[] = [
  (random) => {
    const line = random.pick(LINES)
    return { what: 'a request line', bytes: request(line), statuses: [400] }
  },
  (random) => {
    const line = random.pick([
      'GET /livez',
      'GET /livez HTTP/0.9',
      'GET  /livez HTTP/1.1',
      'GET /livez  HTTP/1.1',
      'GET /livez HTTP/1.1 ',
      'GET /livez# HTTP/1.1',
      'GET * HTTP/1.1',
      'GET localhost:80 HTTP/1.1',
      'GET ftp://a/livez HTTP/1.1',
      `GET /livez?${random.bytes(40).replace(/[^!-~\x80-\xff]/g, '')} HTTP/1.1`,
    ])
    return { what: 'a request line that some take', bytes: request(line), statuses: [200, 400, 404] }
  },
  (random) => ({
    what: 'another protocol',
    bytes: random.pick(OTHER_PROTOCOLS),
    statuses: [400],
  }),
  (random) => ({
    what: 'random bytes',
    // Line ends before a request say nothing.
    bytes: random.bytes(random.pick([1, 2, 10, 100, 1000, 50_000])).replace(/^[\r\n]+/, 'x'),
    statuses: [400, 431],
  }),
  (random) => {
    const [before, after] = [random.pick(['', 'X', 'Host']), random.pick(['', 'A', ''])]
    const bad = random.pick(NO_TOKEN)
    const name = before + bad + after
    const line = random.pick([
      `${name}: 1`,
      'nothing',
      `${'x'.repeat(3000)}`,
      ': 1',
      ' X-A: 1',
      `X-A: ${random.pick(CONTROLS)}`,
      `X-A: a${random.pick(CONTROLS)}b`,
      'X-A: \x7f',
      'X-A: a\rb',
    ])
    // A name that ends at its colon is a name all the same.
    const isName = bad === ':' && before !== ''
    return { what: 'a header', bytes: get(`${line}\r\n`), statuses: isName ? [200, 400] : [400] }
  },
  (random) => {
    const bytes = random.pick([
      get('X-A: 1\r\n folded\r\n'),
      get('X-A: 1\n'),
      LIVEZ.replaceAll('\r\n', '\n'),
      LIVEZ.replaceAll('\r\n', '\r'),
      `\r\n\r\n${LIVEZ}`,
      `\n${LIVEZ}`,
      LIVEZ.replace('Host:', 'Host:\t\t'),
      get('X-A:\r\n'),
      get(`X-A:${' '.repeat(2000)}\r\n`),
    ])
    return { what: 'white space', bytes, statuses: [200, 400] }
  },
  (random) => {
    const [statuses, header] = random.chance(0.7)
      ? [[400], random.pick(LENGTHS)]
      : [[200, 400], random.pick(DOUBTFUL_LENGTHS)]
    return {
      what: 'lengths that conflict',
      bytes: get(`${header}\r\n`, random.pick(['', 'abcd', '4\r\nabcd\r\n0\r\n\r\n'])),
      statuses,
    }
  },
  (random) => ({
    what: 'chunks',
    bytes: get('Transfer-Encoding: chunked\r\n', random.pick(CHUNKS)),
    statuses: [200, 400],
  }),
  (random) => {
    const [count, size] = random.pick([
      [1, 100_000],
      [100, 1000],
      [5000, 20],
      [1, 17_000],
      [20_000, 5],
      [1, 1_000_000],
    ] as const)
    const place = random.pick(['value', 'name', 'cookie', 'address', 'query', 'method', 'version'])
    return {
      what: `large headers: ${place}`,
      bytes: large(place, count, size),
      statuses: place === 'method' || place === 'version' ? [400, 431] : [431],
    }
  },
]

function large(place: string, count: number, size: number): string {
  const long = 'x'.repeat(size)
  const repeat = (header: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => `${header(index)}\r\n`).join('')
  switch (place) {
    case 'name':
      return get(repeat((index) => `${long}${index}: 1`))
    case 'cookie':
      return get(repeat((index) => `Cookie: a${index}=${long}`))
    case 'address':
      return request(`GET /${'x'.repeat(count * size)} HTTP/1.1`)
    case 'query':
      return request(`GET /v1/occupations?${`${long}&`.repeat(count)} HTTP/1.1`)
    case 'method':
      return request(`${long.toUpperCase()} /livez HTTP/1.1`)
    case 'version':
      return request(`GET /livez HTTP/1.1${long}`)
    default:
      return get(repeat((index) => `X-${index}: ${long}`))
  }
}

/** Something that is not HTTP, or HTTP that contradicts itself. Nothing more is sent after it. */
export function makeBroken(random: Random): Case {
  const { what, bytes, statuses } = random.pick(MAKERS)(random)
  return {
    kind: 'broken HTTP',
    what,
    steps: [{ send: bytes }, { close: 'half' }],
    // What is left of the body may be taken for another request.
    expected: statuses.includes(200) ? undefined : [{ method: 'GET', statuses }],
    ends: true,
    alone: true,
  }
}
