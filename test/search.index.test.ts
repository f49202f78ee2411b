import { Command } from 'commander'
import { expect, onTestFinished, test, vi } from 'vitest'
import { importOccupations } from '../src/catalogue/import/import.ts'
import { runBuild } from '../src/catalogue/search/build-process.ts'
import { buildStoredIndex } from '../src/catalogue/search/build-stored.ts'
import { addSearchCommands } from '../src/catalogue/search/commands.ts'
import { buildWaitingIndex, IndexJob, requestMissingIndex } from '../src/catalogue/search/index-job.ts'
import { readIndexState, storeIndex } from '../src/catalogue/search/index-store.ts'
import { LiveIndex } from '../src/catalogue/search/live-index.ts'
import { type Database, DatabaseFull, DatabaseUnavailable } from '../src/foundation/database/database.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { readRevisions } from '../src/foundation/database/revisions.ts'
import { MOST_ATTEMPTS } from '../src/foundation/jobs/queue.ts'
import { Worker } from '../src/foundation/jobs/worker.ts'
import { Installation, until } from './support/command.ts'
import { withDatabase } from './support/filled-database.ts'
import { buildIndex } from './support/search-index.ts'
import { Service } from './support/service.ts'
import { sourceOf } from './support/source.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

const MB = 2 ** 20
/** The statements of a load that finds no index. */
const READS = 2
const nurse = { occupationCode: 'A', titleEnglish: 'Nurse' }

async function open(records: readonly unknown[] = [nurse]): Promise<{ database: Database; url: string }> {
  const url = temporaryDatabaseUrl()
  const database = await openDatabase(url)
  onTestFinished(() => database.close())
  if (records.length > 0) await importOccupations(database, sourceOf(records))
  return { database, url }
}

/** An index in use that fails the test where it cannot be loaded, unless it is damaged. */
function openLive(
  database: Database,
  onDamage: () => void = () => expect.fail('the index is damaged'),
): LiveIndex {
  const index = new LiveIndex(
    database,
    (error) => {
      throw error
    },
    onDamage,
  )
  onTestFinished(() => index.close())
  return index
}

const countJobs = async (database: Database) =>
  (await database.all(`select id from job where kind = 'index'`)).length

test('a change of the catalogue is indexed by a worker in a child process, and every server opens it', async () => {
  const url = temporaryDatabaseUrl()
  const services = [await Service.start({}, url), await Service.start({}, url)]
  const [one] = services
  if (one === undefined) throw new Error('no service')
  const { database } = one
  const errors: unknown[] = []
  const worker = new Worker({
    database,
    handlers: { index: new IndexJob({ database, databaseUrl: url, memoryBytes: 400 * MB }) },
    runs: 1,
    onError: (error) => errors.push(error),
    onOutage: (error) => errors.push(error),
  })
  onTestFinished(() => worker.stop())
  for (const title of ['Nurse', 'Baker']) {
    await one.import([{ occupationCode: title, titleEnglish: title }])
    for (const service of services) {
      await until(async () => {
        const response = await service.get(`/v1/occupations/search?q=${title}`)
        return response.statusCode === 200 && response.json().results[0]?.occupationCode === title
      })
    }
  }
  expect(errors).toEqual([])
  expect(await countJobs(database)).toBe(0)
})

test('what cannot be built is tried once, and again when the catalogue changes', async () => {
  const { database, url } = await open()
  let builds = 0
  const build = (memoryBytes: number) =>
    buildWaitingIndex({ database, databaseUrl: url, memoryBytes }, () => {
      builds++
    })
  expect(await build(MB)).toContain('1 MB of memory')
  const { catalogue } = await readRevisions(database)
  expect(await readIndexState(database)).toMatchObject({
    current: false,
    failure: { revision: catalogue, reason: expect.stringContaining('a third of MEMORY_MB') },
  })
  await requestMissingIndex(database)
  expect(await countJobs(database)).toBe(0)
  await build(400 * MB)
  expect(builds).toBe(1)

  await importOccupations(database, sourceOf([{ ...nurse, titleMaori: 'Nēhi' }]))
  expect(await build(400 * MB)).toBeUndefined()
  expect(builds).toBe(2)
  expect(await readIndexState(database)).toMatchObject({ current: true, failure: undefined })
})

test('a worker that was killed at every attempt gives up, and records it', async () => {
  const { database, url } = await open()
  await database.write('job:test', (writer) =>
    writer.run(`update job set attempts = $1, worker = 'killed', lease = 0`, [MOST_ATTEMPTS]),
  )
  const reason = await buildWaitingIndex({ database, databaseUrl: url, memoryBytes: 400 * MB }, () => {
    throw new Error('it was tried again')
  })
  expect(reason).toContain('was ended')
  expect(await countJobs(database)).toBe(0)
  // The command tries it all the same.
  await runBuild({ databaseUrl: url, memoryBytes: 400 * MB })
  expect(await readIndexState(database)).toMatchObject({ current: true, failure: undefined })
})

test('an index of the catalogue before the newest one is opened, and the newest one is built next', async () => {
  const { database } = await open()
  const { catalogue } = await readRevisions(database)
  await importOccupations(database, sourceOf([{ occupationCode: 'B', titleEnglish: 'Baker' }]))
  expect(await countJobs(database)).toBe(2)
  expect(await storeIndex(database, catalogue, buildIndex([], { revision: 'old' }))).toBe(false)
  expect(await countJobs(database)).toBe(1)
  const index = openLive(database)
  await index.load()
  expect(index.current?.index.header.revision).toBe('old')
  expect(index.behind).toBeGreaterThan(0)
  expect(await buildStoredIndex((use) => use(database))).toBe(true)
  await index.load()
  expect(index.current?.index.header.occupations).toBe(2)
  expect(index.behind).toBe(0)
  expect(await countJobs(database)).toBe(0)
  await index.close()
})

