import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { beforeAll, inject } from 'vitest'
import { schemas } from './temporary.ts'

/** More than any test file opens databases; making them at once takes one statement. */
const SCHEMAS = 150

/** Not at once: of a file whose tests are all skipped this is not run. */
beforeAll(async () => {
  const server = inject('postgresUrl')
  // Those that an earlier file of the same process left are still empty.
  const names = Array.from(
    { length: SCHEMAS - schemas.length },
    () => `test_${randomBytes(6).toString('hex')}`,
  )
  if (names.length === 0) return
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
})
