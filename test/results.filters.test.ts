import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Reader, Value } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import { type Filters, selectEntries, selectPosted } from '../src/submissions/findings/filters.ts'
import {
  FILTER_FIELDS,
  FIXED_FIELD,
  findPosted,
  NEW_FIELD,
  PostingBlock,
} from '../src/submissions/findings/postings.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { readDetails, readJoined } from '../src/submissions/findings/read-findings.ts'
import { listRuns, readFinished } from '../src/submissions/submission/runs.ts'
import { findAny } from '../src/submissions/submission/submission.ts'
import type { ValidationEntry } from '../src/submissions/submission/validation-entry.ts'
import { cases } from './support/properties.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { Service, sourceOf } from './support/service.ts'
import { testOnSqlite } from './support/test-where.ts'

const KEY = { id: 'k1', key: new Uint8Array(32).fill(7) }

/** Too long for an index of PostgreSQL, and not to be compressed. */
const LONG = Array.from({ length: 2_000 }, (_, at) => Math.imul(at, 2_654_435_761).toString(36)).join('')

const entry = fc.record(
  {
    localId: fc.constantFrom('1', '2', '3'),
    errorCode: fc.constantFrom('A', 'B', 'C'),
    errorType: fc.constantFrom('Error' as const, 'Warning' as const),
    fileType: fc.constantFrom('Learner' as const, 'Course' as const),
    studentId: fc.constantFrom('S1', 'S2', LONG),
    courseCode: fc.constantFrom('C1', 'C2'),
  },
  { requiredKeys: [] },
)

test.each([new Sealer(), new Sealer([KEY])])(
  'a filter finds the entries that a plain search finds, page by page, encrypted or not',
  async (sealer) => {
    const database = await openTemporary()
    const filters = fc.record(
      {
        'Filter.ErrorType': fc.constantFrom('Error', 'Warning'),
        'Filter.FileType': fc.constantFrom('Learner', 'Course'),
        'Filter.ErrorCode': fc.constantFrom('A', 'B', 'never'),
        'Filter.StudentId': fc.constantFrom('S1', 'S2'),
        'Filter.CourseCode': fc.constantFrom('C1', 'C2'),
      },
      { requiredKeys: [] },
    )
    const property = async (entries: ValidationEntry[], given: Filters, size: number) => {
      const published = { eid: '1', returnId: 'R', token: 'filters-token', sealer }
      await publishResults(database, sourceOf(entries), published)
      const submission = await findAny(database, 'filters-token')
      if (submission === undefined) throw new Error('nothing was published')
      const names = Object.keys(given) as (keyof typeof FILTER_FIELDS)[]
      const expected = entries.filter((each) =>
        names.every((name) => each[FILTER_FIELDS[name]] === given[name]),
      )
      const selection = await selectEntries(database, submission, given, sealer)
      if (selection === undefined) return expect(names).toEqual([])
      const found: unknown[] = []
      for (let first = 0; first < selection.total; first += size) {
        const documents = await readJoined(database, submission.run, selection.slice(first, size), sealer)
        found.push(...JSON.parse(`[${documents?.toString() ?? ''}]`))
      }
      expect(found).toEqual(expected)
    }
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 40 }), filters, fc.integer({ min: 1, max: 9 }), property),
      cases(12),
    )
  },
)

test('a posting holds any set of ordinals of its block', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(65_535), { size: 'max', maxLength: 20_000 }), (offsets) => {
      const chosen = new Set(offsets)
      const block = new PostingBlock()
      for (let offset = 0; offset < 65_536; offset++)
        block.add(chosen.has(offset) ? { errorCode: 'X' } : {}, '')
      const row = [...block.rows(1, 0, new Sealer(), new Sealer().begin())].find(
        ([, field]) => field === 'errorCode',
      )
      const bitmap = findPosted((row?.[5] as Uint8Array | undefined) ?? Buffer.of(), ['X']) ?? []
      for (let offset = 0; offset < 65_536; offset++)
        if ((((bitmap[offset >> 3] ?? 0) >> (offset & 7)) & 1) !== Number(chosen.has(offset))) return false
      return true
    }),
    cases(3),
  )
})

