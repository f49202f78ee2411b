import { describe, expect, test } from 'vitest'
import { Problem } from '../src/api/contract/problems.ts'
import { findDefinition, judgeFirstLine, loadDefinition } from '../src/engines/checking/index.ts'
import { EncodingLook, inTurns, LineReader, readInTurns } from '../src/engines/records/index.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { TimedTurns } from '../src/foundation/timed-turns.ts'
import { csvToNdjson, ndjsonToCsv } from '../src/submissions/files/convert.ts'
import { readCurrentFile } from '../src/submissions/files/current-file.ts'
import { WideText } from '../src/submissions/files/decode.ts'
import { insertChunk, packChunk } from '../src/submissions/files/file-store.ts'
import { type Format, Scanner } from '../src/submissions/files/scan.ts'
import { changeSubmission } from '../src/submissions/lock.ts'
import { countWork } from './support/counted-work.ts'
import { inChunks } from './support/reading.ts'
import { openTemporary } from './support/reused-schemas.ts'

const BYTES = 2 ** 19
const FORM = { localId: 'a', fields: [{ name: 'a', delimiter: ';' }] }

const repeat = (text: string, bytes = BYTES) => text.repeat(Math.ceil(bytes / text.length))
const join = (...parts: string[]) => repeat(parts.join(''))

/** Contents that are worst for a reader that looks ahead, looks again, or joins what it has. */
const CSV: readonly (readonly [string, string])[] = [
  ['short lines, and a quote at the end of each 128 KiB', join(repeat('a\n', 131_068), '"b"\n')],
  ['empty lines that end with CRLF', repeat('\r\n')],
  ['one line of separators', repeat(',')],
  ['quotes', repeat('"')],
  ['values of doubled quotes and line ends', join('"', repeat('""\n', 250_000), '"\n')],
  ['a quote that opens on each line', repeat('"a\n')],
  ['two quotes on each line that open with those before and after', `"${repeat('","\n')}`],
  ['quotes that are doubled on each line', `"${repeat('a""\n')}`],
  ['a quote within each value', repeat('a"b,\n')],
  ['a quote that opens a long header', `"a${repeat(',', 200_000)}\n${repeat('1\n')}`],
  ['many columns', `${repeat('c,', 200_000)}\n${repeat('1\n')}`],
]

const NDJSON: readonly (readonly [string, string])[] = [
  ['empty objects', repeat('{}\n')],
  ['escapes', join('{"a":"', repeat('\\u0000', 250_000), '"}\n')],
  ['lists next to lists', join('{"a":[', repeat('[],', 250_000), '1]}\n')],
  ['one line', repeat(' ')],
]

/** Chunks as a connection or a decompressor gives them. */
const SIZES = [100, 256 * 1024]

async function scan(format: Format, content: string, size: number): Promise<void> {
  const scanner = new Scanner(format, ['a'])
  for await (const piece of inTurns(inChunks(content, size))) scanner.push(piece)
  scanner.end()
}

/** Takes up to 2 MiB: a short file can become a long one. */
async function take(pieces: AsyncIterable<Buffer>): Promise<void> {
  let taken = 0
  for await (const piece of pieces) {
    taken += piece.length
    if (taken > 4 * BYTES) break
  }
}

const unlessRefused = (error: unknown) => {
  if (!(error instanceof Problem)) throw error
}

/** Of a byte, and of what is taken: it is decoded, searched for each of a few bytes, and joined to a longest record. */
const LOOKS = 60
/** Between two turns: a piece, or a longest record, and the looks at it. That takes a few milliseconds. */
const MOST = 8 * BYTES

/** At 100 bytes and less in a chunk, the content is shorter, because the test itself passes each chunk on. */
const of = (content: string, size: number) =>
  content.slice(0, size <= 100 ? 300_000 * Math.min(size, 3) : undefined)

describe('the event loop waits for a bounded number of bytes, and each is looked at a bounded number of times', () => {
  test.each([
    ...CSV.map(([name, content]) => ['csv', name, content] as const),
    ...NDJSON.map(([name, content]) => ['ndjson', name, content] as const),
  ])('%s: %s', async (format, _, content) => {
    for (const size of SIZES) {
      const text = of(content, size)
      const { total, most } = await countWork(() => scan(format, text, size).catch(unlessRefused))
      expect(total).toBeLessThan(LOOKS * text.length)
      expect(most).toBeLessThan(MOST)
    }
    const convert = format === 'csv' ? csvToNdjson : ndjsonToCsv
    const converted = await countWork(() =>
      take(convert(() => inChunks(content, BYTES), FORM)).catch(unlessRefused),
    )
    expect(converted.total).toBeLessThan(LOOKS * 5 * BYTES)
    expect(converted.most).toBeLessThan(MOST)
  })
})

