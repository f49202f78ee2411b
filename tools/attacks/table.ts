import { gzipSync } from 'node:zlib'
import { SDR_FILES } from '../../test/support/sdr/file-types.ts'
import type { Ask, Attack, Turn } from './attack.ts'

const MB = 2 ** 20
const ENCODINGS = ['identity', 'gzip', 'br']
const CSV = { 'content-type': 'text/csv' }
const GZIP_CSV = { ...CSV, 'content-encoding': 'gzip' }
const NDJSON = { 'content-type': 'application/x-ndjson' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' }
const JSON_TYPE = { 'content-type': 'application/json' }
/** What the kernel may hold for those who do not read. */
const UNREAD = { sockets: 384 * MB }

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Ask => ({ path, headers })
const encoding = (index: number) => ({ 'accept-encoding': ENCODINGS[index % 3] ?? '' })
const page = (index: number) =>
  get(`/v1/occupations?Limit=100&Cursor=C${1000 + (index % 1900)}`, encoding(index))
const postJson = (path: string, body: string): Ask => ({ method: 'POST', path, headers: JSON_TYPE, body })
const times = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => make(index))
const letters = (count: number, seed: number) =>
  times(count, (at) => 'etaoinshrdlucm '[(at * 7 + seed * 13 + ((at * at) % 11)) % 15]).join('')
/** Makes a value when it is first needed: some take a second. */
const once = <Value>(make: () => Value) => {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const submissionOf = ({ tokens, line }: Turn) => `/v1/submissions/${tokens[line % tokens.length]}`
const typeOf = (index: number) => SDR_FILES[index % SDR_FILES.length] ?? ''
const put = (turn: Turn, body: string | Buffer, headers: Readonly<Record<string, string>>): Ask => ({
  method: 'PUT',
  path: `${submissionOf(turn)}/files/${typeOf(turn.line)}`,
  headers,
  body,
})
const add = (turn: Turn, body: string): Ask =>
  postJson(`${submissionOf(turn)}/records/${typeOf(turn.line)}`, body)
/** Requests a run, and waits for the last one. */
const check = (turn: Turn): readonly Ask[] => [
  { method: 'POST', path: `${submissionOf(turn)}/validation-runs` },
  get(`${submissionOf(turn)}/validation-runs/1`, { prefer: 'wait=30' }),
]

/** An archive of one deflated file whose header states another size than it has. */
function makeArchive(name: string, unpacked: Buffer, stated = unpacked.length): Buffer {
  // Of a member of gzip, without its header of 10 bytes and its trailer of 8, which begins with the checksum.
  const packed = gzipSync(unpacked, { level: 9 })
  const content = packed.subarray(10, -8)
  const header = Buffer.alloc(26)
  header.writeUInt16LE(20, 0)
  header.writeUInt16LE(8, 4)
  packed.copy(header, 10, packed.length - 8, packed.length - 4)
  header.writeUInt32LE(content.length, 14)
  header.writeUInt32LE(stated, 18)
  header.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), header, Buffer.from(name), content])
  const entry = Buffer.concat([
    Buffer.from('PK\x01\x02\x14\x00'),
    header,
    Buffer.alloc(14),
    Buffer.from(name),
  ])
  const end = Buffer.alloc(18)
  end.writeUInt16LE(1, 4)
  end.writeUInt16LE(1, 6)
  end.writeUInt32LE(entry.length, 8)
  end.writeUInt32LE(local.length, 12)
  return Buffer.concat([local, entry, Buffer.from('PK\x05\x06'), end])
}

