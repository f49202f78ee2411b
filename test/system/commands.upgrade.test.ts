import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Reader } from '../../src/foundation/database/database.ts'
import { connectDatabase, openDatabase } from '../../src/foundation/database/open.ts'
import { InstallationHere } from '../support/command-here.ts'
import {
  createFirstRelease,
  FIRST_RELEASE_KEY,
  FIRST_RELEASE_TOKEN,
  readFirstRelease,
} from '../support/first-release.ts'
import { ask } from '../support/load.ts'
import { engine, temporaryFolder } from '../support/temporary.ts'
import { whenSearchable } from '../support/when-searchable.ts'

const rowsOf = (table: string) => readFirstRelease().flatMap(([name, row]) => (name === table ? [row] : []))
const documentsOf = (table: string) => rowsOf(table).map(({ document }) => JSON.parse(String(document)))

const headers = { 'x-api-key': FIRST_RELEASE_KEY, eid: '1001' }

test('a database of version 0.1.0 opens, and everything in it is served as it was', async () => {
  const mahi = new InstallationHere()
  await createFirstRelease(mahi.databaseUrl)
  const { url } = await mahi.serve()
  const read = async (path: string) => JSON.parse((await ask(`${url}${path}`, headers)).body)

  const list = await read('/v1/occupations')
  expect(list.data).toEqual(documentsOf('occupation'))
  expect(list.totalCount).toBe(rowsOf('occupation').length)
  for (const { major, minor, total } of rowsOf('occupation_filter')) {
    const filters = new URLSearchParams({
      ...(major && { 'Filter.MajorGroupCode': String(major) }),
      ...(minor && { 'Filter.MinorGroupCode': String(minor) }),
    })
    expect((await read(`/v1/occupations?${filters}`)).totalCount, `${filters}`).toBe(total)
  }
  const results = await read(`/v1/submissions/${FIRST_RELEASE_TOKEN}/validation-results`)
  expect(results.results).toEqual(documentsOf('result_entry'))

  const { keys } = (await mahi.runJson(['keys', 'list'])) as {
    keys: { id: string; revoked: string | null }[]
  }
  expect(keys.map(({ id, revoked }) => [id, revoked !== null])).toEqual(
    rowsOf('api_key').map(({ id, revoked }) => [id, revoked !== null]),
  )
})

test('new features work on it: Primary groups, the history, the search', async () => {
  const mahi = new InstallationHere()
  await createFirstRelease(mahi.databaseUrl)
  const { url } = await mahi.serve()
  const read = async (path: string) => JSON.parse((await ask(`${url}${path}`, headers)).body)

  const [first] = documentsOf('occupation') as { occupationCode: string; titleEnglish: string }[]
  const { totalCount } = await read('/v1/occupations?Filter.MajorGroupCode=1&Filter.GroupRelation=Primary')
  expect(totalCount).toBeGreaterThan(0)
  await mahi.runJson(['occupations', 'index'])
  await whenSearchable(url, FIRST_RELEASE_KEY)
  const found = await read(`/v1/occupations/search?q=${encodeURIComponent(first?.titleEnglish ?? '')}`)
  expect(found.results[0].occupationCode).toBe(first?.occupationCode)

  // An import over it changes what differs, and nothing else.
  const records = documentsOf('occupation').map(({ lastUpdatedDate: _, ...record }, index) =>
    index === 0 ? { ...record, titleEnglish: 'Changed' } : record,
  )
  const input = records.map((record) => `${JSON.stringify(record)}\n`).join('')
  expect(await mahi.runJson(['occupations', 'import', '-', '--replace'], { input })).toMatchObject({
    created: 0,
    updated: 1,
    unchanged: records.length - 1,
    deleted: 0,
  })
})

/** Statements of version 0.1.0, word for word: its pages, its results and its keys. */
const OLD_READS: readonly [string, readonly (string | number)[]][] = [
  ['select code from occupation where code >= $1 order by code limit $2 + 1', ['', 3]],
  [
    `select code from occupation_posting
     where filter = (select id from occupation_filter where major = $3 and minor = $4) and code >= $1
     order by code limit $2 + 1`,
    ['', 3, '1', ''],
  ],
  ['select total from occupation_filter where major = $1 and minor = $2', ['', '']],
  ['select o.document from occupation o order by o.code', []],
  [
    'select sum(total) as total from occupation_date where filter = $1 and span = 0 and start between $2 and $3',
    [1, 0, 8_000_000_000_000_000],
  ],
  [
    'select token, eid, return_id, run, total, published from submission where token = $1',
    [FIRST_RELEASE_TOKEN],
  ],
  [
    'select document from result_entry where run = $1 and ordinal >= $2 and ordinal < $3 order by ordinal',
    [1, 0, 9],
  ],
  ['select id, client, hash, scopes, eids, created, expires, revoked from api_key order by created, id', []],
  ['select name, number, changed from revision order by name', []],
]

