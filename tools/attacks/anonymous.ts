import { type Attack, attack } from './attack.ts'
import { exchange, hold, repeat, request, Wire } from './wire.ts'

const ENCODINGS = ['identity', 'gzip', 'br']
const MB = 2 ** 20

/** What the kernel may hold for those who do not read. */
const UNREAD = { sockets: 384 * MB }

const page = (index: number) => `/v1/occupations?Limit=100&Cursor=C${1000 + (index % 1900)}`
const encoding = (index: number) => ({ 'accept-encoding': ENCODINGS[index % 3] ?? '' })
const FORM = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' }
const JSON_TYPE = { 'content-type': 'application/json' }
const letters = (count: number, seed: number) =>
  Array.from(
    { length: count },
    (_, at) => 'etaoinshrdlucm '[(at * 7 + seed * 13 + ((at * at) % 11)) % 15],
  ).join('')

/** What a caller without a credential can do: the catalogue is public, and the console on. */
export const ANONYMOUS: readonly Attack[] = [
  attack(
    'bursts',
    'anonymous',
    'pages for 200 new connections at a time leave memory and time for others',
    (target, signal) =>
      repeat(signal, 200, async (line, round) => {
        await exchange(target, request(target, 'GET', page(line + 200 * round), encoding(line)))
      }),
  ),
  attack(
    'pipelining',
    'anonymous',
    'a connection that pipelines waits in line like 64 requests at most',
    (target, signal) =>
      repeat(signal, 8, async (line, round) => {
        const wire = new Wire(target)
        const requests = Array.from({ length: 590 }, (_, index) =>
          request(target, 'GET', page(index + 590 * (line + 8 * round)), encoding(line)),
        )
        await wire.send(Buffer.concat(requests), 500)
        wire.close()
      }),
  ),
  attack(
    'slow-readers',
    'anonymous',
    'the kernel holds a bounded part of pages that nobody reads',
    (target, signal) =>
      hold(target, signal, 500, (index) => request(target, 'GET', page(index), encoding(index))),
    UNREAD,
  ),
  attack(
    'page-each',
    'anonymous',
    'thousands of connections that ask for a page at once keep nobody else out',
    (target, signal) =>
      repeat(signal, 1, async (_, round) => {
        const wires = Array.from({ length: 4_000 }, () => new Wire(target))
        await Promise.all(
          wires.map((wire, index) => wire.send(request(target, 'GET', page(index + round)), 4_000)),
        )
        await new Promise((resolve) => setTimeout(resolve, 4_000))
        for (const wire of wires) wire.close()
      }),
    // A connection that finds no room in the queue is tried again by its own system, after one and after two seconds.
    { health: 4_000 },
  ),
  attack(
    'stopped-snapshots',
    'anonymous',
    'the kernel holds a bounded part of snapshots that nobody reads',
    (target, signal) =>
      hold(target, signal, 500, (index) =>
        request(target, 'GET', '/v1/occupations/snapshot', encoding(index)),
      ),
    UNREAD,
  ),
  attack(
    'documentation',
    'anonymous',
    'the pages of the reference count as responses that nobody reads',
    (target, signal) => {
      const paths = ['/openapi.json', '/docs', '/console/sign-in', '/problems']
      return hold(target, signal, 1000, (index) =>
        Buffer.concat(
          Array.from({ length: 20 }, (_, at) =>
            request(target, 'GET', paths[(index + at) % paths.length] ?? '/', encoding(index)),
          ),
        ),
      )
    },
    UNREAD,
  ),
  attack(
    'unread-static',
    'anonymous',
    'the kernel holds a bounded part of static files that nobody reads',
    (target, signal) => hold(target, signal, 4_100, () => request(target, 'GET', '/openapi.json')),
    UNREAD,
  ),
  attack('refusals', 'anonymous', 'refusing costs less than asking', (target, signal) =>
    hold(target, signal, 200, (index) =>
      Buffer.concat(
        Array.from({ length: 500 }, (_, at) =>
          request(
            target,
            ['GET', 'OPTIONS', 'DELETE', 'POST'][at % 4] ?? 'GET',
            at % 3 === 0 ? `/v1/nothing/${index}` : `/v1/submissions/T${at}/validation-results`,
            at % 5 === 0 ? { 'x-api-key': `mahi_${index}_${at}` } : {},
          ),
        ),
      ),
    ),
  ),
  attack(
    'idle-connections',
    'anonymous',
    'connections without a request do not keep others out',
    (target, signal) => hold(target, signal, 12_000, () => ''),
  ),
  attack(
    'idle-after-request',
    'anonymous',
    'connections that have had their response do not keep others out',
    (target, signal) => hold(target, signal, 12_000, () => request(target, 'GET', '/livez'), { reads: true }),
  ),
  attack(
    'half-headers',
    'anonymous',
    'requests whose headers never end do not fill the memory',
    (target, signal) =>
      hold(
        target,
        signal,
        8_000,
        (index) =>
          `GET /livez HTTP/1.1\r\nhost: localhost\r\n${`a${index}: ${'x'.repeat(100)}\r\n`.repeat(140)}`,
      ),
  ),
  attack('many-headers', 'anonymous', 'requests with 980 headers leave time for others', (target, signal) =>
    repeat(signal, 50, async (line, round) => {
      const headers = Array.from({ length: 980 }, (_, at) => `h${at}-${line}-${round}: ${at}\r\n`).join('')
      await exchange(target, `GET ${page(line)} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`)
    }),
  ),
  attack(
    'broken-requests',
    'anonymous',
    'malformed requests cost a response and nothing else',
    (target, signal) =>
      repeat(signal, 100, async (line) => {
        const wire = new Wire(target)
        const bytes = [
          'nonsense\r\n\r\n',
          'CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\n\r\n',
          `GET /livez HTTP/1.1\r\na: ${'x'.repeat(20_000)}\r\n\r\n`,
          'POST /v1/codings HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{',
        ]
        await wire.send(bytes[line % 4] ?? '')
        await wire.status()
        wire.socket.resetAndDestroy()
      }),
  ),
  attack('refused-bodies', 'anonymous', 'the body of a refused request is not kept', (target, signal) =>
    repeat(signal, 20, async () => {
      const wire = new Wire(target)
      await wire.send(request(target, 'POST', '/v1/codings', { ...JSON_TYPE, 'content-length': 2 ** 40 }))
      const chunk = Buffer.alloc(MB, 'x')
      for (let sent = 0; sent < 100 && !wire.closed && !signal.aborted; sent++) await wire.send(chunk)
      wire.close()
    }),
  ),
  attack('stalled-bodies', 'anonymous', 'bodies that stall do not fill the memory', (target, signal) => {
    const part = Buffer.alloc(2 * MB - 1000, ' ')
    return hold(target, signal, 400, () =>
      Buffer.concat([
        request(target, 'POST', '/v1/codings', { ...JSON_TYPE, 'content-length': 2 * MB }),
        part,
      ]),
    )
  }),
  attack(
    'stalled-forms',
    'anonymous',
    'forms of the console that stall do not fill the memory',
    (target, signal) => {
      const part = Buffer.alloc(990_000, 'x')
      return hold(target, signal, 500, () =>
        Buffer.concat([
          request(target, 'POST', '/console/sign-in', { ...FORM, 'content-length': 1_000_000 }),
          part,
        ]),
      )
    },
  ),
  attack('forms', 'anonymous', 'the largest forms of the console leave time for others', (target, signal) => {
    const fields = Array.from({ length: 200_000 }, (_, at) => `kept-${at % 10}=`)
      .join('&')
      .slice(0, 999_000)
    return repeat(signal, 10, async (line) => {
      const path = line % 2 === 0 ? '/console/sign-in' : '/console/code'
      await exchange(target, request(target, 'POST', path, FORM, line % 3 === 0 ? 'key=mahi_1_2' : fields))
    })
  }),
  attack('searches', 'anonymous', 'the longest searches leave time for others', (target, signal) =>
    repeat(signal, 20, async (line, round) => {
      const q = letters(200, line * 1000 + round)
      const path = round % 2 === 0 ? `search?Limit=100&Page=${1 + (round % 10)}&` : 'suggestions?'
      await exchange(target, request(target, 'GET', `/v1/occupations/${path}q=${encodeURIComponent(q)}`))
    }),
  ),
  attack('codings', 'anonymous', 'the largest lists of titles leave time for others', (target, signal) => {
    const items = Array.from({ length: 300 }, (_, at) => ({
      title: letters(200, at),
      tasks: Array.from({ length: 10 }, (_, task) => letters(400, at * 10 + task)),
    }))
    return repeat(signal, 16, async () => {
      await exchange(target, request(target, 'POST', '/v1/codings', JSON_TYPE, JSON.stringify({ items })))
    })
  }),
  attack(
    'deep-bodies',
    'anonymous',
    'bodies with hundreds of thousands of values are parsed in turns or refused',
    (target, signal) => {
      const bodies = [
        `{"items":[${'{},'.repeat(690_000)}{}]}`,
        `{"items":[${Array.from({ length: 130_000 }, (_, at) => `{"a${at}":1}`).join()}]}`,
        `{"items":${'['.repeat(900_000)}${']'.repeat(900_000)}}`,
      ]
      return repeat(signal, 8, async (line, round) => {
        await exchange(target, request(target, 'POST', '/v1/codings', JSON_TYPE, bodies[(line + round) % 3]))
      })
    },
  ),
]