const ARCHIVES = once(() => {
  const zeros = Buffer.alloc(200 * MB)
  const good = makeArchive('learners.csv', Buffer.from('learner_id\n1\n'))
  return [
    makeArchive('learners.csv', zeros),
    makeArchive('learners.csv', zeros, 10),
    makeArchive('../../learners.csv', Buffer.from('learner_id\n1\n')),
    makeArchive('learners.zip', makeArchive('learners.csv', zeros)),
    good.subarray(0, good.length - 30),
    Buffer.concat(times(2_000, () => good)),
  ]
})
const BOMBS = once(() =>
  ['\u0000', '\n', '"', '{}\n'].map((text) => gzipSync(Buffer.alloc(200 * MB, text), { level: 1 })),
)
const TASKS = once(() =>
  JSON.stringify({
    items: times(300, (at) => ({
      title: letters(200, at),
      tasks: times(10, (task) => letters(400, at * 10 + task)),
    })),
  }),
)
const STRANGE = once(() => [
  `{"content":[${'{},'.repeat(2_700_000)}{}]}`,
  `{"content":[{"localId":"1",${times(550_000, (at) => `"f${at}":${at % 10}`).join()}}]}`,
  `{"content":[{"localId":"1","a":${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}}]}`,
  JSON.stringify({ content: times(1_000, (at) => ({ localId: `id-${at}`, filler: 'x'.repeat(8_000) })) }),
])
const WIDE = once(() =>
  [
    ',a'.repeat(131_000),
    ',localId'.repeat(30_000),
    times(40_000, (at) => `,${at.toString(36)}`).join(''),
  ].map((header) => gzipSync(`localId${header}\nL1\n`, { level: 9 })),
)
const LONG_LINES = once(() =>
  gzipSync(`learner_id,name\n${times(400, (at) => `${at},""${'x'.repeat(200_000)}\n`).join('')}`, {
    level: 1,
  }),
)
const LINES = 'x'.repeat(200).concat('\n').repeat(5_000)

const FLOODS: readonly Attack[] = [
  {
    name: 'bursts',
    caller: 'anonymous',
    promise: 'pages for 200 new connections at a time leave memory and time for others',
    how: 'exchange',
    count: 200,
    send: ({ line, round }) => [page(line + 200 * round)],
    small: true,
  },
  {
    name: 'unread-pages',
    caller: 'anonymous',
    promise: 'the kernel holds a bounded part of pages that nobody reads',
    how: 'hold',
    count: 4_000,
    send: ({ line }) => [page(line)],
    limits: { ...UNREAD, health: 4_000 },
    small: true,
  },
  {
    name: 'unread-snapshots',
    caller: 'anonymous',
    promise: 'the kernel holds a bounded part of snapshots that nobody reads',
    how: 'hold',
    count: 500,
    send: ({ line }) => [get('/v1/occupations/snapshot', encoding(line))],
    limits: UNREAD,
  },
  {
    name: 'idle-connections',
    caller: 'anonymous',
    promise: 'connections without a request do not keep others out',
    how: 'hold',
    count: 12_000,
    send: () => [],
  },
  {
    name: 'half-headers',
    caller: 'anonymous',
    promise: 'requests whose headers never end do not fill the memory',
    how: 'hold',
    count: 8_000,
    send: ({ line }) => [
      { raw: `GET /livez HTTP/1.1\r\nhost: localhost\r\n${`a${line}: ${'x'.repeat(100)}\r\n`.repeat(140)}` },
    ],
  },
  {
    name: 'stalled-bodies',
    caller: 'anonymous',
    promise: 'bodies and forms that stall do not fill the memory',
    how: 'hold',
    count: 500,
    send: ({ line }) => [
      line % 2 === 0
        ? { ...postJson('/v1/codings', ' '.repeat(2 * MB - 1_000)), length: 2 * MB }
        : {
            method: 'POST',
            path: '/console/sign-in',
            headers: FORM,
            body: 'x'.repeat(990_000),
            length: 1_000_000,
          },
    ],
    small: true,
  },
  {
    name: 'searches',
    caller: 'anonymous',
    promise: 'the longest searches and the largest lists of titles leave time for others',
    how: 'exchange',
    count: 20,
    send: ({ line, round }) => {
      const q = encodeURIComponent(letters(200, line * 1_000 + round))
      if (line % 4 === 0) return [postJson('/v1/codings', TASKS())]
      const path = round % 2 === 0 ? `search?Limit=100&Page=${1 + (round % 10)}&` : 'suggestions?'
      return [get(`/v1/occupations/${path}q=${q}`)]
    },
  },
]

