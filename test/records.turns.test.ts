import { describe, expect, test } from 'vitest'
import { inTurns, LineReader, readInTurns } from '../src/engines/records/index.ts'
import { csvToNdjson, ndjsonToCsv } from '../src/submissions/files/convert.ts'
import { type Format, Scanner } from '../src/submissions/files/scan.ts'
import { Refusal } from '../src/submissions/refusal.ts'
import { countWork } from './support/counted-work.ts'
import { inChunks } from './support/reading.ts'

const BYTES = 2 ** 19
const FORM = { localId: 'a', fields: [{ name: 'a', delimiter: ';' }] }

const repeat = (text: string, bytes = BYTES) => text.repeat(Math.ceil(bytes / text.length))
const join = (...parts: string[]) => repeat(parts.join(''))

/** Contents that are worst for a reader that looks ahead, looks again, or joins what it has. */
const CSV: readonly (readonly [string, string])[] = [
  ['short lines', repeat('a\n')],
  ['short lines, and a quote at the end of each 128 KiB', join(repeat('a\n', 131_068), '"b"\n')],
  ['short lines, and a separator at the end of each 128 KiB', join(repeat('a\n', 131_068), 'b,\n')],
  ['short lines that end with CRLF', repeat('a\r\n')],
  ['empty lines', repeat('\n')],
  ['empty lines that end with CRLF', repeat('\r\n')],
  ['one line', repeat('a')],
  ['one line of separators', repeat(',')],
  ['lines of 250 KiB of separators', join(repeat(',', 256_000), '\n')],
  ['lines of 300 KiB', join(repeat('a', 300_000), '\n')],
  ['quotes', repeat('"')],
  ['values of doubled quotes', join('"', repeat('""', 250_000), '"\n')],
  ['values of line ends', join('"', repeat('\n', 250_000), '"\n')],
  ['values of doubled quotes and line ends', join('"', repeat('""\n', 250_000), '"\n')],
  ['a quote that opens on each line', repeat('"a\n')],
  ['a quote that opens after a separator on each line', repeat('b,"a\n')],
  ['two quotes on each line that open with those before and after', `"${repeat('","\n')}`],
  ['quotes that are doubled on each line', `"${repeat('a""\n')}`],
  ['a quote within each value', repeat('a"b,\n')],
  ['many columns', `${repeat('c,', 200_000)}\n${repeat('1\n')}`],
  ['separators of three kinds', repeat('a,;\t\n')],
  ['letters of two bytes', repeat('ā\n')],
  ['NUL', repeat('\0\n')],
]

const NDJSON: readonly (readonly [string, string])[] = [
  ['empty objects', repeat('{}\n')],
  ['small objects', repeat('{"a":1}\n')],
  ['blank lines', repeat('  \n')],
  ['empty lines', repeat('\n')],
  ['one object of 250 KiB on each line', join('{"a":"', repeat('x', 250_000), '"}\n')],
  ['escapes', join('{"a":"', repeat('\\u0000', 250_000), '"}\n')],
  ['lists in lists', join('{"a":', '['.repeat(90), ']'.repeat(90), '}\n')],
  ['lists next to lists', join('{"a":[', repeat('[],', 250_000), '1]}\n')],
  ['one line', repeat(' ')],
]

/** Chunks as a connection or a decompressor gives them. */
const SIZES = [1, 100, 256 * 1024, 4 * BYTES]

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
  if (!(error instanceof Refusal)) throw error
}

/** Of a byte, and of what is taken: it is decoded, searched for each of a few bytes, and joined to a longest record. */
const LOOKS = 60
/** Some milliseconds on any machine: a searching function looks at a byte in less than a nanosecond. */
const MOST = 16 * BYTES

/** At 100 bytes and less in a chunk, the content is shorter, because the test itself passes each chunk on. */
const of = (content: string, size: number) =>
  content.slice(0, size <= 100 ? 300_000 * Math.min(size, 3) : undefined)

describe('the event loop waits for a bounded number of bytes, and each is looked at a bounded number of times', () => {
  test.each(CSV)('CSV: %s', { timeout: 300_000 }, async (_, content) => {
    for (const size of SIZES) {
      const text = of(content, size)
      const { total, most } = await countWork(() => scan('csv', text, size).catch(unlessRefused))
      expect(total).toBeLessThan(LOOKS * text.length)
      expect(most).toBeLessThan(MOST)
    }
    const converted = await countWork(() => take(csvToNdjson(inChunks(content, BYTES), FORM)))
    expect(converted.total).toBeLessThan(LOOKS * 5 * BYTES)
    expect(converted.most).toBeLessThan(MOST)
  })

  test.each(NDJSON)('NDJSON: %s', { timeout: 300_000 }, async (_, content) => {
    for (const size of SIZES) {
      const text = of(content, size)
      const { total, most } = await countWork(() => scan('ndjson', text, size).catch(unlessRefused))
      expect(total).toBeLessThan(LOOKS * text.length)
      expect(most).toBeLessThan(MOST)
    }
    const open = () => inChunks(content, BYTES)
    const converted = await countWork(() => take(ndjsonToCsv(open, FORM)).catch(unlessRefused))
    expect(converted.total).toBeLessThan(LOOKS * 5 * BYTES)
    expect(converted.most).toBeLessThan(MOST)
  })
})

test('pieces have at most 64 KiB, hold what the chunks hold, and a turn passes between them', async () => {
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
