import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readXlsx } from '../src/engines/records/read-xlsx.ts'
import { PUBLISHED_COLUMNS } from '../src/submissions/findings/publish.ts'
import { readAll } from './support/reading.ts'
import { temporaryFolder } from './support/temporary.ts'
import { makeXlsx } from './support/xlsx.ts'

async function read(content: Buffer, sheet?: string) {
  const path = join(temporaryFolder(), 'results.xlsx')
  writeFileSync(path, content)
  const { records, faults } = await readAll(readXlsx(path, { columns: PUBLISHED_COLUMNS, sheet }))
  return {
    ids: records.map(({ value }) => (value as { localId: string }).localId),
    messages: faults.map(({ message }) => message),
  }
}

test('one of several sheets must be chosen by its name', async () => {
  const workbook = makeXlsx({ One: [['localId'], ['L1']], Two: [['localId'], ['L2']] })
  expect(await read(workbook, 'Two')).toEqual({ ids: ['L2'], messages: [] })
  const listed = 'The sheets are "One", "Two"'
  expect(await read(workbook)).toEqual({
    ids: [],
    messages: [`has 2 sheets: choose one with --sheet. ${listed}`],
  })
  expect((await read(workbook, 'Three')).messages).toEqual([expect.stringContaining(listed)])
})

test('a cell beyond the named columns is a fault of its row', async () => {
  const { messages } = await read(makeXlsx({ Sheet1: [['localId'], ['L1'], ['L2', 'x']] }))
  expect(messages).toEqual(['has cells beyond the 1 named columns'])
})

test('the files of a workbook are unpacked to at most 200 MiB together', async () => {
  const header = Buffer.alloc(30)
  header.write('PK\u0003\u0004', 'latin1')
  header.writeUInt16LE(8, 8)
  const half = Buffer.concat([header, deflateRawSync(Buffer.alloc(110 * 2 ** 20), { level: 1 })])
  expect((await read(half)).messages).toEqual(['is not a spreadsheet in the XLSX format, or is damaged'])
  expect((await read(Buffer.concat([half, half]))).messages).toEqual([
    'unpacks to more than 209715200 bytes, the most for a spreadsheet: save it as CSV',
  ])
})
