import { expect, test } from 'vitest'
import { csvToNdjson, ndjsonToCsv } from '../src/submissions/files/convert.ts'

const FORM = { localId: 'localId', fields: [] }

async function* contentOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

test('a CSV file with long names of columns is converted in pieces of limited size', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `column${index}`.padEnd(1_000, 'x'))
  const rows = Array.from({ length: 500 }, () => names.map(() => '1').join())
  let [records, most] = [0, 0]
  for await (const piece of csvToNdjson(() => contentOf(`${names.join()}\n${rows.join('\n')}\n`), FORM)) {
    most = Math.max(most, piece.length)
    for (const line of piece.toString().trimEnd().split('\n')) {
      records++
      expect(Object.keys(JSON.parse(line) as object)).toHaveLength(100)
    }
  }
  expect(records).toBe(500)
  // A record has 101 KB.
  expect(most).toBeLessThan(200_000)
})

test('an NDJSON file with more fields than a table can have is refused as CSV', async () => {
  const record = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, 1])))
  const open = (count: number) => () => contentOf(`{"field0":0}\n${record(count)}`)
  await expect(ndjsonToCsv(open(2_001), FORM).next()).rejects.toMatchObject({ slug: 'conflict' })
  const pieces: Buffer[] = []
  for await (const piece of ndjsonToCsv(open(2_000), FORM)) pieces.push(piece)
  expect(Buffer.concat(pieces).toString().split('\r\n')[0]?.split(',')).toHaveLength(2_000)
})

test('a conversion to CSV keeps the digits of every number', async () => {
  const text = '{"localId":"1","n":9007199254740993,"x":0.12345678901234567891,"e":1e400}\n'
  const pieces: Buffer[] = []
  for await (const piece of ndjsonToCsv(() => contentOf(text), FORM)) pieces.push(piece)
  expect(Buffer.concat(pieces).toString()).toBe(
    'localId,n,x,e\r\n1,9007199254740993,0.12345678901234567891,1e400\r\n',
  )
})
