import { expect, onTestFinished, test } from 'vitest'
import type { Database } from '../src/foundation/database/database.ts'
import { isMigrated, migrate } from '../src/foundation/database/migrate.ts'
import { connectDatabase, openDatabase } from '../src/foundation/database/open.ts'
import { readRevisions } from '../src/foundation/database/revisions.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

async function connect(url: string): Promise<Database> {
  const database = await connectDatabase(url)
  onTestFinished(() => database.close())
  return database
}

/** The tables of migrations, as another version left them. */
async function applied(url: string, ...names: readonly string[]): Promise<Database> {
  const database = await connect(url)
  await database.write('schema', async (writer) => {
    await writer.run('create table migration (name text primary key, applied bigint not null)')
    for (const name of names) await writer.run('insert into migration (name, applied) values ($1, 1)', [name])
  })
  return database
}

test('any number of processes create the tables of one new database at once, and each finds them complete', async () => {
  const url = temporaryDatabaseUrl()
  const databases = await Promise.all([1, 2, 3, 4].map(() => connect(url)))
  const outcomes = await Promise.all(databases.map((database) => migrate(database)))
  expect(outcomes.flat()).toEqual(['1.0.0-2'])
  for (const database of databases) {
    expect(await isMigrated(database)).toBe(true)
    expect((await readRevisions(database)).catalogue.number).toBe(0)
  }
})

test('a migration that fails leaves no table, and the next one is whole', async () => {
  const database = await connect(temporaryDatabaseUrl())
  const run = (sql: string) => database.write('schema', (writer) => writer.run(sql))
  // One of its last tables is in the way.
  await run('create table console_draft (id integer)')
  await expect(migrate(database)).rejects.toThrow()
  expect((await database.all(database.dialect.tables)).length).toBe(1)
  await run('drop table console_draft')
  expect(await migrate(database)).toEqual(['1.0.0-2'])
})

test('a database of 0.x is refused by name, with what to do, and stays as it is', async () => {
  const url = temporaryDatabaseUrl()
  const database = await applied(url, '0001-initial', '0002-instance')
  await expect(openDatabase(url)).rejects.toThrow(
    /made by Mahi 0\.x.*Export its catalogue with Mahi 0\.2 \("mahi occupations export"\), and import it into a new database/,
  )
  expect(await database.all('select name from migration order by name')).toHaveLength(2)
  expect((await database.all(database.dialect.tables)).length).toBe(1)
})

test.each([
  ['a newer version', ['1.0.0-2', '1.1-notes'], '1.1-notes'],
  ['1.0 before its release', ['1.0'], '1.0'],
])('a database of %s is refused with the names of its migrations', async (_, names, unknown) => {
  const url = temporaryDatabaseUrl()
  await applied(url, ...names)
  await expect(openDatabase(url)).rejects.toThrow(`of another version of Mahi (${unknown})`)
})
