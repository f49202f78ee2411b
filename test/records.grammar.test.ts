import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Resource } from '../src/engines/checking/definition/definition.ts'
import { openFile } from '../src/engines/checking/engine/read-file.ts'
import { MAX_DEPTH, parseRecord, renderRecord } from '../src/engines/records/index.ts'
import { csvToNdjson, ndjsonToCsv } from '../src/submissions/files/convert.ts'
import { Scanner } from '../src/submissions/files/scan.ts'
import { check } from './support/checking.ts'
import { cases } from './support/properties.ts'
import { inChunks } from './support/reading.ts'
import { temporaryFolder } from './support/temporary.ts'

const FIELDS = ['localId', 'enrolmentType', 'note (a, b, c, d)', 'fee; in NZD', 'toString']
const FORM = { localId: 'localId', fields: FIELDS.map((name) => ({ name, delimiter: '|' })) }
const RESOURCE = {
  fields: FIELDS.map((name) => ({ name, mayBeAbsent: true, delimiter: '|' })),
  missingColumns: true,
  unknownColumns: true,
  dialect: { headerRows: [1] },
} as unknown as Resource

type Table = readonly (readonly (readonly [string, string])[])[]

/** The records of a file as the check engine reads them: their values by column, without empty ones. */
function readByEngine(path: string, content: Buffer): Table {
  writeFileSync(path, content)
  const { reader, close, columns, fault } = openFile(
    { path, hasNul: false } as never,
    'members.csv',
    RESOURCE,
  )
  expect(fault).toBeUndefined()
  const records: [string, string][][] = []
  while (reader.next()) {
    expect(reader.fault).toBeUndefined()
    records.push(
      FIELDS.flatMap((name, index): [string, string][] => {
        const position = columns.positions[index] ?? -1
        const value = position < 0 ? '' : (reader.cells[position] ?? '')
        return value === '' ? [] : [[name, value]]
      }),
    )
  }
  close()
  return records
}

async function convert(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces))
}

const atom = fc.constantFrom('a', 'ā', '"', ',', ';', '\t', '\n', '\r\n', ' ', '😀', '{', "'", '=')
const value = fc.array(atom, { maxLength: 4 }).map((parts) => parts.join(''))
const file = fc.record({
  names: fc.shuffledSubarray(FIELDS, { minLength: 2 }),
  rows: fc.array(fc.array(value, { minLength: FIELDS.length, maxLength: FIELDS.length }), { maxLength: 6 }),
  separator: fc.constantFrom(',', ';', '\t'),
  lineEnd: fc.constantFrom('\n', '\r\n'),
  mark: fc.constantFrom('', '\ufeff'),
  allQuoted: fc.boolean(),
  ended: fc.boolean(),
  chunk: fc.integer({ min: 1, max: 50 }),
})

test('check, upload, conversion and what they write agree about every file', async () => {
  const path = join(temporaryFolder(), 'members.csv')
  await fc.assert(
    fc.asyncProperty(file, async ({ names, rows, separator, lineEnd, mark, allQuoted, ended, chunk }) => {
      const quoteAll = (cells: readonly string[]) =>
        cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(separator)
      const lines = [names, ...rows.map((row) => row.slice(0, names.length))].map((cells) =>
        allQuoted ? quoteAll(cells) : renderRecord(cells, separator),
      )
      const content = Buffer.from(mark + lines.join(lineEnd) + (ended ? lineEnd : ''))
      const expected = rows.map((row) =>
        FIELDS.flatMap((name) => {
          const cell = names.includes(name) ? (row[names.indexOf(name)] ?? '') : ''
          return cell === '' ? [] : [[name, cell]]
        }),
      )

      expect(readByEngine(path, content)).toEqual(expected)

      const scanner = new Scanner('csv', FIELDS)
      for await (const piece of inChunks(content, chunk)) scanner.push(piece)
      expect(scanner.end()).toBe(rows.length)

      const ndjson = await convert(csvToNdjson(() => inChunks(content, chunk), FORM))
      const records = ndjson.toString().split('\n').slice(0, -1)
      expect(records.map((line) => Object.entries(JSON.parse(line) as object).sort())).toEqual(
        expected.map((record) => record.toSorted()),
      )

      const csv = await convert(ndjsonToCsv(() => inChunks(ndjson, chunk), FORM))
      // Without a value in any record, a file has no known column.
      if (expected.some((record) => record.length > 0))
        expect(readByEngine(path, csv).map((record) => record.toSorted())).toEqual(
          expected.map((record) => record.toSorted()),
        )
    }),
    cases(150),
  )
})

test('known columns decide about the separator, whatever the other names contain', async () => {
  const text = 'localId;enrolmentType;note (a, b, c, d)\nL1;Full;x, y\n'
  const [record] = (await convert(csvToNdjson(() => inChunks(text, 5), FORM))).toString().split('\n')
  expect(JSON.parse(record ?? '')).toEqual({
    localId: 'L1',
    enrolmentType: 'Full',
    'note (a, b, c, d)': 'x, y',
  })
})

const INHERITED = Object.getOwnPropertyNames(Object.prototype)

test('a field may have the name of any property that objects inherit, and nobody else gets it', async () => {
  const own = Object.fromEntries(INHERITED.map((name) => [name, `own ${name}`]))
  const ndjson = `${JSON.stringify({ localId: 'L1', ...own })}\n{"localId":"L2"}\n`
  const csv = (await convert(ndjsonToCsv(() => inChunks(ndjson, 7), FORM))).toString()
  expect(csv.split('\r\n')[2]).toBe(`L2${','.repeat(INHERITED.length)}`)
  const back = (await convert(csvToNdjson(() => inChunks(csv, 7), FORM))).toString().split('\n')
  expect(JSON.parse(back[0] ?? '')).toEqual(JSON.parse(ndjson.split('\n')[0] ?? ''))
  expect(back[1]).toBe('{"localId":"L2"}')
  for (const name of INHERITED) expect(parseRecord('{"a":1}').record?.[name]).toBeUndefined()
})

const nested = (depth: number) => `{"memberId":"M1","extra":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

test('JSON that is nested too deeply is a fault of its record, and hides no other finding', async () => {
  expect(parseRecord(nested(MAX_DEPTH)).fault).toBeUndefined()
  const wide = nested(MAX_DEPTH).replace('{', '{"wide":[[],[],[]],')
  expect(parseRecord(wide).fault).toBeUndefined()
  for (const depth of [MAX_DEPTH + 1, 5_000, 60_000]) {
    expect(parseRecord(nested(depth)).fault).toBe('is nested more than 100 levels deep')
    const faulty = '{"memberId":"M2","born":"tomorrow"}'
    const { findings } = await check({ 'members.ndjson': `${nested(depth)}\n${faulty}\n` })
    const messages = findings.map(({ line, errorDescription }) => `${line}: ${errorDescription}`)
    expect(messages.filter((message) => message.startsWith('1: '))).toEqual([
      expect.stringContaining('The line is nested more than 100 levels deep.'),
    ])
    expect(messages.some((message) => message.startsWith('2: '))).toBe(true)
  }
})
