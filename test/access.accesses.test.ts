import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../src/foundation/database/open.ts'
import {
  AccessLog,
  type AccessRow,
  keepAccesses,
  nameSubmission,
  pruneAccesses,
  readAccesses,
} from '../src/submissions/accesses/access-log.ts'
import { until } from './support/command.ts'
import { InstallationHere } from './support/command-here.ts'
import { Service } from './support/service.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

const all = { since: 0 }

async function rowsOf(database: Parameters<typeof readAccesses>[0]): Promise<AccessRow[]> {
  return await Array.fromAsync(readAccesses(database, all))
}

async function openLogDatabase() {
  const database = await openDatabase(temporaryDatabaseUrl())
  onTestFinished(() => database.close())
  return database
}

const read = {
  request: 'r1',
  credential: 'mahi_000000000001',
  eid: '1001',
  operation: 'validation-results',
  change: false,
  token: 'a-token',
}

test('a change is recorded before it is made, and reads of the same pages are counted', async () => {
  const service = await Service.start()
  const { id, key } = await service.createKey({
    scopes: ['validation-results:read', 'submissions:write'],
    eids: ['1001'],
  })
  const headers = { 'x-api-key': key, eid: '1001' }
  const created = await service.request({
    method: 'POST',
    url: '/v1/submissions',
    headers: { ...headers, 'content-type': 'application/json' },
    payload: '{"returnId":"202512"}',
  })
  const { submissionToken: token } = created.json() as { submissionToken: string }
  const url = `/v1/submissions/${token}`
  const [first] = [await service.get(url, headers), await service.get(url, headers)]
  // Neither a refusal nor a malformed request reads anything.
  expect((await service.get(url, { ...headers, eid: '1002' })).statusCode).toBe(401)
  expect((await service.request({ method: 'DELETE', url, headers })).statusCode).toBe(200)
  const rows = await until(async () => {
    const found = await rowsOf(service.database)
    return found.length > 2 ? found : undefined
  })
  const submission = nameSubmission(token)
  const by = { credential: id, eid: '1001', submission }
  expect(rows.sort((one, other) => one.time - other.time || one.id - other.id)).toMatchObject([
    { ...by, operation: 'create-submission', change: 1, times: 1, request: created.headers['x-request-id'] },
    { ...by, operation: 'get-submission', change: 0, request: first.headers['x-request-id'] },
    { ...by, operation: 'delete-submission', change: 1, times: 1 },
  ])
  expect(JSON.stringify(rows)).not.toContain(token)
})

test('the first of several reads is stored at once, and the others later as one row', async () => {
  const database = await openLogDatabase()
  const log = new AccessLog(database)
  log.record(read)
  await log.store()
  for (let times = 0; times < 5; times++) log.record({ ...read, request: `later ${times}` })
  await log.store()
  expect(await rowsOf(database)).toMatchObject([{ request: 'r1', times: 1 }])
  log.record({ ...read, eid: '1002' })
  await log.stop()
  expect(await rowsOf(database)).toMatchObject([
    { request: 'r1', times: 1 },
    { request: 'r1', times: 5, eid: '1001' },
    { request: 'r1', times: 1, eid: '1002' },
  ])
})

test('while the database fails, a change is refused and reads are kept', async () => {
  const database = await openLogDatabase()
  const log = new AccessLog(database)
  await database.write('schema', (writer) => writer.run('alter table access_log rename to hidden'))
  await expect(log.record({ ...read, change: true })).rejects.toThrow()
  log.record(read)
  await expect(log.store()).rejects.toThrow()
  await database.write('schema', (writer) => writer.run('alter table hidden rename to access_log'))
  await Promise.all([1, 2, 3].map((each) => log.record({ ...read, request: `change ${each}`, change: true })))
  await log.stop()
  const requests = (await rowsOf(database)).map(({ request }) => request)
  expect(requests.sort()).toEqual(['change 1', 'change 2', 'change 3', 'r1'])
  expect(log.dropped).toBe(0)
})

test('a restored database gets each row that was stored after its backup, whatever its time', async () => {
  const replaced = await openLogDatabase()
  const restored = await openLogDatabase()
  const log = new AccessLog(replaced)
  log.record(read)
  await log.store()
  // Stored after the backup, which has a row of a later time.
  log.record({ ...read, request: 'counted' })
  await log.record({ ...read, change: true })
  await keepAccesses(restored, replaced)
  await log.stop()
  const rows = await rowsOf(replaced)
  expect(rows).toHaveLength(3)
  for (let restore = 1; restore <= 2; restore++) {
    await keepAccesses(restored, replaced)
    expect(await rowsOf(restored)).toEqual(rows)
  }
})

test('nothing changes or deletes a row of a SQLite file, except pruning old ones', async () => {
  const database = await openLogDatabase()
  if (database.dialect.name !== 'sqlite') return
  const log = new AccessLog(database)
  await log.record({ ...read, change: true })
  await log.stop()
  for (const statement of ['update access_log set eid = $1', 'delete from access_log where eid <> $1'])
    await expect(
      database.write('job:test', (writer) => writer.run(statement, ['x'])),
      statement,
    ).rejects.toThrow('append-only')
  expect(await pruneAccesses(database, Date.now() - 60_000)).toBe(0)
  expect(await pruneAccesses(database, Date.now() + 60_000)).toBe(1)
  await expect(
    database.write('job:test', (writer) => writer.run('insert into access_log select * from access_log')),
  ).resolves.toBe(0)
})

test('mahi audit exports the accesses from a time on, of one organisation or submission', async () => {
  const mahi = new InstallationHere()
  const database = await openDatabase(mahi.databaseUrl)
  const log = new AccessLog(database)
  await log.record({ ...read, change: true, operation: 'put-file' })
  log.record(read)
  log.record({ ...read, eid: '1002', token: undefined })
  await log.stop()
  await database.close()
  const lines = async (...parameters: string[]) => {
    const { code, stdout, stderr } = await mahi.run(['audit', 'export', ...parameters])
    expect([code, stderr]).toEqual([0, ''])
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as object)
  }
  expect(await lines('--since', '2026-01-01', '--token', 'a-token')).toEqual(
    ['put-file', 'validation-results'].map((operation) => ({
      time: expect.any(String),
      request: 'r1',
      key: 'mahi_000000000001',
      eid: '1001',
      operation,
      access: operation === 'put-file' ? 'change' : 'read',
      submission: nameSubmission('a-token'),
    })),
  )
  expect(await lines('--since', '2026-01-01', '--eid', '1002')).toHaveLength(1)
  expect(await lines('--since', '2999-01-01')).toEqual([])
  expect(await mahi.runJson(['audit', 'prune', '--older-than', '400'])).toMatchObject({ deleted: 0 })
  const refused = await mahi.run(['audit', 'export', '--since', 'yesterday'])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('2027-06-30') })
})
