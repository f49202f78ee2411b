import { expect, onTestFinished, test, vi } from 'vitest'
import type { Database, Value } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { storeReceipt } from '../src/submissions/explanations/receipt.ts'
import { reopen } from '../src/submissions/explanations/reopen.ts'
import { storeExplanation } from '../src/submissions/explanations/store.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { cancelSubmission } from '../src/submissions/retention/ending.ts'
import { readPause } from '../src/submissions/retention/pause.ts'
import { sweep, sweepAgain } from '../src/submissions/retention/sweep.ts'
import { storeReturns } from '../src/submissions/returns/returns.ts'
import { changeSubmission } from '../src/submissions/submission/lock.ts'
import { createSubmission } from '../src/submissions/submission/submission.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { sourceOf } from './support/source.ts'

const DAY = 86_400_000
const EID = '1001'
const ACTOR = { id: 'test', name: 'Test' }

async function create(database: Database, returnId: string): Promise<string> {
  const { submission } = await createSubmission(database, { eid: EID, returnId, definition: 'small' })
  return submission.token
}

const change = (database: Database, token: string, sql: string, ...values: Value[]) =>
  changeSubmission(database, token, (writer) => writer.run(sql, [token, ...values]))

/** Stores a file of one chunk, received so many days ago. */
async function storeFile(database: Database, token: string, days = 0): Promise<void> {
  await change(
    database,
    token,
    `insert into file_version (version, token, resource, format, chunks, records, size, digest, batches, received, stored)
     values ('of ' || $1, $1, 'people', 'csv', 1, 0, 0, '', 0, $2, 1)`,
    Date.now() - days * DAY,
  )
  const version = `of ${token}`
  await change(
    database,
    token,
    `insert into submission_file (token, resource, version) values ($1, 'people', $2)`,
    version,
  )
  await change(
    database,
    token,
    `insert into file_chunk (version, ordinal, data) values ('of ' || $1, 0, $2)`,
    Buffer.from('0'),
  )
}

const publish = (database: Database, token: string, returnId: string) =>
  publishResults(database, sourceOf([{ localId: 'L1', studentId: 'S1' }]), { eid: EID, returnId, token })

/** Ages in days; a negative one is in the future. */
interface FileCase {
  readonly received: number
  readonly ended?: number
  readonly reopenedUntil?: number
  readonly isChecking?: boolean
  /** When its return closes. */
  readonly closes?: number
  readonly isKept: boolean
}

const FILES: Record<string, FileCase> = {
  'not yet old': { received: 29, isKept: true },
  old: { received: 31, isKept: false },
  'submitted later': { received: 31, ended: 29, isKept: true },
  'submitted long ago': { received: 41, ended: 31, isKept: false },
  'still reopened': { received: 41, reopenedUntil: -1, isKept: true },
  'reopened until a while ago': { received: 41, reopenedUntil: 29, isKept: true },
  'reopened until long ago': { received: 51, reopenedUntil: 31, isKept: false },
  'being checked': { received: 31, isChecking: true, isKept: true },
  'submitted long before its return closes': { received: 151, ended: 150, closes: -1, isKept: true },
  'of a return that closed a while ago': { received: 151, ended: 150, closes: 29, isKept: true },
  'of a return that closed long ago': { received: 151, ended: 150, closes: 31, isKept: false },
}

test('files are deleted once the last change, the end, the reopening and the end of the return are longer ago than they are kept', async () => {
  const database = await openTemporary()
  const tokens = new Map<string, string>()
  for (const [at, [name, { received, ended, reopenedUntil, isChecking, closes }]] of Object.entries(
    FILES,
  ).entries()) {
    const returnId = `2025${10 + at}`
    const token = await create(database, returnId)
    tokens.set(name, token)
    if (closes !== undefined) {
      const end = Date.now() - closes * DAY
      const described = { returnId, name, definition: 'small', version: '1', type: 'Full' } as const
      await storeReturns(database, [{ ...described, opens: 1, due: end, closes: end, zone: 'UTC' }])
    }
    await storeFile(database, token, received)
    if (ended !== undefined)
      await change(
        database,
        token,
        `update submission set ended = 'Submitted', ended_at = $2 where token = $1`,
        Date.now() - ended * DAY,
      )
    if (reopenedUntil !== undefined)
      await change(
        database,
        token,
        'update submission set reopened_until = $2 where token = $1',
        Date.now() - reopenedUntil * DAY,
      )
    if (isChecking === true) {
      await publish(database, token, returnId)
      await change(database, token, 'update submission_run set completed = null where token = $1')
    }
  }
  const left = async () => {
    const rows = await database.all<{ token: string }>(
      `select f.token from submission_file f join file_version v on v.version = f.version
       join file_chunk c on c.version = v.version`,
    )
    return [...tokens].filter(([, token]) => rows.some((row) => row.token === token)).map(([name]) => name)
  }
  await sweep(database)
  expect(await left()).toEqual(Object.keys(FILES))
  await sweep(database, { files: 30, results: 'off' })
  expect(await left()).toEqual(Object.keys(FILES).filter((name) => FILES[name]?.isKept))
  // Without its files, a submission cannot be submitted on an earlier run.
  const old = await database.get<{ revision: number }>('select revision from submission where token = $1', [
    tokens.get('old') ?? '',
  ])
  expect(old?.revision).toBeGreaterThan(0)
})

