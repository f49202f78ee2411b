import { expect, onTestFinished, test } from 'vitest'
import { importOccupations } from '../src/catalogue/import/import.ts'
import { runBuild } from '../src/catalogue/search/build-process.ts'
import { buildStoredIndex } from '../src/catalogue/search/build-stored.ts'
import { buildWaitingIndex, IndexJob, requestMissingIndex } from '../src/catalogue/search/index-job.ts'
import { readIndexState, storeIndex } from '../src/catalogue/search/index-store.ts'
import { LiveIndex } from '../src/catalogue/search/live-index.ts'
import { buildIndex } from '../src/engines/finding/index.ts'
import type { Database } from '../src/foundation/database/database.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { readRevisions } from '../src/foundation/database/revisions.ts'
import { MOST_ATTEMPTS } from '../src/foundation/jobs/queue.ts'
import { Worker } from '../src/foundation/jobs/worker.ts'
import { until } from './support/command.ts'
import { Service } from './support/service.ts'
import { sourceOf } from './support/source.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

const MB = 2 ** 20
const nurse = { occupationCode: 'A', titleEnglish: 'Nurse' }

async function open(records: readonly unknown[] = [nurse]): Promise<{ database: Database; url: string }> {
  const url = temporaryDatabaseUrl()
  const database = await openDatabase(url)
  onTestFinished(() => database.close())
  if (records.length > 0) await importOccupations(database, sourceOf(records))
  return { database, url }
}

const countJobs = async (database: Database) =>
  (await database.all(`select id from job where kind = 'index'`)).length
const notBuilding = () => undefined

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
    outage: { failed: (error) => errors.push(error), worked: () => undefined },
  })
  onTestFinished(() => worker.stop())
  for (const title of ['Nurse', 'Baker']) {
    await one.import([{ occupationCode: title, titleEnglish: title }])
    for (const service of services) {
      await until(async () => {
        const response = await service.get(`/v1/occupations/search?q=${title}`)
        return response.statusCode === 200 && response.json().results[0]?.occupationCode === title
          ? true
          : undefined
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
    failure: { revision: catalogue, reason: expect.stringContaining('SEARCH_INDEX_MEMORY_MB') },
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
  const index = new LiveIndex(database, (error) => {
    throw error
  })
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

test('an index that is missing without a job is requested: after an upgrade, or a restore', async () => {
  const { database, url } = await open()
  await database.write('job:test', (writer) => writer.run('delete from job'))
  await requestMissingIndex(database)
  await requestMissingIndex(database)
  expect(await countJobs(database)).toBe(1)
  expect(await buildWaitingIndex({ database, databaseUrl: url, memoryBytes: 400 * MB }, notBuilding)).toBe(
    undefined,
  )
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
