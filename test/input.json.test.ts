import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_RECORD_BYTES } from '../src/engines/records/read-bytes.ts'
import { readJson } from '../src/engines/records/read-json.ts'
import { cases } from './support/properties.ts'
import { inChunks, readAll } from './support/reading.ts'

const FILE = 'records.json'

async function read(content: string | Buffer, chunkSize = 7) {
  return await readAll(readJson(FILE, inChunks(content, chunkSize)))
}

/** The one fault that a text has, as `line: message`. */
async function complain(content: string | Buffer, chunkSize?: number): Promise<string> {
  const { faults } = await read(content, chunkSize)
  expect(faults).toHaveLength(1)
  return `${faults[0]?.line}: ${faults[0]?.message}`
}

test('a list may be on one line, or each record over many, and has the line on which it starts', async () => {
  const compact = await read('[{"a":1},{"a":2}]')
  expect(compact.records.map(({ line, value }) => [line, value])).toEqual([
    [1, { a: 1 }],
    [1, { a: 2 }],
  ])

  const pretty = await read(JSON.stringify([{ a: 1, b: [1, 2] }, { a: 2 }, { a: 3 }], null, 2))
  expect(pretty.records.map(({ line, value }) => [line, value])).toEqual([
    [2, { a: 1, b: [1, 2] }],
    [9, { a: 2 }],
    [12, { a: 3 }],
  ])
})

test('an empty list holds no record and no fault', async () => {
  for (const text of ['[]', ' [ ] ', '[\n]\n']) expect(await read(text)).toEqual({ records: [], faults: [] })
})

test('chunks and white space do not change the result', async () => {
  const values = fc.oneof(fc.jsonValue(), fc.string({ unit: fc.constantFrom(...'[]{},"\\:é😀 \n') }))
  await fc.assert(
    fc.asyncProperty(
      fc.array(values, { maxLength: 6 }),
      fc.constantFrom(undefined, 1, '\t'),
      fc.integer({ min: 1, max: 40 }),
      async (list, space, size) => {
        const { records, faults } = await read(JSON.stringify(list, null, space), size)
        expect(faults).toEqual([])
        expect(records.map(({ value }) => value)).toEqual(JSON.parse(JSON.stringify(list)))
      },
    ),
    cases(100),
  )
})

test('the line of a record is that of its first character, however the list is laid out', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('', ' ', '\n', '\r\n\n'), fc.constantFrom('', '\n', '  ')), {
        maxLength: 6,
      }),
      fc.integer({ min: 1, max: 9 }),
      async (layout, size) => {
        let text = '['
        const expected = layout.map(([before, after], index) => {
          text += `${index > 0 ? ',' : ''}${before}`
          const line = text.split('\n').length
          text += `{"a":\n${index}}${after}`
          return line
        })
        const { records } = await read(`${text}]`, size)
        expect(records.map(({ line }) => line)).toEqual(expected)
      },
    ),
    cases(100),
  )
})

describe('a text that is not a list of records is refused with the line of the trouble', () => {
  const outside =
    'A JSON file must contain one list of records, from [ to ]. For one record per line, use NDJSON (.ndjson)'
  test.each([
    ['one record alone', '{"a":1}', `1: ${outside}`],
    ['one record a line', '\n{"a":1}\n{"a":2}\n', `2: ${outside}`],
    ['something after the list', '[{"a":1}]\n\nx', '3: Data follows the end of the list'],
    ['two lists', '[{"a":1}]\n[{"a":2}]', '2: Data follows the end of the list'],
  ])('%s', async (_, text, expected) => {
    expect(await complain(text)).toBe(expected)
  })

  test.each([
    ['in a record', '[\n{"a":1},\n{"a":'],
    ['in a text', '[\n{"a":1},\n{"a":"two]}'],
    ['between two records', '[\n{"a":1}\n,\n'],
  ])('cut off %s', async (_, text) => {
    expect(await complain(text)).toMatch(
      /^[34]: The file ends inside the list. It is truncated, or a bracket or quote is missing$/,
    )
  })

  test.each([
    ['a comma too many at the end', '[\n{"a":1},\n]'],
    ['a comma too many in between', '[\n{"a":1}\n,,{"a":2}]'],
    ['a missing comma', '[{"a":1},\n\n{"a":2}{"a":3}]'],
    ['single quotes', '[{"a":1},\n\n{\'a\':2}]'],
    ['a comma after the last field', '[{"a":1},\n\n{"a":2,}]'],
    ['a bracket of the wrong kind', '[{"a":1},\n\n{"a":2]}]'],
    ['a comment', '[{"a":1},\n\n/* two */{"a":2}]'],
  ])('%s', async (_, text) => {
    expect(await complain(text)).toMatch(/^3: is not JSON \([^\n]+\)$|^3: The file ends inside the list/)
  })
})

test('the records before the trouble are read', async () => {
  const { records, faults } = await read('[{"a":1},{"a":2},nonsense,{"a":3}]')
  expect(records.map(({ value }) => value)).toEqual([{ a: 1 }, { a: 2 }])
  expect(faults).toHaveLength(1)
})

test('a record that is not UTF-8 is refused by its line', async () => {
  const text = Buffer.from('[{"a":"ok"},\n{"a":"caf\u00e9"}]', 'latin1')
  expect(await complain(text)).toBe('2: is not UTF-8. Save the file as UTF-8')
})

test('a record of 20 MB is refused by the line on which it starts', async () => {
  const text = `[{"a":1},\n{"a":"${'x'.repeat(20_000_000)}"}]`
  expect(await complain(text, 256 * 1024)).toBe(
    `2: begins a record that is longer than ${MAX_RECORD_BYTES} bytes`,
  )
})

test('lists nested a hundred thousand deep neither overflow a stack nor hide the next record', async () => {
  const deep = 100_000
  const { records, faults } = await read(`[${'['.repeat(deep)}${']'.repeat(deep)},{"a":1}]`, 65_536)
  expect(faults).toEqual([])
  expect(records).toHaveLength(2)
})