test('a clock that jumps ahead deletes nothing for a week, and nothing at all if it is set back by then', async () => {
  const database = await openTemporary()
  const token = await create(database, '202512')
  await storeFile(database, token)
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const start = Date.now()
  const job = { id: 0, kind: 'retention', subject: 'sweep', eid: '', queued: 0, request: null } as const
  const retention = { files: 30, results: 30 }
  const onPause = vi.fn()
  const found: unknown[] = []
  for (const day of [0, 730, 736, 1, 8, 31, 37, 39]) {
    vi.setSystemTime(start + day * DAY)
    await sweepAgain(database, { ...job, attempts: 1, worker: 'w' }, retention, () => undefined, onPause)
    const files = await database.all('select token from submission_file')
    const until = await readPause(database)
    found.push([day, files.length, onPause.mock.calls.length, until && (until - start) / DAY])
  }
  expect(found).toEqual([
    [0, 1, 0, undefined],
    [730, 1, 1, 737],
    [736, 1, 1, 737],
    [1, 1, 1, undefined],
    [8, 1, 1, undefined],
    [31, 1, 2, 38],
    [37, 1, 2, 38],
    [39, 0, 2, undefined],
  ])
})

test('a submission that is opened again keeps its files as long as it is open', async () => {
  const database = await openTemporary()
  const token = await create(database, '202512')
  await storeFile(database, token, 400)
  await change(
    database,
    token,
    `update submission set ended = 'Submitted', ended_at = $2 where token = $1`,
    Date.now() - 300 * DAY,
  )
  await reopen(database, {
    token,
    eid: EID,
    returnId: '202512',
    actor: ACTOR,
    reason: 'Again',
    until: undefined,
  })
  await sweep(database, { files: 30, results: 30 })
  expect(await database.all('select token from submission_file')).toEqual([{ token }])
})

test('uploads that were never completed are deleted, unless one is in progress, or waits for the other files of its archive', async () => {
  const database = await openTemporary()
  const token = await create(database, '202512')
  await storeFile(database, token)
  for (const version of ['abandoned', 'in progress'])
    await change(
      database,
      token,
      `insert into file_version (version, token, resource, format, chunks, records, size, digest, batches, received, stored)
       values ($2, $1, 'groups', 'csv', 0, 0, 0, '', 0, $3, 0)`,
      version,
      version === 'abandoned' ? 1 : Date.now(),
    )
  const versions = async () => {
    await sweep(database)
    const rows = await database.all<{ version: string }>('select version from file_version order by version')
    return rows.map(({ version }) => version)
  }
  await change(
    database,
    token,
    `insert into submission_job (id, token, eid, work, revision, status, received, document)
     values ('reads an archive', $1, '1001', 'upload', 0, 'InProgress', 0, '')`,
  )
  expect(await versions()).toEqual(['abandoned', 'in progress', `of ${token}`])
  await change(database, token, 'update submission_job set completed = $2 where token = $1', Date.now())
  expect(await versions()).toEqual(['in progress', `of ${token}`])
})

