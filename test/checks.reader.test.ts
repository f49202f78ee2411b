import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordTexts } from '../src/engines/checking/engine/record-text.ts'
import {
  CsvReader,
  FileSource,
  MAX_CHECKED_RECORD,
  type RecordFault,
  splitRecord,
} from '../src/engines/records/index.ts'
import { countWork } from './support/counted-work.ts'
import { cases } from './support/properties.ts'
import { temporaryFolder } from './support/temporary.ts'

const atom = fc.constantFrom(
  'a',
  'Māori',
  '',
  '"',
  ',',
  ';',
  '\t',
  '\n',
  '\r\n',
  'x y',
  '€',
  '123',
  '😀',
  '\u2028',
)
const value = fc.array(atom, { maxLength: 4 }).map((parts) => parts.join(''))
const table = fc.integer({ min: 1, max: 5 }).chain((width) =>
  fc.array(fc.array(fc.tuple(value, fc.boolean()), { minLength: width, maxLength: width }), {
    minLength: 1,
    maxLength: 12,
  }),
)
const file = fc.record({
  rows: table,
  separator: fc.constantFrom(',', ';', '\t'),
  lineEnd: fc.constantFrom('\n', '\r\n'),
  mark: fc.constantFrom('', '\ufeff'),
  ended: fc.boolean(),
  emptyLines: fc.boolean(),
  chunk: fc.integer({ min: 1, max: 64 }),
})

interface Read {
  readonly cells: string[]
  readonly line: number
  readonly offset: number
  readonly fault: RecordFault | undefined
}

function readAll(path: string, separator: string, chunk: number): Read[] {
  const source = new FileSource(path)
  const reader = new CsvReader(source.read, { separator, chunk })
  const records: Read[] = []
  while (reader.next()) {
    const { line, offset, fault } = reader
    records.push({ cells: reader.cells.slice(0, reader.count), line, offset, fault })
  }
  source.close()
  return records
}

test('the reader agrees with csv-parse on every file, wherever its chunks end', () => {
  const path = join(temporaryFolder(), 'file.csv')
  fc.assert(
    fc.property(file, ({ rows, separator, lineEnd, mark, ended, emptyLines, chunk }) => {
      const special = new RegExp(`["\\r\\n${separator}]`)
      const lines = rows.map((row) =>
        row
          .map(([text, quoted]) => {
            // An empty line is no record, so an only value that is empty needs quotes.
            const needed = special.test(text) || (row.length === 1 && text === '')
            return needed || quoted ? `"${text.replaceAll('"', '""')}"` : text
          })
          .join(separator),
      )
      const between = emptyLines ? lineEnd + lineEnd : lineEnd
      const text = mark + lines.join(between) + (ended ? lineEnd : '')
      writeFileSync(path, text)
      const expected = parse(text, {
        bom: true,
        delimiter: separator,
        record_delimiter: ['\r\n', '\n'],
        skip_empty_lines: true,
      }) as string[][]
      const records = readAll(path, separator, chunk)
      expect(records.map(({ cells }) => cells)).toEqual(expected)
      expect(records.every(({ fault }) => fault === undefined)).toBe(true)

      let line = 1
      const texts = new RecordTexts(path)
      for (const [index, record] of records.entries()) {
        const exact = lines[index] ?? ''
        expect(record.line).toBe(line)
        const shown = texts.read(record.offset, records[index + 1]?.offset)
        expect(shown).toBe(exact)
        expect(splitRecord(shown, separator)).toEqual(record.cells)
        line += exact.split('\n').length + (emptyLines ? 1 : 0)
      }
      texts.close()
    }),
    cases(200),
  )
})

test('faults are the same wherever the chunks of the reader end', () => {
  const path = join(temporaryFolder(), 'file.csv')
  const piece = fc.constantFrom('a', ',', '"', '""', '\n', '\r\n', '\r', 'ā', '😀', 'b,c\n', ',"x"\n', '\0')
  const bytes = fc.array(piece, { maxLength: 40 }).map((parts) => Buffer.from(parts.join('')))
  const broken = fc
    .tuple(bytes, fc.uint8Array({ maxLength: 3 }))
    .map(([one, two]) => Buffer.concat([one, two]))
  fc.assert(
    fc.property(broken, fc.integer({ min: 1, max: 9 }), (content, chunk) => {
      writeFileSync(path, content)
      expect(readAll(path, ',', chunk)).toEqual(readAll(path, ',', 1 << 20))
    }),
    cases(100),
  )
})

const TOO_LONG = 'The record is longer than 256 KiB.'

