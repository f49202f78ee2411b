import { describe, expect, test } from 'vitest'
import type { Database } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { claim, schedule } from '../src/foundation/jobs/queue.ts'
import { storeReceipt } from '../src/submissions/explanations/receipt.ts'
import { storeExplanation } from '../src/submissions/explanations/store.ts'
import { storeFile } from '../src/submissions/files/upload.ts'
import { changeSubmission } from '../src/submissions/findings/change-submission.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { cancelSubmission } from '../src/submissions/retention/ending.ts'
import { purgeNow } from '../src/submissions/retention/purge.ts'
import { type Retention, sweep } from '../src/submissions/retention/retention.ts'
import { Definitions } from '../src/submissions/rules/definitions.ts'
import { createSubmission } from '../src/submissions/submission.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { sourceOf } from './support/source.ts'
import { countStored } from './support/stored-findings.ts'

const EID = '1001'
const DAY = 86_400_000
const SECRET = 'Kererū-7391'
const actor = { id: 'test', name: 'Test' }
const sealer = new Sealer()

async function* once(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

/** A submission with a file, a finding, an explanation and a receipt; all of them contain a secret. */
async function fill(database: Database, returnId = '202512'): Promise<string> {
  const life = 1000 * DAY
  const { submission } = await createSubmission(database, { eid: EID, returnId, definition: 'small', life })
  const { token } = submission
  await storeFile(database, sealer, {
    token,
    eid: EID,
    resource: 'people',
    format: 'csv',
    form: new Definitions([makeSmallDefinition()]).formOf('small', 'people'),
    gzip: false,
    content: once(`localId,id\n1,${SECRET}\n`),
    maxBytes: 1000,
  })
  const entry = {
    localId: '1',
    errorCode: 'E1',
    errorType: 'Error',
    errorDescription: SECRET,
    recordText: SECRET,
  }
  await publishResults(database, sourceOf([entry]), { eid: EID, returnId, token })
  await changeSubmission(database, token, async (writer) => {
    const about = { target: 'E1', kind: 'code', codes: ['E1'], reason: 'Other', text: SECRET } as const
    const explanation = { ...about, findings: 1, runId: 1, actor, time: 1 }
    await storeExplanation(writer, token, explanation as Parameters<typeof storeExplanation>[2], sealer)
    await storeReceipt(writer, { token, eid: EID, returnId }, () => ({ statement: SECRET }), sealer)
  })
  return token
}

/** Looks for expired data once, and deletes what was found. */
async function sweepOnce(database: Database, retention: Retention) {
  await database.write('schema', (writer) => writer.run('delete from job'))
  const purged: object[] = []
  await schedule(database, 'retention', 'sweep')
  const job = await claim(database, 'test', ['retention'])
  if (job === undefined) throw new Error('there is no sweep')
  await sweep(database, job, retention, (each) => void purged.push(each))
  await purgeNow(database)
  return purged
}

/** The tables that contain the secret. */
async function findSecret(database: Database): Promise<string[]> {
  const tables = await database.all<{ name: string }>(database.dialect.tables)
  const found: string[] = []
  for (const { name } of tables)
    if (JSON.stringify(await database.all(`select * from ${name}`)).includes(SECRET)) found.push(name)
  return found.sort()
}

async function count(database: Database, table: string, token: string): Promise<number> {
  const row = await database.get<{ count: number }>(
    `select cast(count(*) as int) as count from ${table} where token = $1`,
    [token],
  )
  return row?.count ?? 0
}

test('a cancelled submission leaves nothing behind but that it was there', async () => {
  const database = await openTemporary()
  const token = await fill(database)
  const other = await fill(database, '202604')
  expect(await findSecret(database)).toContain('submission_explanation')
  await cancelSubmission(database, { token, eid: EID, actor })
  await purgeNow(database)
  for (const table of [
    'file_version',
    'submission_file',
    'submission_explanation',
    'submission_receipt',
    'submission_run',
  ])
    expect([table, await count(database, table, token), await count(database, table, other)]).toEqual([
      table,
      0,
      1,
    ])
  expect(await countStored(database)).toBe(1)
  expect(await database.get('select run, total from submission where token = $1', [token])).toEqual({
    run: 0,
    total: 0,
  })
  await cancelSubmission(database, { token: other, eid: EID, actor })
  await purgeNow(database)
  expect(await findSecret(database)).toEqual([])
  expect(await database.all('select * from file_chunk')).toEqual([])
  expect(await count(database, 'submission', token)).toBe(1)
})

describe('files are kept for 30 days after', () => {
  const now = Date.now()
  const days = (count: number) => now - count * DAY

  test.each([
    ['their upload', { received: 29 }, { received: 31 }],
    ['the submission was submitted', { received: 99, ended_at: 29 }, { received: 99, ended_at: 31 }],
    ['the end of a reopening', { received: 99, reopened_until: 29 }, { received: 99, reopened_until: 31 }],
    [
      'the end of a reopening that is still to come',
      { received: 99, reopened_until: -1 },
      { received: 99, reopened_until: 99 },
    ],
  ] as const)('%s', async (_, kept, expired) => {
    const database = await openTemporary()
    const tokens = [await fill(database), await fill(database, '202604')]
    for (const [index, { received, ...changed }] of [kept, expired].entries())
      await database.write('schema', async (writer) => {
        const token = tokens[index] ?? ''
        await writer.run('update file_version set received = $2 where token = $1', [token, days(received)])
        for (const [column, ago] of Object.entries(changed))
          await writer.run(`update submission set ${column} = $2 where token = $1`, [token, days(ago)])
      })
    expect(await sweepOnce(database, { files: 30, results: 'off' })).toEqual([
      { eid: EID, files: 1, findings: 0 },
    ])
    expect(await database.all('select token from file_version')).toEqual([{ token: tokens[0] }])
    // Neither the findings nor anything of the other submission.
    expect(await countStored(database)).toBe(2)
  })
})

test('files are kept while a run reads them, and for ever if retention is off', async () => {
  const database = await openTemporary()
  const token = await fill(database)
  await database.write('schema', async (writer) => {
    await writer.run('update file_version set received = 1')
    await writer.run('update submission_run set completed = null')
  })
  expect(await sweepOnce(database, { files: 1, results: 1 })).toEqual([])
  expect(await count(database, 'file_version', token)).toBe(1)
  await database.write('schema', (writer) => writer.run('update submission_run set completed = 1'))
  expect(await sweepOnce(database, { files: 'off', results: 'off' })).toEqual([])
  expect(await sweepOnce(database, { files: 1, results: 'off' })).toHaveLength(1)
})

test('findings are kept for the days after the last run', async () => {
  const database = await openTemporary()
  const tokens = [await fill(database), await fill(database, '202604')]
  for (const [index, ago] of [29, 31].entries())
    await database.write('schema', (writer) =>
      writer.run('update submission_run set completed = $2 where token = $1', [
        tokens[index] ?? '',
        Date.now() - ago * DAY,
      ]),
    )
  expect(await sweepOnce(database, { files: 'off', results: 30 })).toEqual([
    { eid: EID, files: 0, findings: 1 },
  ])
  expect(await database.all('select token from submission_run')).toEqual([{ token: tokens[0] }])
  expect(await countStored(database)).toBe(1)
})

test('the token of a cancelled submission is kept for as long as its results would have been', async () => {
  const database = await openTemporary()
  const token = await fill(database)
  await cancelSubmission(database, { token, eid: EID, actor })
  await purgeNow(database)
  await sweepOnce(database, { files: 1, results: 30 })
  expect(await count(database, 'submission', token)).toBe(1)
  await database.write('schema', (writer) =>
    writer.run('update submission set ended_at = $2 where token = $1', [token, Date.now() - 31 * DAY]),
  )
  await sweepOnce(database, { files: 1, results: 30 })
  expect(await count(database, 'submission', token)).toBe(0)
  expect(await count(database, 'submission_activity', token)).toBe(0)
})
