import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_RECORD_BYTES } from '../src/engines/records/read-bytes.ts'
import { readNdjson } from '../src/engines/records/read-ndjson.ts'
import { cases } from './support/properties.ts'
import { inChunks, readAll } from './support/reading.ts'

const FILE = 'records.ndjson'

async function read(content: string | Buffer, chunkSize = 7) {
  return await readAll(readNdjson(FILE, inChunks(content, chunkSize)))
}

/** `line: message` of each fault. */
async function complain(content: string | Buffer, chunkSize?: number): Promise<string[]> {
  const { faults } = await read(content, chunkSize)
  return faults.map(({ file, line, message }) => {
    expect(file).toBe(FILE)
    return `${line}: ${message}`
  })
}

test('each line is a record, and carries its number; CRLF ends a line as well, and the last one needs no end', async () => {
  const { records, faults } = await read('{"a":1}\r\n{"a":2}')
  expect(faults).toEqual([])
  expect(records).toEqual([
    { file: FILE, line: 1, value: { a: 1 } },
    { file: FILE, line: 2, value: { a: 2 } },
  ])
})

test('blank lines are passed over and counted', async () => {
  const { records } = await read('\n  \r\n{"a":1}\n\t\n\n{"a":2}\n\n')
  expect(records.map(({ line }) => line)).toEqual([3, 6])
})

test('a text without lines, or with only blank ones, is valid and has no records', async () => {
  for (const text of ['', '\n', '\n \r\n\n']) expect(await read(text)).toEqual({ records: [], faults: [] })
})

test('chunks do not change the result', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.jsonValue(), fc.string({ unit: 'grapheme' })), { minLength: 1, maxLength: 8 }),
      fc.constantFrom('\n', '\r\n', '\n\n'),
      fc.integer({ min: 1, max: 40 }),
      async (values, end, size) => {
        // A list would be taken for a JSON file, and told so.
        const records = values.map((value) => ({ value }))
        const text = records.map((record) => `${JSON.stringify(record)}${end}`).join('')
        const { records: found, faults } = await read(text, size)
        expect(faults).toEqual([])
        expect(found.map(({ value }) => value)).toEqual(JSON.parse(JSON.stringify(records)))
      },
    ),
    cases(100),
  )
})

test('every line that is not JSON is named, and the lines after it are read', async () => {
  const { records, faults } = await read('{"a":1}\n{"a":}\n{"a":2}\nnonsense\n{"a":3}\n')
  expect(records.map(({ value }) => value)).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }])
  expect(faults.map(({ line }) => line)).toEqual([2, 4])
  for (const { message } of faults) expect(message).toMatch(/^is not JSON \([^"]*\)$/)
})

test('a text cut off in the middle of a line says so', async () => {
  const [fault, ...others] = await complain('{"a":1}\n{"a":"two')
  expect(fault).toMatch(/^2: The file ends inside a record \(.*\). It is truncated or not JSON$/)
  expect(others).toEqual([])
})

test('a text that is not UTF-8 is refused once, by its first line that is not', async () => {
  const latin1 = Buffer.from('{"a":"ok"}\n\n{"a":"caf\u00e9"}\n{"a":"na\u00efve"}\n', 'latin1')
  expect(await complain(latin1)).toEqual(['3: is not UTF-8. Save the file as UTF-8'])
})

test('a list is a JSON file, and the message says so', async () => {
  const expected = ['1: The file starts with a list. Name a file with one list of records .json']
  expect(await complain('[{"a":1},{"a":2}]\n')).toEqual(expected)
  expect(await complain('[\n  {"a":1}\n]\n')).toEqual(expected)
})

test('a line that is too long is named, and the lines around it are read', async () => {
  const long = JSON.stringify({ a: 'x'.repeat(20_000_000) })
  const { records, faults } = await read(`{"a":1}\n${long}\n{"a":2}\n`, 256 * 1024)
  expect(records.map(({ line }) => line)).toEqual([1, 3])
  expect(faults).toEqual([
    {
      file: FILE,
      line: 2,
      message: `is longer than ${MAX_RECORD_BYTES} bytes. Each line must hold one record`,
    },
  ])
})

test('a line may be exactly as long as the limit, and not a byte longer', async () => {
  const line = JSON.stringify({ a: 'x'.repeat(MAX_RECORD_BYTES - 8) })
  expect(line).toHaveLength(MAX_RECORD_BYTES)
  expect(await complain(`${line}\n`, 65_536)).toEqual([])
  expect(await complain(`${line} \n`, 65_536)).toHaveLength(1)
})