const KEYED: readonly Attack[] = [
  {
    name: 'stalled-uploads',
    caller: 'key',
    promise: 'uploads that stall hold a share of the slots, whoever sends them',
    how: 'hold',
    count: 300,
    submissions: 60,
    send: (turn) => [{ ...put(turn, LINES, CSV), length: 2 * MB }],
    small: true,
  },
  {
    name: 'slow-uploads',
    caller: 'key',
    promise: 'a key with three organisations that sends a byte at a time leaves upload slots to others',
    how: 'drip',
    count: 48,
    submissions: 24,
    send: (turn) => [{ ...put(turn, 'x', CSV), length: MB, eid: turn.line % 3 }],
    limits: { upload: 3_000 },
  },
  {
    name: 'upload-bursts',
    caller: 'key',
    promise: 'bursts of uploads leave memory and time for others',
    how: 'exchange',
    count: 24,
    submissions: 24,
    send: (turn) => [put(turn, gzipSync(LINES.repeat(20), { level: 1 }), GZIP_CSV)],
    small: true,
  },
  {
    name: 'gzip-bombs',
    caller: 'key',
    promise: 'content that unpacks to 200 MB is read in turns or refused',
    how: 'exchange',
    count: 8,
    submissions: 8,
    send: (turn) => {
      const index = (turn.line + turn.round) % 4
      const headers = { ...(index === 3 ? NDJSON : CSV), 'content-encoding': 'gzip' }
      return [put(turn, BOMBS()[index] ?? '', headers)]
    },
  },
  {
    name: 'archives',
    caller: 'key',
    promise: 'hostile archives are refused, whatever sizes and names they state',
    how: 'exchange',
    count: 6,
    submissions: 6,
    send: (turn) => [
      {
        ...put(turn, ARCHIVES()[(turn.line + turn.round) % 6] ?? '', { 'content-type': 'application/zip' }),
        path: `${submissionOf(turn)}/files`,
      },
    ],
    small: true,
  },
  {
    name: 'strange-batches',
    caller: 'key',
    promise: 'batches with millions of values are parsed in turns or refused',
    how: 'exchange',
    count: 4,
    submissions: 4,
    send: (turn) => [add(turn, STRANGE()[(turn.line + turn.round) % 4] ?? '')],
  },
  {
    name: 'stopped-exports',
    caller: 'key',
    promise: 'the kernel holds a bounded part of exports that nobody reads',
    how: 'hold',
    count: 200,
    send: ({ target, line }) => [
      get(`/v1/submissions/${target.token}/validation-results`, {
        accept: line % 2 === 0 ? 'text/csv' : NDJSON['content-type'],
      }),
    ],
    limits: UNREAD,
    small: true,
  },
  {
    name: 'runs',
    caller: 'key',
    promise: 'checks of large files stay within the memory of the worker',
    how: 'exchange',
    count: 2,
    submissions: 20,
    send: (turn) => [put(turn, LONG_LINES(), GZIP_CSV), ...check(turn)],
  },
  {
    name: 'wide-headers',
    caller: 'key',
    promise: 'a faulty header, however wide, is a few findings and a few kilobytes',
    how: 'exchange',
    count: 3,
    submissions: 3,
    send: (turn) => [put(turn, WIDE()[turn.line] ?? '', GZIP_CSV), ...check(turn)],
    wrong: (answers) => {
      const found = Number(/"totalCount":(\d+)/.exec(answers.at(-1)?.body ?? '')?.[1] ?? 0)
      return found > 100 ? `a header of ${found} findings` : undefined
    },
    limits: { growth: 64 * MB },
  },
]

export const ATTACKS: readonly Attack[] = [...FLOODS, ...KEYED]
