import { expect, test } from 'vitest'
import type { Database, Reader } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { findSubmission } from '../src/submissions/findings/queries.ts'
import { readJoined } from '../src/submissions/findings/read-findings.ts'
import { partitionResults } from './support/partition.ts'
import { Service } from './support/service.ts'
import { countStored } from './support/stored-findings.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

const PARTS = 16

const entries = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ localId: String(index), courseCode: name }))

/** Every page of a submission, and the answer past its end. */
async function readAll(service: Service, token: string): Promise<unknown[]> {
  const pages: unknown[] = []
  for (let page = 1; page <= 5; page++) {
    const url = `/v1/submissions/${token}/validation-results?pageSize=7&page=${page}`
    const response = await service.get(url, { eid: '1001' })
    pages.push([response.statusCode, response.json()])
  }
  return pages
}

/** The tables that the plan of a statement reads from, and what it says besides. */
async function explain(database: Database, sql: string): Promise<{ tables: string[]; plan: string }> {
  const rows = await database.all<{ 'QUERY PLAN': string }>(`explain ${sql}`)
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  return {
    tables: [...plan.matchAll(/(?: on|Scan using \S+ on) (result_block\w*)/g)].map(([, name = '']) => name),
    plan,
  }
}

/** The statement that reads a page of a submission. */
async function captureStatement(
  service: Service,
  token: string,
): Promise<{ sql: string; values: unknown[] }> {
  const submission = await findSubmission(service.database, token)
  if (submission === undefined) throw new Error('there is no such submission')
  let captured: { sql: string; values: unknown[] } | undefined
  const reader: Reader = {
    dialect: service.database.dialect,
    get: (sql, values) => service.database.get(sql, values),
    all: (sql, values = []) => {
      captured = { sql, values: [...values] }
      return service.database.all(sql, values)
    },
  }
  await readJoined(reader, submission.run, [7, 8, 9, 10, 11, 12, 13], new Sealer())
  if (captured === undefined) throw new Error('no statement was made')
  return captured
}

test('a database with results can be partitioned: it responds as before, and accepts new runs', async () => {
  const url = temporaryDatabaseUrl()
  const service = await Service.start({ PAGE_CACHE_MB: '0' }, url)
  const tokens: string[] = []
  for (let index = 0; index < 40; index++) {
    const { submissionToken } = await service.publish(entries(`first ${index}`, 30))
    tokens.push(submissionToken)
  }
  const before = await Promise.all(tokens.map((token) => readAll(service, token)))

  await partitionResults(url)
  expect(await Promise.all(tokens.map((token) => readAll(service, token)))).toEqual(before)
  const parts = await service.database.all<{ part: string; blocks: number }>(
    'select tableoid::regclass::text as part, count(*) as blocks from result_block group by 1',
  )
  expect(parts.length).toBeGreaterThan(PARTS / 2)
  // A run is never split.
  for (const part of parts) expect(part.blocks % 4).toBe(0)

  const [token = ''] = tokens
  await service.publish(entries('second', 12), { token })
  const [[, page]] = (await readAll(service, token)) as [[number, { totalCount: number; results: unknown }]]
  expect(page).toMatchObject({ totalCount: 12, results: entries('second', 7) })
  // The run before is kept, whole.
  expect(await countStored(service.database)).toBe(40 * 30 + 12)
})

test('the plan of a page reads one part of sixteen, whether it is made for its run or for any', async () => {
  const url = temporaryDatabaseUrl()
  const service = await Service.start({}, url)
  const { submissionToken } = await service.publish(entries('only', 6000))
  const { sql, values } = await captureStatement(service, submissionToken)
  await partitionResults(url)

  const given = sql.replace(/\$(\d)/g, (_, number) => {
    const value = values[Number(number) - 1]
    return typeof value === 'number' ? String(value) : `'${value}'`
  })
  const own = await explain(service.database, given)
  expect(own.tables, own.plan).toHaveLength(1)
  expect(own.plan).toContain('Index')

  await service.database.snapshot(async (reader) => {
    await reader.all(`prepare page as ${sql}`)
    await reader.all('set local plan_cache_mode = force_generic_plan')
    const rows = await reader.all<{ 'QUERY PLAN': string }>(
      `explain execute page (${values.map((each) => (typeof each === 'number' ? each : `'${each}'`)).join(', ')})`,
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain(`Subplans Removed: ${PARTS - 1}`)
    await reader.all('deallocate page')
  })
})

test('the script says so where the results are partitioned already, and changes nothing', async () => {
  const url = temporaryDatabaseUrl()
  const service = await Service.start({}, url)
  await service.publish(entries('a', 10), { token: 'submission-0001' })
  await partitionResults(url)
  await expect(partitionResults(url)).rejects.toThrow(
    'the findings are already partitioned: there is nothing to do',
  )
  expect((await readAll(service, 'submission-0001')).length).toBe(5)
})