test('two runs compare as the multisets of their findings do', async () => {
  const database = await openTemporary()
  const sealer = new Sealer()
  let count = 0
  const property = async (before: ValidationEntry[], after: ValidationEntry[]) => {
    const token = `compare-${count++}`
    for (const entries of [before, after])
      await publishResults(database, sourceOf(entries), { eid: '1', returnId: 'R', token })
    const [to, from] = await listRuns(database, token)
    if (to === undefined || from === undefined) throw new Error('two runs were published')
    const added = await selectPosted(database, to.run, NEW_FIELD)
    const fixed = await selectPosted(database, to.run, FIXED_FIELD)
    const open = added.complement(to.total)
    const left = before.map((each) => JSON.stringify(keyOf(each)))
    const common = after.filter((each) => {
      const at = left.indexOf(JSON.stringify(keyOf(each)))
      if (at >= 0) left.splice(at, 1)
      return at >= 0
    })
    expect([added.total, fixed.total, open.total]).toEqual([
      after.length - common.length,
      before.length - common.length,
      common.length,
    ])
    const shown = await readDetails(database, from, fixed.slice(0, 100), sealer)
    expect(shown.map((each) => JSON.stringify(keyOf(each))).sort()).toEqual(left.sort())
    const { summary } = (await readFinished(database, to.run, sealer)) ?? {}
    expect(summary?.codes.reduce((sum, { count }) => sum + count, 0)).toBe(after.length)
  }
  // Few different ones, so that many occur more than once.
  const few = fc.record({ localId: fc.constantFrom('1', '2'), errorCode: fc.constantFrom('A', 'B', 'C') })
  const some = fc.array(fc.oneof(few, entry), { maxLength: 30 })
  await fc.assert(fc.asyncProperty(some, some, property), cases(10))
})

const keyOf = ({ localId, errorCode, fileType, courseCode, studentId }: ValidationEntry) => [
  localId,
  errorCode,
  fileType,
  courseCode,
  studentId,
]

test('nothing of an encrypted finding is stored readably, and another key does not open it', async () => {
  const database = await openTemporary()
  const sealer = new Sealer([KEY])
  const secret = 'Marama-1999'
  const entries = [{ localId: '1', courseCode: secret, studentId: secret, recordText: `a,${secret}` }]
  await publishResults(database, sourceOf(entries), {
    eid: '1',
    returnId: 'R',
    token: 'sealed-token',
    sealer,
  })
  for (const table of ['result_block', 'result_posting', 'submission_run', 'submission']) {
    const rows = await database.all<Record<string, unknown>>(`select * from ${table}`)
    const text = rows.flatMap((row) =>
      Object.values(row).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
      ),
    )
    expect(text.join('\n')).not.toContain(secret)
  }
  const submission = await findAny(database, 'sealed-token')
  if (submission === undefined) throw new Error('nothing was published')
  const rotated = new Sealer([{ id: 'k2', key: new Uint8Array(32).fill(9) }, KEY])
  expect((await readJoined(database, submission.run, [0], rotated))?.toString()).toBe(
    JSON.stringify(entries[0]),
  )
  const other = new Sealer([{ id: 'k1', key: new Uint8Array(32).fill(1) }])
  await expect(readJoined(database, submission.run, [0], other)).rejects.toThrow('cannot be decrypted')
  await expect(readJoined(database, submission.run, [0], new Sealer())).rejects.toThrow('"k1"')
})

testOnSqlite('the plan of a statement')(
  'entries with given ordinals are looked up by the primary key, whatever the size of the run',
  async () => {
    const database = await openTemporary()
    const statements: [string, readonly Value[]][] = []
    const reader: Reader = {
      dialect: database.dialect,
      get: (sql, values) => database.get(sql, values),
      all: (sql, values = []) => {
        statements.push([sql, values])
        return database.all(sql, values)
      },
    }
    const entries = Array.from({ length: 3000 }, (_, index) => ({ localId: String(index) }))
    const publication = { eid: '1001', returnId: 'R1', token: 'looked-up' }
    const { runId: run } = await publishResults(database, sourceOf(entries), publication)
    const documents = await readJoined(reader, run, [7, 2999], new Sealer())
    expect(documents?.toString()).toBe('{"localId":"7"},{"localId":"2999"}')
    expect(statements).toHaveLength(1)
    for (const [sql, values] of statements) {
      const plan = await database.all<{ detail: string }>(`explain query plan ${sql}`, values)
      expect(plan.map(({ detail }) => detail).join()).toContain('(run=? AND part=? AND block=?)')
    }
  },
)

test('a submission that has not been validated has no findings, with filters too', async () => {
  const service = await Service.start({ RATE_LIMIT_SUBMISSIONS: 'off' })
  const scopes = ['validation-results:read', 'submissions:write'] as const
  const { key } = await service.createKey({ scopes, eids: ['1001'] })
  const headers = { 'x-api-key': key, eid: '1001' }
  const path = `/v1/submissions/${await service.createSubmission(headers)}/validation-results`
  for (const query of ['', '?Filter.StudentId=S4', '?Filter.ErrorType=Error&page=1']) {
    const response = await service.get(path + query, headers)
    expect([query, response.statusCode, response.json().totalCount]).toEqual([query, 200, 0])
  }
})
