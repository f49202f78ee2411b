import { expect } from 'vitest'
import type { Reader, Value } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { readJoined } from '../src/submissions/findings/read-findings.ts'
import { cancelSubmission } from '../src/submissions/retention/ending.ts'
import { sweep } from '../src/submissions/retention/sweep.ts'
import { findAny } from '../src/submissions/submission/submission.ts'
import { partitionResults } from './support/partition.ts'
import { Service } from './support/service.ts'
import { countStored } from './support/stored-findings.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'
import { testWhere } from './support/test-where.ts'

const testOnPostgres = testWhere(engine === 'postgres', 'on SQLite: results in partitions of PostgreSQL')

const PARTS = 16

const entries = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ localId: String(index), courseCode: name }))

/** The pages of some submissions, one after the other: a slow machine refuses many at once. */
async function readEach(service: Service, tokens: readonly string[]): Promise<unknown[]> {
  const read: unknown[] = []
  for (const token of tokens) read.push(await readAll(service, token))
  return read
}

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

testOnPostgres(
  'a database with results can be partitioned: runs are published, paged, filtered, compared and deleted as before',
  async () => {
    const url = temporaryDatabaseUrl()
    const service = await Service.start({ PAGE_CACHE_MB: '0' }, url)
    const tokens: string[] = []
    for (let index = 0; index < 40; index++) {
      const { submissionToken } = await service.publish(entries(`first ${index}`, 30))
      tokens.push(submissionToken)
    }
    const before = await readEach(service, tokens)

    await partitionResults(url)
    expect(await readEach(service, tokens)).toEqual(before)
    const parts = await service.database.all<{ part: string; blocks: number }>(
      'select tableoid::regclass::text as part, count(*) as blocks from result_block group by 1',
    )
    expect(parts.length).toBeGreaterThan(PARTS / 2)
    // A run is never split.
    for (const part of parts) expect(part.blocks % 4).toBe(0)

    const [token = '', cancelled = ''] = tokens
    await service.publish([...entries('second', 12), ...entries('first 0', 6)], { token })
    const [[, page]] = (await readAll(service, token)) as [[number, object]]
    expect(page).toMatchObject({ totalCount: 18, results: entries('second', 7) })
    const path = `/v1/submissions/${token}/validation-results`
    const filtered = await service.get(`${path}?Filter.CourseCode=second&pageSize=10&page=2`, { eid: '1001' })
    expect(filtered.json()).toMatchObject({ totalCount: 12, results: entries('second', 12).slice(10) })
    const changes = await service.get(`${path}/changes`, { eid: '1001' })
    expect(changes.json()).toMatchObject({ newCount: 12, fixedCount: 24, openCount: 6 })
    // The run before is kept, whole, until another one is published.
    expect(await countStored(service.database)).toBe(40 * 30 + 18)
    await service.publish(entries('third', 1), { token })
    await sweep(service.database)
    expect(await countStored(service.database)).toBe(39 * 30 + 18 + 1)

    const by = { token: cancelled, eid: '1001', actor: { id: 'test', name: 'Test' } }
    await cancelSubmission(service.database, by)
    expect(await sweep(service.database)).toBe(1)
    expect(await countStored(service.database)).toBe(38 * 30 + 18 + 1)

    // A page reads one part, whatever run it is of.
    const statements: [string, readonly Value[]][] = []
    const watching: Reader = {
      dialect: service.database.dialect,
      get: (sql, values) => service.database.get(sql, values),
      all: (sql, values = []) => {
        statements.push([sql, values])
        return service.database.all(sql, values)
      },
    }
    const submission = await findAny(service.database, tokens[2] ?? '')
    await readJoined(watching, submission?.run ?? 0, [7, 8, 9], new Sealer())
    const [[sql, values] = ['', []], ...others] = statements
    expect(others).toEqual([])
    await service.database.snapshot(async (reader) => {
      await reader.all(`prepare page as ${sql}`)
      await reader.all('set local plan_cache_mode = force_generic_plan')
      const given = values.map((each) => (typeof each === 'number' ? each : `'${each}'`)).join(', ')
      const rows = await reader.all<{ 'QUERY PLAN': string }>(`explain execute page (${given})`)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toContain(`Subplans Removed: ${PARTS - 1}`)
      await reader.all('deallocate page')
    })

    await expect(partitionResults(url)).rejects.toThrow(
      'the findings are already partitioned: there is nothing to do',
    )
    expect(await countStored(service.database)).toBe(38 * 30 + 18 + 1)
  },
)