test('a file that is built from records is read in turns', async () => {
  const database = await openTemporary()
  const sealer = new Sealer()
  const batch = Buffer.from(repeat('{"localId":"x","record":{"a":"x","b":"y"}}\n', BYTES))
  const whole = batch.subarray(0, batch.lastIndexOf('\n') + 1)
  const data = await packChunk(sealer.begin(), 'built', 0, whole)
  await changeSubmission(database, 's', (writer) =>
    insertChunk(writer, { version: 'built', ordinal: 0, data }),
  )
  const file = { version: 'built', chunks: 1, batches: 1, format: 'ndjson' } as const
  const { most } = await countWork(() => take(readCurrentFile(database, sealer, file)))
  expect(most).toBeLessThan(MOST)
})

test('files in other encodings are decoded in turns', async () => {
  const text = repeat('a,ā\n', BYTES / 2)
  const wide = [Buffer.from(`\ufeff${text}`, 'utf16le'), Buffer.from(`\ufeff${text}`, 'utf16le').swap16()]
  const codes = Buffer.from(
    Uint32Array.from([0xfeff, ...Array.from(text, (each) => each.charCodeAt(0))]).buffer,
  )
  const strays = Buffer.from(repeat('\xe9\xff\xc3', BYTES), 'latin1')
  for (const content of [...wide, codes, strays]) {
    const look = new EncodingLook()
    const { total, most } = await countWork(async () => {
      // As one chunk, which a decompressor would not give.
      for await (const piece of inTurns(new WideText(inChunks(content, content.length)).read()))
        look.push(piece)
      look.end()
    })
    expect(total).toBeLessThan(LOOKS * content.length)
    expect(most).toBeLessThan(MOST)
  }
})

test('a long first line is read a bounded number of times for each field of its definition', async () => {
  const { resources } = loadDefinition(findDefinition('sdr'), { examples: false })
  const fields = resources.flatMap((each) => each.fields).length
  const starts = CSV.map(([name, content]) => [name, content.slice(0, 16 * 1024)] as const)
  for (const [name, start] of starts.filter(([, start]) => !start.includes('\n'))) {
    const { total } = await countWork(async () =>
      resources.slice(0, 1).map((own) => judgeFirstLine(Buffer.from(start), own, resources)),
    )
    expect([name, total < LOOKS * start.length * fields]).toEqual([name, true])
  }
})

test('pieces have at most 64 KiB, hold what the chunks hold, and a turn passes between them if they take long', async () => {
  for (const size of [1000, 65_536, 70_000, 500_000]) {
    const content = Buffer.from(repeat('0123456789abcdef.', 500_000))
    const pieces: Buffer[] = []
    let [turns, counted] = [0, 0]
    const count = () => {
      turns++
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    for await (const piece of inTurns(inChunks(content, size))) {
      expect(piece.length).toBeLessThanOrEqual(65_536)
      if (pieces.length > 0) expect(turns).toBeGreaterThan(counted)
      counted = turns
      pieces.push(Buffer.from(piece))
      const work = new TimedTurns()
      while (!work.isOver);
    }
    clearImmediate(next)
    expect(Buffer.concat(pieces).equals(content)).toBe(true)
  }
})

test('a line is the same wherever pieces end, and a line that is too long hides no other', async () => {
  const lines = [
    '\ufefffirst',
    '',
    'x'.repeat(262_144),
    'y'.repeat(262_145),
    'z'.repeat(900_000),
    'ā',
    'last',
  ]
  for (const size of [777, 65_536, 10_000_000]) {
    const found: (string | undefined)[] = []
    const places: number[] = []
    for await (const reader of readInTurns(
      inChunks(lines.join('\n'), size),
      (source) => new LineReader(source),
    )) {
      while (reader.next()) {
        found.push(reader.bytes?.toString())
        places.push(reader.offset)
      }
    }
    expect(found).toEqual(['first', '', lines[2], undefined, undefined, 'ā', 'last'])
    const starts = lines.map((_, index) =>
      Buffer.byteLength(
        lines
          .slice(0, index)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    )
    expect(places).toEqual([3, ...starts.slice(1)])
  }
})