test('a process of version 0.1.0 that still runs reads and writes the new tables', async () => {
  const { databaseUrl } = new InstallationHere()
  await createFirstRelease(databaseUrl)
  const readAll = async (reader: Reader) => {
    const found: unknown[][] = []
    for (const [statement, parameters] of OLD_READS) found.push(await reader.all(statement, [...parameters]))
    return found
  }
  const old = await connectDatabase(databaseUrl)
  const before = await readAll(old)
  expect(before.flat().length).toBeGreaterThan(20)
  // The new version migrates beside it.
  const next = await openDatabase(databaseUrl)
  const after = await readAll(old)
  expect(after.slice(0, -1)).toEqual(before.slice(0, -1))
  // It looks up its own names among those of revisions.
  expect(after.at(-1)).toEqual(expect.arrayContaining(before.at(-1) ?? []))

  await old.write(`submission:${FIRST_RELEASE_TOKEN}`, async (writer) => {
    await writer.run(`insert into result_entry (run, ordinal, document) values (2, 0, '{"localId":"NEW"}')`)
    await writer.run(
      `insert into submission (token, eid, return_id, run, total, published) values ($1, $2, $3, $4, $5, $6)
       on conflict (token) do update set run = excluded.run, total = excluded.total, published = excluded.published`,
      [FIRST_RELEASE_TOKEN, '1001', 'R-2026-1', 2, 1, Date.now()],
    )
    await writer.run('delete from result_entry where run = $1', [1])
  })
  await old.write('keys', async (writer) => {
    await writer.run(
      'insert into api_key (id, client, hash, scopes, eids, created, expires) values ($1, $2, $3, $4, $5, $6, $7)',
      ['mahi_000000000000', 'old', 'none', '[]', '[]', 0, 1],
    )
  })
  expect(await next.all('select run, total from submission')).toEqual([{ run: 2, total: 1 }])
  expect(await next.all(`select client, revoked from api_key where client = 'old'`)).toEqual([
    { client: 'old', revoked: null },
  ])
  await Promise.all([old.close(), next.close()])
})

/** Every table with its rows, whatever the version. */
async function readEverything(url: string): Promise<Record<string, unknown[]>> {
  const database = await connectDatabase(url)
  try {
    const tables = await database.all<{ name: string }>(`${database.dialect.tables} order by 1`)
    const rows: Record<string, unknown[]> = {}
    for (const { name } of tables)
      rows[name] = (await database.all<object>(`select * from ${name}`))
        .map((row) => JSON.stringify(row))
        .sort()
    return rows
  } finally {
    await database.close()
  }
}

/** A database of version 0.1.0, backed up and upgraded, in which this version has then written. */
async function upgradeFirstRelease() {
  const mahi = new InstallationHere()
  await createFirstRelease(mahi.databaseUrl)
  const before = await readEverything(mahi.databaseUrl)
  const backup = join(temporaryFolder(), 'mahi.backup')
  await mahi.runJson(['backup', backup])
  expect(await readEverything(mahi.databaseUrl)).toEqual(before)

  await mahi.run(['migrate'])
  await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"LATER"}\n' })
  const findings = '{"localId":"LATER"}\n'
  const publish = ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', 'a-later-token', '-']
  await mahi.runJson(publish, { input: findings })
  expect(Object.keys(await readEverything(mahi.databaseUrl)).length).toBeGreaterThan(
    Object.keys(before).length,
  )
  return { mahi, before, backup }
}

/** Follows "Going back" in docs/operations.md. */
function goBack(url: string, backup: string): void {
  if (engine === 'sqlite') {
    const file = url.slice('sqlite:'.length)
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
    copyFileSync(backup, file)
    return
  }
  // A test has a schema of its own instead of a database.
  const schema = new URL(url).searchParams.get('options')?.split('=')[1] ?? ''
  const drop = `set client_min_messages = warning; drop schema ${schema} cascade; create schema ${schema}`
  const restore = ['--no-owner', `--schema=${schema}`, '--exit-on-error', `--dbname=${url}`, backup]
  for (const [program, parameters] of [
    ['psql', ['--quiet', `--dbname=${url}`, `--command=${drop}`]],
    ['pg_restore', restore],
  ] as const) {
    const { status, stderr } = spawnSync(program, parameters, { encoding: 'utf8' })
    expect([program, status, stderr]).toEqual([program, 0, ''])
  }
}

test('the way back from an upgrade: the restored database is that of version 0.1.0, and can be upgraded again', async () => {
  const { mahi, before, backup } = await upgradeFirstRelease()
  goBack(mahi.databaseUrl, backup)
  expect(await readEverything(mahi.databaseUrl)).toEqual(before)
  const { url } = await mahi.serve()
  const list = JSON.parse((await ask(`${url}/v1/occupations`, headers)).body)
  expect(list.data).toEqual(documentsOf('occupation'))
})

test('mahi restore brings a backup of version 0.1.0 to this version, without what was written since', async () => {
  const { mahi, backup } = await upgradeFirstRelease()
  await mahi.runJson(['restore', '--replace', backup])
  const restored = await readEverything(mahi.databaseUrl)
  const upgraded = new InstallationHere()
  await createFirstRelease(upgraded.databaseUrl)
  await upgraded.run(['migrate'])
  expect(Object.keys(restored)).toEqual(Object.keys(await readEverything(upgraded.databaseUrl)))
  expect(JSON.stringify(restored)).not.toMatch(/LATER|a-later-token/)
  const { url } = await mahi.serve()
  const list = JSON.parse((await ask(`${url}/v1/occupations`, headers)).body)
  expect(list.data).toEqual(documentsOf('occupation'))
})