test('a call to load is never lost, even while an earlier load ends', async () => {
  const { database } = await open([])
  for (let hops = 0; hops < 30; hops++) {
    let reads = 0
    let later: Promise<void> | undefined
    const counting: Pick<Database, 'all' | 'get'> = {
      all: (...asked) => database.all(...asked),
      get: (...asked) => {
        // The last statement of the first load: some steps of the event loop later, somebody calls.
        if (++reads === READS) void loadAfter(hops)
        return database.get(...asked)
      },
    }
    const index = openLive(counting as Database)
    const loadAfter = async (steps: number) => {
      for (let step = 0; step < steps; step++) await Promise.resolve()
      later = index.load()
    }
    await index.load()
    await until(() => later !== undefined)
    await later
    expect([hops, reads]).toEqual([hops, 2 * READS])
  }
})

test('an index that is missing without a job is requested: after an upgrade, or a restore', async () => {
  const { database } = await open()
  await database.write('job:test', (writer) => writer.run('delete from job'))
  await requestMissingIndex(database)
  await requestMissingIndex(database)
  expect(await countJobs(database)).toBe(1)
  await buildStoredIndex((use) => use(database))
  await requestMissingIndex(database)
  expect(await countJobs(database)).toBe(0)
})

test('a build ends with its signal, and its process with it', async () => {
  const { url } = await open()
  const stopping = new AbortController()
  const building = runBuild({ databaseUrl: url, memoryBytes: 400 * MB, signal: stopping.signal })
  stopping.abort(new Error('stopped'))
  await expect(building).rejects.toThrow('stopped')
})

const DAMAGES: Record<string, (database: Database, bytes: Buffer) => Promise<unknown>> = {
  'other bytes at the end': (database, bytes) =>
    store(database, change(bytes, bytes.length - 200, bytes.length)),
  'one other bit': (database, bytes) =>
    store(database, change(bytes, bytes.length >> 1, (bytes.length >> 1) + 1)),
  'a shorter part': (database, bytes) => store(database, bytes.subarray(0, bytes.length >> 1)),
  'few bytes': (database, bytes) => store(database, bytes.subarray(0, 5)),
}

const store = (database: Database, bytes: Buffer) =>
  database.write('search', (writer) => writer.run('update search_index set bytes = $1', [bytes]))

function change(bytes: Buffer, from: number, to: number): Buffer {
  const changed = Buffer.from(bytes)
  for (let at = from; at < to; at++) changed[at] = (changed[at] as number) ^ 1
  return changed
}

test('a damaged stored index is removed, reported once and built again', async () => {
  const { database } = await open()
  const build = () => buildStoredIndex((use) => use(database))
  await build()
  const row = await database.get<{ bytes: Buffer }>('select bytes from search_index')
  if (row === undefined) throw new Error('no index is stored')
  expect((await readIndexState(database)).stored?.bytes).toBe(row.bytes.length)
  for (const [kind, damage] of Object.entries(DAMAGES)) {
    await damage(database, row.bytes)
    let damages = 0
    const indexes = [1, 2].map(() => openLive(database, () => damages++))
    await Promise.all(indexes.map((index) => index.load()))
    expect([kind, damages, indexes.map(({ current }) => current)]).toEqual([kind, 1, [undefined, undefined]])
    expect(await readIndexState(database)).toMatchObject({ stored: undefined, current: false })
    expect(await countJobs(database)).toBe(1)

    expect(await build()).toBe(true)
    for (const index of indexes) {
      await index.load()
      expect(index.current?.search({ query: 'nurse', limit: 1 }).totalCount).toBe(1)
    }
  }
})

test('a command that finds a damaged index builds it again, and says so', async () => {
  const mahi = await new Installation().migrate()
  mahi.write('records.ndjson', JSON.stringify(nurse))
  await mahi.run(['occupations', 'import', 'records.ndjson'])
  await withDatabase(mahi.databaseUrl, async (database) => {
    const row = await database.get<{ bytes: Buffer }>('select bytes from search_index')
    await store(database, change(row?.bytes ?? Buffer.alloc(0), 20, 400))
  })
  const command = ['occupations', 'find', 'nurse']
  const { code, stdout, stderr } = await mahi.run(command)
  expect([code, stdout, stderr]).toEqual([
    0,
    expect.stringContaining('Nurse'),
    expect.stringContaining('The stored search index was damaged. It is built again.'),
  ])
  expect((await mahi.run(command)).stderr).not.toContain('damaged')
})

test.each([
  [new DatabaseFull('mahi.db has no space left. Nothing was changed.'), 'the disk of the database is full'],
  [new DatabaseUnavailable('The database did not respond.'), 'The database did not respond.'],
])('a command whose import is stored says why its index is not: %s', async (error, why) => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => said.mockRestore())
  const occupations = new Command()
  occupations.command('import').action(() => undefined)
  addSearchCommands(
    occupations,
    () => Promise.reject(error),
    () => expect.fail('the index is built'),
  )
  await occupations.parseAsync(['import'], { from: 'user' })
  expect(said.mock.calls).toEqual([
    [`The catalogue is stored, but not its search index, which "mahi occupations index" builds: ${why}\n`],
  ])
})