test('results are deleted once the last run is longer ago than they are kept, and no run is in progress', async () => {
  const database = await openTemporary()
  const ages: Record<string, readonly (number | undefined)[]> = {
    recent: [29],
    old: [31],
    'old and recent': [31, 29],
    'two old ones': [41, 31],
    'in progress': [31, undefined],
  }
  const tokens = new Map<string, string>()
  for (const [at, [name, runs]] of Object.entries(ages).entries()) {
    const token = await create(database, `2025${10 + at}`)
    tokens.set(name, token)
    for (const [index, days] of runs.entries()) {
      await publish(database, token, `2025${10 + at}`)
      await change(
        database,
        token,
        'update submission_run set received = $2, completed = $3 where token = $1 and number = $4',
        Date.now() - (days ?? 31) * DAY,
        days === undefined ? null : Date.now() - days * DAY,
        index + 1,
      )
    }
  }
  await sweep(database, { files: 30, results: 30 })
  const rows = await database.all<{ token: string; runs: number }>(
    'select r.token, count(distinct r.run) as runs from submission_run r join result_block b on b.run = r.run group by r.token',
  )
  const left = [...tokens].map(([name, token]) => [
    name,
    Number(rows.find((row) => row.token === token)?.runs ?? 0),
  ])
  expect(Object.fromEntries(left)).toEqual({
    recent: 1,
    old: 0,
    'old and recent': 2,
    'two old ones': 0,
    'in progress': 2,
  })
  const { run } = (await database.get<{ run: number }>('select run from submission where token = $1', [
    tokens.get('old') ?? '',
  ])) ?? { run: -1 }
  expect(run).toBe(0)
})

test('a cancelled submission is purged of everything, and its token is forgotten when its results would be', async () => {
  const database = await openTemporary()
  const sealer = new Sealer()
  const tokens: string[] = []
  for (const returnId of ['202510', '202511', '202512']) {
    const token = await create(database, returnId)
    tokens.push(token)
    await storeFile(database, token)
    await publish(database, token, returnId)
    await changeSubmission(database, token, async (writer) => {
      const about = { target: 'A', kind: 'code', codes: ['A'], reason: 'Other', text: 'Personal' } as const
      await storeExplanation(
        writer,
        token,
        { ...about, findings: 1, runId: 1, actor: ACTOR, time: 1 },
        sealer,
      )
      await storeReceipt(writer, { token, eid: EID, returnId }, (receipt) => ({ receipt }), sealer)
    })
  }
  const [recent = '', old = '', open = ''] = tokens
  for (const token of [recent, old]) await cancelSubmission(database, { token, eid: EID, actor: ACTOR })
  // At once, nothing can be read; its content is left to a job, which another may do at the same time.
  expect(await database.all('select distinct token from file_version')).toEqual([{ token: open }])
  expect(await database.all('select token from submission_run')).toEqual([{ token: open }])
  const purged = 'select token from submission where purged is not null'
  expect(await database.all(purged)).toEqual([])
  const counts = await Promise.all([sweep(database), sweep(database)])
  expect(counts[0] + counts[1]).toBe(2)
  expect(await database.all(purged)).toHaveLength(2)
  expect(await database.all('select id from deletion')).toEqual([])

  const all = (await database.all<{ name: string }>(database.dialect.tables)).map(({ name }) => name)
  const having = async (token: string) => {
    const found: string[] = []
    for (const table of all) {
      const rows = await database.all<Record<string, unknown>>(`select * from ${table}`)
      if (rows.some((row) => Object.values(row).some((value) => value === token))) found.push(table)
    }
    return found.sort()
  }
  for (const token of [recent, old]) expect(await having(token)).toEqual(['activity', 'submission'])
  const activities = await database.all<{ event: string }>(
    'select event from activity where token = $1 order by id',
    [old],
  )
  expect(activities.map(({ event }) => event)).toEqual(['Created', 'Checked', 'Deleted', 'Purged'])
  const others = ['file_version', 'submission_explanation', 'submission_file', 'submission_receipt']
  expect(await having(open)).toEqual(expect.arrayContaining([...others, 'submission_run']))
  expect(await database.all('select version from file_chunk')).toEqual([{ version: `of ${open}` }])
  expect(await database.all('select distinct run from result_block')).toHaveLength(1)

  for (const [token, days] of [
    [recent, 29],
    [old, 31],
  ] as const)
    await change(
      database,
      token,
      'update submission set ended_at = $2 where token = $1',
      Date.now() - days * DAY,
    )
  await sweep(database, { files: 30, results: 30 })
  // A restore must not bring it back, so that it was deleted stays known.
  expect(await having(old)).toEqual(['activity'])
  expect(await database.all('select event from activity where token = $1', [old])).toEqual([
    { event: 'Deleted' },
  ])
  expect(await having(recent)).toEqual(['activity', 'submission'])
})
