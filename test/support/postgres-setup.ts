import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { partitionResults } from './partition.ts'
import { schemas } from './temporary.ts'

/** Whether the results lie in partitions: the tables are made beforehand then, which takes time. */
const PARTITIONED = process.env.TEST_PARTITIONED === 'true'

/** More than any test file opens databases; making them at once takes one statement. */
const SCHEMAS = PARTITIONED ? 20 : 150

const server = inject('postgresUrl')
const names = Array.from({ length: SCHEMAS }, () => `mahi_test_${randomBytes(6).toString('hex')}`)

/** Not at once: of a file whose tests are all skipped neither this is run nor what takes it away again. */
beforeAll(async () => {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  await client.query(names.map((name) => `create schema ${name}`).join(';'))
  await client.end()
  schemas.push(
    ...names.map((name) => {
      const url = new URL(server)
      url.searchParams.set('options', `-c search_path=${name}`)
      return url.toString().replaceAll('+', '%20')
    }),
  )
  if (!PARTITIONED) return
  for (const url of schemas) {
    await (await openDatabase(url)).close()
    await partitionResults(url)
  }
})

afterAll(async () => {
  const cleaner = new pg.Client({ connectionString: server })
  await cleaner.connect()
  await cleaner.query('set client_min_messages = error')
  for (const name of names) await cleaner.query(`drop schema if exists ${name} cascade`)
  await cleaner.end()
})
