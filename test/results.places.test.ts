import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PublishedFinding } from '../src/submissions/findings/schema.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'

const finding = (at: number, more: Partial<PublishedFinding> = {}): PublishedFinding => ({
  localId: `L${at}`,
  errorCode: 'A',
  errorType: 'Error',
  file: 'enrolments.csv',
  line: at,
  field: 'start',
  value: `value ${at}`,
  findingKey: `key ${at}`,
  ...more,
})

async function start(settings: Record<string, string> = {}) {
  const service = await Service.start(settings)
  const publish = (findings: readonly PublishedFinding[]) =>
    service.publish(findings, { token: 'submission', returnId: '202512' })
  const ask = async (path: string) => {
    const response = await service.get(`/v1/submissions/submission/validation-results/${path}`, {
      eid: '1001',
    })
    return { status: response.statusCode, body: response.json(), link: response.headers.link }
  }
  return { service, publish, ask }
}

test('findings have their places, and a cause those of its own', async () => {
  const { publish, ask } = await start()
  await publish([
    finding(1, { cause: 'one' }),
    finding(2, { cause: 'other & more' }),
    finding(3, { cause: 'one', errorType: 'Warning' }),
    finding(4),
  ])
  const all = await ask('findings')
  expect(all.body).toMatchObject({ runId: 1, page: 1, totalCount: 4 })
  expect(all.body.results[1]).toEqual(finding(2, { cause: 'other & more' }))
  const lines = async (query: string) =>
    (await ask(`findings?${query}`)).body.results.map(({ line }: PublishedFinding) => line)
  expect(await lines('Filter.Cause=one')).toEqual([1, 3])
  expect(await lines('Filter.Cause=other%20%26%20more')).toEqual([2])
  expect(await lines('Filter.Cause=one&Filter.ErrorType=Warning')).toEqual([3])
  expect(await ask('findings?Filter.Cause=none')).toMatchObject({
    status: 404,
    body: { detail: 'The current run has no cause with this key.' },
  })
  // What a command publishes has no causes, which is no absence of faults.
  expect((await ask('causes')).body).toEqual({
    submissionToken: 'submission',
    runId: 1,
    causes: [],
    note: 'These findings were published without causes. The summary lists them by code.',
  })
  expect((await ask('findings?pageSize=2')).link).toContain('findings?page=2&pageSize=2')
})

test('every list of findings refuses a page past its last one with PR2', async () => {
  const { publish, ask } = await start()
  await publish([finding(1)])
  await publish([finding(1)])
  for (const path of ['findings?page=2', 'learners?page=2', 'changes?page=2'])
    expect([path, await ask(path)]).toMatchObject([
      path,
      { status: 400, body: { errorCode: 'PR2', detail: 'page is 2, past the last page, 1.' } },
    ])
})

test('only new findings are those that the earlier run did not have', async () => {
  const { publish, ask } = await start()
  await publish([finding(1, { cause: 'one' }), finding(2, { cause: 'one' })])
  for (const path of ['findings?onlyNew=true', 'changes'])
    expect(await ask(path)).toMatchObject({ status: 404, body: { type: '/problems/no-such-run' } })
  await publish([finding(2, { cause: 'one' }), finding(3, { cause: 'one' }), finding(4, { cause: 'two' })])
  const fresh = await ask('findings?onlyNew=true&Filter.Cause=one')
  expect(fresh.body.results.map(({ line }: PublishedFinding) => line)).toEqual([3])
  expect((await ask('changes?status=fixed')).body).toMatchObject({
    from: 1,
    to: 2,
    newCount: 2,
    fixedCount: 1,
    openCount: 1,
  })
})

test.each([{}, { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` }])(
  'learners are counted, also where they are encrypted: %o',
  async (settings) => {
    const { publish, ask } = await start(settings)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(fc.constantFrom('S1', 'S2', 'S3', 'S4'), { nil: undefined }), { maxLength: 30 }),
        async (students) => {
          await publish(students.map((studentId, at) => finding(at + 1, studentId ? { studentId } : {})))
          const counts = new Map<string, number>()
          for (const each of students) if (each) counts.set(each, (counts.get(each) ?? 0) + 1)
          const { body } = await ask('learners')
          const found = new Map(
            body.results.map(({ studentId, findings }: Record<string, unknown>) => [studentId, findings]),
          )
          expect(found).toEqual(counts)
          expect(body.totalCount).toBe(counts.size)
          const numbers = [...found.values()] as number[]
          expect(numbers).toEqual(numbers.toSorted((one, other) => other - one))
          const pages: unknown[] = []
          for (let page = 1; page <= counts.size; page++)
            pages.push(...(await ask(`learners?pageSize=1&page=${page}`)).body.results)
          expect(pages).toEqual(body.results)
        },
      ),
      cases(5),
    )
  },
)
