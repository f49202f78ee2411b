import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { connectDatabase } from '../../src/foundation/database/open.ts'
import { schemaOf } from '../../src/operate/backup.ts'
import { runProgram } from '../../src/operate/postgres-programs.ts'
import { Installation, until } from '../support/command.ts'
import { fillDatabase } from '../support/filled-database.ts'
import {
  createFirstRelease,
  FIRST_RELEASE_KEY,
  FIRST_RELEASE_TOKEN,
  readFirstRelease,
} from '../support/first-release.ts'
import { ask } from '../support/load.ts'
import { engine, temporaryDatabaseUrl, temporaryFolder } from '../support/temporary.ts'

const headers = { 'x-api-key': FIRST_RELEASE_KEY, eid: '1001' }
const documentsOf = (table: string) =>
  readFirstRelease().flatMap(([name, { document }]) => (name === table ? [JSON.parse(String(document))] : []))

/** A backup of a database of version 0.1.0, which had no `mahi backup`: its documents named these programs. */
async function backUpFirstRelease(): Promise<string> {
  const url = temporaryDatabaseUrl()
  await createFirstRelease(url)
  const file = join(temporaryFolder(), 'first-release.backup')
  if (engine === 'sqlite') {
    const database = new Sqlite(url.slice('sqlite:'.length))
    await database.backup(file)
    database.close()
  } else {
    const database = await connectDatabase(url)
    const schema = await schemaOf(database)
    await database.close()
    await runProgram({
      program: 'pg_dump',
      url,
      parameters: ['--format=custom', `--schema=${schema}`, `--file=${file}`],
    })
  }
  return file
}

async function readRestored(url: string) {
  const read = async (path: string) => JSON.parse((await ask(`${url}${path}`, headers)).body)
  const { data } = await read('/v1/occupations')
  const { results } = await read(`/v1/submissions/${FIRST_RELEASE_TOKEN}/validation-results`)
  return { data, results }
}

const expected = { data: documentsOf('occupation'), results: documentsOf('result_entry') }

test('a backup of version 0.1.0 is restored into an empty database, and migrated', async () => {
  const mahi = new Installation()
  await mahi.runJson(['restore', await backUpFirstRelease()])
  const { url } = await mahi.serve()
  expect(await readRestored(url)).toEqual(expected)
  // What only later versions have works on it.
  await mahi.runJson(['backup', join(temporaryFolder(), 'mahi.backup')])
  expect((await mahi.run(['status'])).stdout).toMatch(/^Backup +\d{4}-\S+.* by mahi$/m)
})

test('it replaces the database of a service that runs, which serves it from then on', async () => {
  const mahi = new Installation()
  const filled = await fillDatabase(mahi.databaseUrl)
  const { url } = await mahi.serve()
  expect((await ask(`${url}/v1/occupations`, filled.headers)).status).toBe(200)
  await mahi.runJson(['restore', '--replace', await backUpFirstRelease()])
  await until(async () => ((await ask(`${url}/v1/occupations`, headers)).status === 200 ? true : undefined))
  expect(await readRestored(url)).toEqual(expected)
  await until(async () =>
    (await ask(`${url}/v1/occupations`, filled.headers)).status === 401 ? true : undefined,
  )
})
