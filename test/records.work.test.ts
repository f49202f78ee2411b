import { describe, expect, test } from 'vitest'
import { Problem } from '../src/api/request/problems.ts'
import { findDefinition, judgeFirstLine, loadDefinition } from '../src/engines/checking/index.ts'
import { EncodingLook, LineReader, readAsArriving } from '../src/engines/records/index.ts'
import { csvToNdjson, ndjsonToCsv } from '../src/submissions/files/convert.ts'
import { decodeWide } from '../src/submissions/files/decode.ts'
import { type Format, Scanner } from '../src/submissions/files/scan.ts'
import { countWork } from './support/counted-work.ts'
import { inChunks } from './support/reading.ts'

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

/** Chunks as a decompressor or a disk gives them. */
const SIZES = [16 * 1024, 256 * 1024]

async function scan(format: Format, content: string, size: number): Promise<void> {
  const scanner = new Scanner(format, ['a'])
  for await (const piece of inChunks(content, size)) scanner.push(piece)
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

describe('each byte of a file is looked at a bounded number of times', () => {
  test.each([
    ...CSV.map(([name, content]) => ['csv', name, content] as const),
    ...NDJSON.map(([name, content]) => ['ndjson', name, content] as const),
  ])('%s: %s', async (format, _, content) => {
    for (const size of SIZES) {
      const { total } = await countWork(() => scan(format, content, size).catch(unlessRefused))
      expect(total).toBeLessThan(LOOKS * content.length)
    }
    const convert = format === 'csv' ? csvToNdjson : ndjsonToCsv
    const converted = await countWork(() =>
      take(convert(() => inChunks(content, BYTES), FORM)).catch(unlessRefused),
    )
    expect(converted.total).toBeLessThan(LOOKS * 5 * BYTES)
  })
})

test('each byte in another encoding is looked at a bounded number of times', async () => {
  const text = repeat('a,ā\n', BYTES / 2)
  const wide = [Buffer.from(`\ufeff${text}`, 'utf16le'), Buffer.from(`\ufeff${text}`, 'utf16le').swap16()]
  const codes = Buffer.from(
    Uint32Array.from([0xfeff, ...Array.from(text, (each) => each.charCodeAt(0))]).buffer,
  )
  const strays = Buffer.from(repeat('\xe9\xff\xc3', BYTES), 'latin1')
  for (const content of [...wide, codes, strays]) {
    const look = new EncodingLook()
    const { total } = await countWork(async () => {
      // As one chunk, which a decompressor would not give.
      for await (const piece of decodeWide(inChunks(content, content.length), () => undefined))
        look.push(piece)
      look.end()
    })
    expect(total).toBeLessThan(LOOKS * content.length)
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
    for await (const reader of readAsArriving(
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
