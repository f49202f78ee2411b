import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readBytes } from '../src/engines/records/read-bytes.ts'
import { readRecords } from '../src/engines/records/read-records.ts'
import { PUBLISHED_COLUMNS } from '../src/submissions/findings/publish.ts'
import { until } from './support/command.ts'
import { type Read, readAll } from './support/reading.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'
import { testWhere } from './support/test-where.ts'

const FORMS = {
  ndjson: '{"localId":"L1"}\n{"localId":"L2"}\n',
  json: '[{"localId":"L1"},\n{"localId":"L2"}]',
  csv: 'localId\nL1\nL2\n',
}

/** Reads files by their names; the faults come without the folder. */
async function read(files: Record<string, string | Buffer | 'missing'>): Promise<Read> {
  const folder = temporaryFolder()
  const paths = Object.entries(files).map(([name, content]) => {
    const path = join(folder, name)
    if (content !== 'missing') writeFileSync(path, content)
    return path
  })
  const { records, faults } = await readAll(readRecords(paths, { columns: PUBLISHED_COLUMNS }))
  return {
    records,
    faults: faults.map((fault) => ({ ...fault, file: fault.file?.slice(folder.length + 1) ?? '' })),
  }
}

function idsOf({ records, faults }: Read): unknown[] {
  expect(faults).toEqual([])
  return records.map(({ value }) => (value as { localId: string }).localId)
}

describe.each(Object.entries(FORMS))('%s', (format, text) => {
  test.each([
    ['with its ending', `results.${format}`, text],
    ['with its ending in capitals', `RESULTS.${format.toUpperCase()}`, text],
    ['packed, with both endings', `results.${format}.gz`, gzipSync(text)],
    ['packed, with the ending of the text alone', `results.${format}`, gzipSync(text)],
    ['packed, without an ending', 'results', gzipSync(text)],
    ['without an ending', 'results', text],
    ['with an ending that says nothing', 'results.txt', text],
    ['after a byte order mark', `results.${format}`, `\ufeff${text}`],
    ['after a byte order mark, without an ending', 'results', `\ufeff${text}`],
    ['after a byte order mark, packed', `results.${format}.gz`, gzipSync(`\ufeff${text}`)],
    ['after empty lines, without an ending', 'results', `\r\n\n${text}`],
    [
      'in two packed members',
      'results.gz',
      Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))]),
    ],
  ])('is read %s', async (_, name, content) => {
    expect(idsOf(await read({ [name]: content }))).toEqual(['L1', 'L2'])
  })
})

test.each([
  ['an empty file', ''],
  ['an empty file, packed', gzipSync('')],
  ['a byte order mark alone', '\ufeff'],
])('%s is NDJSON without a record', async (_, content) => {
  for (const name of ['results', 'results.ndjson']) {
    expect(await read({ [name]: content })).toEqual({ records: [], faults: [] })
  }
  expect((await read({ 'results.json': content })).faults).toEqual([
    {
      file: 'results.json',
      message: 'The file is empty. A JSON file without records must contain an empty list, []',
    },
  ])
})

test('the bytes of files count as they lie on the disk, and those of a packed file as they are unpacked', async () => {
  const packed = gzipSync(FORMS.ndjson.repeat(20_000))
  const folder = writeFiles({ 'results.ndjson.gz': packed, 'more.ndjson': FORMS.ndjson })
  const paths = ['results.ndjson.gz', 'more.ndjson'].map((name) => join(folder, name))
  let bytes = 0
  const onBytes = (count: number) => {
    bytes += count
  }
  let atFirst: number | undefined
  for await (const _ of readRecords(paths, { columns: PUBLISHED_COLUMNS, onBytes })) atFirst ??= bytes
  expect(atFirst).toBeLessThan(packed.length / 2)
  expect(bytes).toBe(packed.length + FORMS.ndjson.length)
})

test('a gzip that was cut off anywhere, or damaged, is refused', async () => {
  const text = Array.from({ length: 2000 }, (_, index) => `{"localId":"L${index * 7919}"}\n`).join('')
  const packed = gzipSync(text)
  const damaged = Buffer.from(packed)
  damaged.writeUInt8(damaged.readUInt8(packed.length >> 1) ^ 0xff, packed.length >> 1)
  const cuts = [3, 20, packed.length >> 1, packed.length - 8, packed.length - 1]
  for (const content of [damaged, ...cuts.map((length) => packed.subarray(0, length))]) {
    const { faults } = await read({ 'results.ndjson.gz': content })
    expect(faults.at(-1)).toEqual({
      file: 'results.ndjson.gz',
      message: 'The gzip file is damaged or truncated',
    })
  }
})

test('a gzip is refused as damaged even if its reader is busy when the damage is found', async () => {
  const unhandled: unknown[] = []
  const keep = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', keep)
  onTestFinished(() => {
    process.off('unhandledRejection', keep)
  })
  const path = join(temporaryFolder(), 'results.ndjson.gz')
  const packed = gzipSync(Array.from({ length: 20_000 }, (_, index) => `L${index * 7919}`).join('\n'))
  writeFileSync(path, packed.fill(0xff, packed.length - 1000, packed.length - 500))
  const reading = async () => {
    for await (const _ of readBytes(path)) await waitForTurns(1000)
  }
  await expect(reading()).rejects.toThrow('The gzip file is damaged or truncated')
  await waitForTurns(1000)
  expect(unhandled).toEqual([])
})

async function waitForTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('.jsonl is NDJSON, and files of different forms follow each other', async () => {
  const files = { 'a.csv': FORMS.csv, 'b.json.gz': gzipSync(FORMS.json), 'c.jsonl': FORMS.ndjson }
  expect(idsOf(await read(files))).toEqual(['L1', 'L2', 'L1', 'L2', 'L1', 'L2'])
})

test('every file that cannot be read is named, and the others are read', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'folder.ndjson'))
  writeFileSync(join(folder, 'good.ndjson'), FORMS.ndjson)
  writeFileSync(join(folder, 'empty.csv'), '')
  const names = ['missing.ndjson', 'folder.ndjson', 'good.ndjson', 'empty.csv', 'good.ndjson/within']
  const paths = names.map((name) => join(folder, name))
  const { records, faults } = await readAll(readRecords(paths, { columns: PUBLISHED_COLUMNS }))
  expect(records).toHaveLength(2)
  expect(faults).toEqual([
    { file: paths[0], message: 'does not exist' },
    { file: paths[1], message: 'is a folder. Name the files in it' },
    { file: paths[3], message: 'The file is empty. The first line of a CSV file must name its columns' },
    { file: paths[4], message: 'does not exist: a part of its path is a file, not a folder' },
  ])
})

testWhere(existsSync('/proc/self/fd'), 'open files can be counted where there is /proc')(
  'a file that is refused, or not read to its end, is closed',
  async () => {
    const folder = temporaryFolder()
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    const long = FORMS.ndjson.repeat(100_000)
    const files = {
      'utf16.csv': Buffer.from('\ufeffx', 'utf16le'),
      'utf16.gz': gzipSync(Buffer.from(`\ufeff${long}`, 'utf16le'), { level: 0 }),
      'list.ndjson': `[${long}`,
      'list.json': long,
      unknown: 'colour\n',
      'unknown.csv.gz': gzipSync(`colour\n${long}`, { level: 0 }),
      'good.ndjson': long,
      'good.ndjson.gz': gzipSync(long, { level: 0 }),
    }
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(folder, name), content)
      for await (const _ of readRecords([join(folder, name)], { columns: PUBLISHED_COLUMNS })) break
    }
    await until(() => (open() <= before ? true : undefined))
  },
)
