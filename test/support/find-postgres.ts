import { userInfo } from 'node:os'
import pg from 'pg'
import { requireProgram } from './require-program.ts'

/** The PostgreSQL that tests may make databases in: TEST_DATABASE_URL, or one on the standard local port. */
export async function findPostgres(): Promise<string | undefined> {
  const given = process.env.TEST_DATABASE_URL
  const user = userInfo().username
  const candidates =
    given === undefined
      ? [`postgres://${user}@127.0.0.1:5432/test`, `postgres://postgres@127.0.0.1:5432/postgres`]
      : [given]
  for (const url of candidates) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 })
    try {
      await client.connect()
      await client.query('select 1')
      return url
    } catch {
      // The next one may be there.
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  if (given !== undefined) throw new Error('TEST_DATABASE_URL names a PostgreSQL that does not respond')
  requireProgram(false, 'the tests on PostgreSQL', 'no PostgreSQL on 127.0.0.1:5432')
  return undefined
}
