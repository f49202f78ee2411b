import { expect, test } from 'vitest'
import { Metrics } from '../src/api/telemetry/metrics.ts'
import { enqueue } from '../src/foundation/jobs/queue.ts'
import { reportState } from '../src/operate/gauges.ts'
import { readState } from '../src/operate/state.ts'
import { readStatus } from '../src/operate/status.ts'
import { readSettings } from '../src/settings.ts'
import { Service } from './support/service.ts'

test('the status, the overview and the metrics show one state', async () => {
  const service = await Service.start()
  const { database } = service
  await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Error', fileType: 'Learner' }])
  const { key } = await service.createKey({ client: 'operator', scopes: ['operate'] })
  await service.createKey({ client: 'soon', expires: Date.now() + 86_400_000 })
  await database.write('job:test', async (writer) => {
    for (const subject of ['1', '2']) await enqueue(writer, { kind: 'run', subject, eid: '1001' })
    await enqueue(writer, { kind: 'purge', subject: '1', eid: '1001' })
  })
  const state = await readState(database)
  const waiting = Object.fromEntries(state.jobs.map((job) => [job.kind, job.waiting]))
  expect(waiting).toMatchObject({ run: 2, purge: 1 })

  const { state: status } = await readStatus(readSettings({ DATABASE_URL: database.address }))
  const overview = (await service.get('/v1/overview', { 'x-api-key': key })).json()
  const metrics = new Metrics()
  reportState(database, metrics)
  const series = new Map(
    (await metrics.registry.metrics()).split('\n').map((line) => line.split(' ') as [string, string]),
  )
  const gauge = (name: string) => Number(series.get(name))

  expect(status?.queue.waiting).toBe(3)
  for (const { kind, waiting: due } of overview.jobs) {
    expect(due).toBe(waiting[kind])
    expect(gauge(`mahi_jobs_waiting{kind="${kind}"}`)).toBe(due)
  }
  expect([status?.submissions.byState, overview.submissions]).toEqual([state.submissions, state.submissions])
  expect([status?.runs, overview.runs]).toEqual([state.runs, state.runs])
  expect(gauge('mahi_runs_total{status="Processed"}')).toBe(state.endings.Processed.total)
  expect(overview.keys).toHaveLength(state.keys.length)
  expect([status?.keys.valid, gauge('mahi_keys_valid')]).toEqual([state.validKeys, state.validKeys])
  expect(overview.expiringKeys).toBeGreaterThan(0)
  expect([status?.keys.expiring.length, gauge('mahi_keys_expiring')]).toEqual(
    Array(2).fill(overview.expiringKeys),
  )
})
