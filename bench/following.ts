// Measures what it costs to follow a catalogue, by its size: `node bench/following.ts [--sizes 10000,100000,1000000]`.
// A mirror loads the whole catalogue, 100 records change, and it follows.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { importOccupations } from '../src/catalogue/import/import.ts'
import type { SourceRecord } from '../src/engines/records/source-record.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { mirrorOccupations } from '../src/remote/mirror.ts'
import { createSource, type Source } from '../src/remote/source.ts'
import { generateOccupations } from './data.ts'
import { assertIdle } from './idle.ts'
import { buildMahi, prepareDatabase, startMahi } from './mahi.ts'
import { type Contender, median } from './measure.ts'

const CHANGED = 100

const { values } = parseArgs({ options: { sizes: { type: 'string', default: '10000,100000,1000000' } } })
const line = (...cells: readonly (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)

assertIdle('A table of these times')
buildMahi()
line('records', 'first load s', '100 changes: import s', 'mirror s', 'records sent', 'page of changes ms')
line('--:', '--:', '--:', '--:', '--:', '--:')
for (const size of values.sizes.split(',').map(Number)) await follow(size)

async function follow(size: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-following-'))
  const url = `sqlite:${join(folder, 'catalogue.db')}`
  let server: Contender | undefined
  try {
    const { key } = await prepareDatabase(url, { records: size })
    server = await startMahi(url, 'Mahi')
    const { url: service } = server
    let sent = 0
    const original = createSource(service, key)
    const source: Source = {
      ...original,
      async *changes(since) {
        for await (const page of original.changes(since)) {
          sent += page.changes?.length ?? 0
          yield page
        }
      },
    }
    const mirror = () =>
      timed(() => mirrorOccupations({ url: service, folder: join(folder, 'mirror'), source }))
    const first = await mirror()
    const importing = await timed(() => changeRecords(url))
    const following = await mirror()
    const pages: number[] = []
    for (let round = 0; round < 9; round++) {
      pages.push(await timed(() => readPage(`${service}/v1/occupations/changes?Limit=${CHANGED}`, key)))
    }
    line(
      size.toLocaleString('en'),
      first.toFixed(1),
      importing.toFixed(2),
      following.toFixed(2),
      sent,
      (median(pages) * 1000).toFixed(1),
    )
  } finally {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The seconds that it takes. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

async function readPage(url: string, key: string): Promise<void> {
  const response = await fetch(url, { headers: { 'x-api-key': key } })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${url}: ${response.status}`)
}

async function changeRecords(url: string): Promise<void> {
  const database = await openDatabase(url)
  try {
    await importOccupations(database, changedRecords())
  } finally {
    await database.close()
  }
}

/** The first records, with another title. */
async function* changedRecords(): AsyncGenerator<SourceRecord> {
  for await (const record of generateOccupations(CHANGED)) {
    yield { ...record, value: { ...(record.value as object), titleEnglish: 'Changed' } }
  }
}