/** The line of each record of a text, and its cells or its fault. */
function readText(text: string, chunk = 1 << 16, separator = ','): [number, string | string[]][] {
  const path = join(temporaryFolder(), 'file.csv')
  writeFileSync(path, text)
  return readAll(path, separator, chunk).map(({ line, fault, cells }) => [line, fault?.message ?? cells])
}

test('a misplaced quote is a fault of one record, and one that is never closed hides no record', () => {
  expect(readText('a,b\n1,"open\n2,x\n3,"y"z\n4,5" pipe\n6,"ok"\n7,"open\n8,x\n')).toEqual([
    [1, ['a', 'b']],
    [2, 'A closing quote is followed by other text.'],
    [3, ['2', 'x']],
    [4, 'A closing quote is followed by other text.'],
    [5, 'A value without quotes around it contains a quote.'],
    [6, ['6', 'ok']],
    [7, 'A quote that opens in this record, on line 7, is not closed.'],
    [8, ['8', 'x']],
  ])
})

test('a record that is too long is passed over, and one of the greatest length is not', () => {
  const longest = 'x'.repeat(MAX_CHECKED_RECORD - 2)
  const text = `a,b\n${longest},y\n${longest},yy\n${'z'.repeat(2 * 1024 * 1024)}\n"${'q\n'.repeat(2e5)}"\n1,2\n`
  expect(readText(text)).toEqual([
    [1, ['a', 'b']],
    [2, [longest, 'y']],
    [3, TOO_LONG],
    [4, TOO_LONG],
    [5, TOO_LONG],
    [5 + 200_001, ['1', '2']],
  ])
})

describe('a quoted value that is too long', () => {
  const long = 'some words of a text\n'.repeat(20_000)

  test.each([
    ['at its end', `1,"${long}"`],
    ['with doubled quotes', `1,"${long.replaceAll('words', '""words""')}"`],
    ['with CRLF', `1,"${long.replaceAll('\n', '\r\n')}"\r`],
    ['before another value', `"${long}",2`],
    ['before a value of several lines', `"${long.slice(1)}","1\n2"`.replace('\n', '')],
    ['with a long first line', `1,"${'x'.repeat(300_000)}\n${long.replace('\n', '')}"`],
    ['that ends between the limit and the next chunk', `1,"${'word\n'.repeat(52_450)}"`],
  ])('is one fault: %s', (_, record) => {
    const next = 2 + record.split('\n').length
    for (const chunk of [997, 1 << 16])
      expect(readText(`a,b\n${record}\n2,"x"\n`, chunk)).toEqual([
        [1, ['a', 'b']],
        [2, TOO_LONG],
        [next, ['2', 'x']],
      ])
  })

  test('is one record where records are only counted', () => {
    const path = join(temporaryFolder(), 'file.csv')
    writeFileSync(path, `a,b\n1,"${long}"\n2,x\n`)
    const source = new FileSource(path)
    const reader = new CsvReader(source.read, { countsOnly: true })
    let records = 0
    while (reader.next()) records++
    source.close()
    expect(records).toBe(3)
  })

  test('is one fault at the end of a file, and its quote is named if it is not closed', () => {
    expect(readText(`a,b\n1,"${long}"`).slice(1)).toEqual([[2, TOO_LONG]])
    expect(readText(`a,b\n1,"${long}`).slice(1)).toEqual([
      [2, 'A quote that opens in this record, on line 2, is not closed.'],
    ])
  })

  test.each(['"', '""', ',"', '\n"', '"\n', ',"a"', '"\n,"', 'a,"\n', '",'])(
    'is not looked at again and again: twice as many of %j need at most three times the work',
    async (part) => {
      const work = async (bytes: number) =>
        await countWork(async () => readText(`a,b\n1,"${part.repeat(bytes / part.length)}\n2,x\n`, 1 << 14))
      const [half, whole] = [await work(280_000), await work(560_000)]
      expect(whole.total).toBeLessThan(half.total * 3)
    },
  )

  test('hides no records if its quote is misplaced in a line that is too long itself', () => {
    expect(readText(`a,b\n${'x'.repeat(300_000)},"y\n2,x\n3,"z"\n`).slice(1)).toEqual([
      [2, TOO_LONG],
      [3, ['2', 'x']],
      [4, ['3', 'z']],
    ])
  })
})

test('every record of the reader starts at its offset', () => {
  const path = join(temporaryFolder(), 'file.csv')
  writeFileSync(path, '\ufeffname,x\nMāori,1\n\n"two\nlines",2\r\n€,3')
  const bytes = readFileSync(path)
  const starts = readAll(path, ',', 4).map(({ offset }) => bytes.toString('utf8', offset, offset + 3))
  expect(starts.map((start) => start[0])).toEqual(['n', 'M', '"', '€'])
})
