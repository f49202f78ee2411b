import { expect, test } from 'vitest'
import { csvToNdjson, ndjsonToCsv } from '../src/submissions/convert.ts'

async function* contentOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

test('a CSV file with long names of columns is converted in pieces of limited size', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `column${index}`.padEnd(1_000, 'x'))
  const rows = Array.from({ length: 500 }, () => names.map(() => '1').join())
  let [records, most] = [0, 0]
  for await (const piece of csvToNdjson(contentOf(`${names.join()}\n${rows.join('\n')}\n`))) {
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
  const form = { localId: 'localId', fields: [] }
  await expect(ndjsonToCsv(open(2_001), form).next()).rejects.toMatchObject({ kind: 'conflict' })
  const pieces: Buffer[] = []
  for await (const piece of ndjsonToCsv(open(2_000), form)) pieces.push(piece)
  expect(Buffer.concat(pieces).toString().split('\r\n')[0]?.split(',')).toHaveLength(2_000)
})
