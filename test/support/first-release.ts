import { initial } from '../../src/foundation/database/migrations/0001-initial.ts'
import { connectDatabase } from '../../src/foundation/database/open.ts'
import { readRepositoryFile } from './deploy.ts'

/** The key of the fixture, for organisation 1001 and until 2120. It opens nothing else. */
export const FIRST_RELEASE_KEY = 'mahi_54846b20e2b2_3S6mUFsk8rn22erH43rvumxhSRHo_ai4NJyTYxkXfVQ'
export const FIRST_RELEASE_TOKEN = 'first-release-sample'

/** `id` of a filter is an identity, which PostgreSQL would give itself. */
const OVERRIDING = { sqlite: '', postgres: 'overriding system value' } as const

type Row = Readonly<Record<string, string | number | null>>

/** Every row of a database that version 0.1.0 has filled: its table, and its columns. */
export function readFirstRelease(): [string, Row][] {
  return readRepositoryFile('test/fixtures/release-0.1.0.ndjson')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as [string, Row])
}

/**
 * Makes a database as version 0.1.0 did: its tables, and rows that its commands wrote. They are the rows of a SQLite
 * file after, with version 0.1.0:
 *
 *     mahi occupations import FILE       (the first six of samples/occupations.ndjson)
 *     mahi results publish --eid 1001 --return R-2026-1 --token first-release-sample FILE       (the first five)
 *     mahi keys create --client first-release --eid 1001 --expires 2120-01-01
 *     mahi keys create --client revoked, and mahi keys revoke with its id
 */
export async function createFirstRelease(url: string): Promise<void> {
  const database = await connectDatabase(url)
  try {
    await database.write('schema', async (writer) => {
      for (const statement of initial.statements(writer.dialect)) await writer.run(statement)
      // The migration has put the first rows of these into them.
      for (const table of ['revision', 'occupation_filter']) await writer.run(`delete from ${table}`)
      for (const [table, row] of readFirstRelease()) {
        const columns = Object.keys(row)
        const places = columns.map((_, index) => `$${index + 1}`)
        await writer.run(
          `insert into ${table} (${columns.join(', ')}) ${OVERRIDING[writer.dialect.name]} values (${places.join(', ')})`,
          Object.values(row),
        )
      }
      // What the identities that were given have left to PostgreSQL.
      if (writer.dialect.name === 'postgres')
        await writer.get(
          `select setval(pg_get_serial_sequence('occupation_filter', 'id'), (select max(id) from occupation_filter))`,
        )
    })
  } finally {
    await database.close()
  }
}
