import { readFileSync } from 'node:fs'
import pg from 'pg'

const SCRIPT = readFileSync(new URL('../../deploy/partition-results.sql', import.meta.url), 'utf8')

/** Runs deploy/partition-results.sql on a database that has its tables, as psql does. */
export async function partitionResults(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(SCRIPT)
  } finally {
    await client.end()
  }
}
