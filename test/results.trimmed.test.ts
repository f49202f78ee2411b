import { expect, test } from 'vitest'
import { Sealer } from '../src/foundation/database/seal.ts'
import { reencryptRuns } from '../src/submissions/encryption/reencrypt-findings.ts'
import { compareRuns } from '../src/submissions/findings/compare.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { Service } from './support/service.ts'
import { sourceOf } from './support/source.ts'

test('only the last two runs store findings, and every kept run can be compared with the current one', async () => {
  const service = await Service.start()
  const entries = (first: number, last: number) =>
    Array.from({ length: last - first }, (_, index) => ({
      localId: String(first + index),
      errorCode: 'E1',
      errorType: 'Error',
      studentId: 'S1',
      recordText: 'text',
    }))
  const { submissionToken: token } = await service.publish(entries(0, 10))
  await service.publish(entries(2, 10), { token })
  await service.publish(entries(3, 10), { token })
  await service.publish(entries(5, 12), { token })

  const stored = await service.database.all<{ number: number; blocks: number; fields: string }>(
    `select r.number, (select count(*) from result_block b where b.run = r.run) as blocks,
       (select count(distinct field) from result_posting p where p.run = r.run) as fields
     from submission_run r order by r.number`,
  )
  expect(stored.map(({ blocks, fields }) => [Number(blocks), Number(fields)])).toEqual([
    [0, 1],
    [0, 1],
    [2, 4],
    [2, 4],
  ])

  const path = `/v1/submissions/${token}/validation-results`
  const changes = async (query: string) => await service.get(`${path}/changes?${query}`, { eid: '1001' })
  const first = (await changes('from=1&pageSize=100')).json()
  expect(first).toMatchObject({ newCount: 2, fixedCount: 5, openCount: 5, totalCount: 7, partial: true })
  expect(first.results.map(({ status, localId }: Record<string, string>) => `${status} ${localId}`)).toEqual([
    'new 10',
    'new 11',
    ...[5, 6, 7, 8, 9].map((id) => `open ${id}`),
  ])
  expect((await changes('from=1&status=fixed')).json()).toMatchObject({ fixedCount: 5, totalCount: 0 })
  const previous = (await changes('from=3&status=fixed')).json()
  expect(previous).toMatchObject({ fixedCount: 2, totalCount: 2 })
  expect(previous).not.toHaveProperty('partial')
  const later = await changes('from=1&to=2')
  expect([later.statusCode, later.json().detail]).toEqual([
    404,
    expect.stringContaining('only those of the last two runs'),
  ])
  expect((await service.get(path, { eid: '1001' })).json()).toMatchObject({ totalCount: 7 })
})

test('the keys of a run without findings are encrypted again, so that it can still be compared', async () => {
  const database = await openTemporary()
  const key = (id: string) => ({ id, key: Buffer.alloc(32, id) })
  const [old, both, latest] = [[key('a')], [key('b'), key('a')], [key('b')]].map(
    (keys) => new Sealer(keys),
  ) as [Sealer, Sealer, Sealer]
  const runs: number[] = []
  for (let run = 0; run < 3; run++)
    runs.push(
      (
        await publishResults(database, sourceOf([{ localId: 'L1' }, { localId: `of ${run}` }]), {
          eid: '1001',
          returnId: 'R1',
          token: 'trimmed-token',
          sealer: old,
        })
      ).runId,
    )
  await reencryptRuns(database, both)
  const [first = 0, , last = 0] = runs
  const reference = (run: number) => ({ run, totalCount: 2 })
  const { added, fixed, open } = await compareRuns(database, reference(first), reference(last), latest)
  expect([added.total, fixed.total, open.total]).toEqual([1, 1, 1])
})
