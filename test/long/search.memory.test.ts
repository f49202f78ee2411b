import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { IndexRefused, runBuild } from '../../src/catalogue/search/build-process.ts'
import { readIndexState, storeIndex } from '../../src/catalogue/search/index-store.ts'
import { LiveIndex } from '../../src/catalogue/search/live-index.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { readRevisions } from '../../src/foundation/database/revisions.ts'
import { buildIndex } from '../support/search-index.ts'
import { temporaryDatabaseUrl } from '../support/temporary.ts'

const MB = 2 ** 20

const FULL = process.env.MAHI_TEST_FULL === '1'
/** The records, and the megabytes that are enough to build their index. */
const [RECORDS, ENOUGH] = FULL ? [100_000, 400] : [8_000, 200]
if (!FULL) {
  process.stderr.write(
    `REDUCED: the index of ${RECORDS} records is built in ${ENOUGH} MB: MAHI_TEST_FULL=1 builds that of 100,000 in 400\n`,
  )
}

async function open() {
  const url = temporaryDatabaseUrl()
  const database = await openDatabase(url)
  onTestFinished(() => database.close())
  return { database, url }
}

// Built from objects, the index of 8,000 took 441 MiB.
test(`${RECORDS} records with 3.6 KB of text each are indexed in ${ENOUGH} MB`, {
  timeout: FULL ? 1_200_000 : 120_000,
}, async () => {
  async function* read() {
    for (let index = 0; index < RECORDS; index++) {
      const value = {
        occupationCode: `C${index}`,
        titleEnglish: `Title ${index.toString(36)}`,
        descriptionEnglish: String(index).padStart(30, '7').repeat(120),
      }
      yield { file: 'test.ndjson', line: index + 1, value }
    }
  }
  const { database, url } = await open()
  await importOccupations(database, read())
  await runBuild({ databaseUrl: url, memoryBytes: ENOUGH * MB })
  expect((await readIndexState(database)).current).toBe(true)
  await database.write('search', (writer) => writer.run('delete from search_index'))
  await expect(runBuild({ databaseUrl: url, memoryBytes: 32 * MB })).rejects.toThrow(IndexRefused)
})

test('indexes that were replaced do not stay in memory', async () => {
  const { database } = await open()
  const { catalogue } = await readRevisions(database)
  const data = { ...buildIndex([], { revision: 'large' }), bias: new Float32Array(4 * MB).fill(1) }
  const index = new LiveIndex(
    database,
    (error) => {
      throw error
    },
    () => expect.fail('the index is damaged'),
  )
  onTestFinished(() => index.close())
  const before = process.memoryUsage.rss()
  let most = 0
  for (let count = 0; count < 60; count++) {
    await storeIndex(database, { ...catalogue, changed: count }, data)
    await index.load()
    expect(index.bytes).toBeGreaterThan(16 * MB)
    most = Math.max(most, process.memoryUsage.rss() - before)
    await sleep(20)
  }
  // All together are 960 MB.
  expect(most).toBeLessThan(500 * MB)
})
