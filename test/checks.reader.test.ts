import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordTexts } from '../src/engines/checking/engine/record-text.ts'
import { CsvReader, FileSource, MAX_CHECKED_RECORD, splitRecord } from '../src/engines/records/index.ts'
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
  readonly fault: string | undefined
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
      const opened = openSync(path, 'r')
      const texts = new RecordTexts(opened)
      for (const [index, record] of records.entries()) {
        const exact = lines[index] ?? ''
        expect(record.line).toBe(line)
        const shown = texts.read(record.offset, records[index + 1]?.offset)
        expect(shown).toBe(exact)
        expect(splitRecord(shown, separator)).toEqual(record.cells)
        line += exact.split('\n').length + (emptyLines ? 1 : 0)
      }
      closeSync(opened)
    }),
    cases(1500),
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
    cases(500),
  )
})

test('a misplaced quote is a fault of one record, and the records after it are read', () => {
  const path = join(temporaryFolder(), 'file.csv')
  writeFileSync(path, 'a,b\n1,"open\n2,x\n3,"y"z\n4,5" pipe\n6,"ok"\n')
  expect(readAll(path, ',', 1 << 20).map(({ cells, line, fault }) => [line, fault ?? cells])).toEqual([
    [1, ['a', 'b']],
    [2, 'A closing quote is followed by other text.'],
    [3, ['2', 'x']],
    [4, 'A closing quote is followed by other text.'],
    [5, 'A value without quotes around it contains a quote.'],
    [6, ['6', 'ok']],
  ])
})

test('a quote that is never closed is reported with its line, and hides nothing', () => {
  const path = join(temporaryFolder(), 'file.csv')
  const rest = Array.from({ length: 50_000 }, (_, index) => `${index},x`).join('\n')
  writeFileSync(path, `a,b\n1,"open\n${rest}\n`)
  const records = readAll(path, ',', 1 << 16)
  expect(records[1]).toMatchObject({
    line: 2,
    fault: 'A quote that opens in this record, on line 2, is not closed.',
  })
  expect(records).toHaveLength(50_002)
})

test('a record that is too long is passed over, whatever its length', () => {
  const path = join(temporaryFolder(), 'file.csv')
  const longest = 'x'.repeat(MAX_CHECKED_RECORD - 2)
  writeFileSync(
    path,
    `a,b\n${longest},y\n${longest},yy\n${'z'.repeat(2 * 1024 * 1024)}\n"${'q\n'.repeat(2e5)}"\n1,2\n`,
  )
  const records = readAll(path, ',', 1 << 16)
  expect(records.slice(1, 5).map(({ line, fault }) => [line, fault])).toEqual([
    [2, undefined],
    [3, 'The record is longer than 256 KiB.'],
    [4, 'The record is longer than 256 KiB.'],
    [5, 'The record is longer than 256 KiB.'],
  ])
  expect(records[5]).toMatchObject({ cells: ['1', '2'], line: 5 + 200_001 })
  expect(records).toHaveLength(6)
})

describe('a quoted value that is too long', () => {
  const long = 'some words of a text\n'.repeat(20_000)
  const lines = 20_000
  const TOO_LONG = 'The record is longer than 256 KiB.'
  const read = (text: string, chunk = 1 << 16, separator = ',') => {
    const path = join(temporaryFolder(), 'file.csv')
    writeFileSync(path, text)
    return readAll(path, separator, chunk).map(({ line, fault, cells }) => [line, fault ?? cells])
  }

  test.each([997, 4093, 1 << 16, 1 << 20])('is one fault, read in chunks of %i bytes', (chunk) => {
    expect(read(`a,b\n1,"${long}"\n2,"x"\n`, chunk)).toEqual([
      [1, ['a', 'b']],
      [2, TOO_LONG],
      [3 + lines, ['2', 'x']],
    ])
  })

  test.each([
    ['doubled quotes', `1,"${long.replaceAll('words', '""words""')}"`],
    ['CRLF', `1,"${long.replaceAll('\n', '\r\n')}"\r`],
    ['a value behind it', `"${long}",2`],
    ['a value of several lines behind it', `"${long.slice(1)}","1\n2"`.replace('\n', '')],
    ['a long first line', `1,"${'x'.repeat(300_000)}\n${long.replace('\n', '')}"`],
    ['an end between the limit and the next chunk', `1,"${'word\n'.repeat(52_450)}"`],
  ])('is one fault with %s', (_, record) => {
    const next = 2 + record.split('\n').length
    for (const chunk of [997, 1 << 16])
      expect(read(`a,b\n${record}\n2,x\n`, chunk)).toEqual([
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

  test('is one fault with a separator of two bytes', () => {
    for (const chunk of [997, 1009, 4093, 1 << 16])
      expect(read(`a¦b\n"1"¦"${long}"¦"3"\n2¦x\n`, chunk, '¦')).toEqual([
        [1, ['a', 'b']],
        [2, TOO_LONG],
        [3 + lines, ['2', 'x']],
      ])
  })

  test('is one fault at the end of a file, and its quote is named if it is not closed', () => {
    expect(read(`a,b\n1,"${long}"`).slice(1)).toEqual([[2, TOO_LONG]])
    expect(read(`a,b\n1,"${long}`).slice(1)).toEqual([
      [2, 'A quote that opens in this record, on line 2, is not closed.'],
    ])
  })

  test('hides no records if its quote is misplaced in a line that is too long itself', () => {
    const records = read(`a,b\n${'x'.repeat(300_000)},"y\n2,x\n3,"z"\n`)
    expect(records.slice(1)).toEqual([
      [2, TOO_LONG],
      [3, ['2', 'x']],
      [4, ['3', 'z']],
    ])
  })

  test('is not looked at again and again, whatever its bytes', () => {
    const started = performance.now()
    for (const part of ['"', '""', ',"', '\n"', '"\n', ',"a"', '"\n,"', 'a,"\n', '",'])
      read(`a,b\n1,"${part.repeat(3_000_000 / part.length)}\n2,x\n`)
    expect(performance.now() - started).toBeLessThan(20_000)
  })
})

test('every record of the reader starts at its offset', () => {
  const path = join(temporaryFolder(), 'file.csv')
  const text = '\ufeffname,x\nMāori,1\n\n"two\nlines",2\r\n€,3'
  writeFileSync(path, text)
  const bytes = readFileSync(path)
  const starts = readAll(path, ',', 4).map(({ offset }) =>
    bytes.subarray(offset, offset + 2).toString('latin1'),
  )
  expect(starts).toEqual(['na', 'M\xc4', '"t', '\xe2\x82'])
})
