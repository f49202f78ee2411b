import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { SCOPES } from '../../src/api/access/principal.ts'
import { untilHolds } from '../support/command.ts'
import { ConsoleService } from '../support/console.ts'
import { startWorker } from '../support/submission-worker.ts'

test('findings of files with the longest header rows take no memory once they are shown', async () => {
  const console = await ConsoleService.start({ RATE_LIMIT_SUBMISSIONS: 'off' })
  await startWorker(console.service.database, ['sdr'], { inProcesses: true })
  const cookie = await console.signIn()
  const { key } = await console.service.createKey({ scopes: SCOPES, eids: ['1001'] })
  const call = (method: 'PUT' | 'POST' | 'GET', url: string, payload?: string, type = 'application/json') =>
    console.service.request({
      method,
      url: `/v1/submissions${url}`,
      headers: { 'x-api-key': key, eid: '1001', ...(payload !== undefined && { 'content-type': type }) },
      ...(payload !== undefined && { payload }),
    })
  const { submissionToken: token } = (await call('POST', '', '{"returnId":"202512"}')).json()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used: number[] = []
  for (let round = 0; round < 4; round++) {
    const cells = Array.from({ length: 200_000 }, (_, index) => (round * 200_000 + index).toString(36))
    await call('PUT', `/${token}/files/learners`, `${cells.join()},localId\n1,2\n`, 'text/csv')
    const { runId } = (await call('POST', `/${token}/validation-runs`)).json()
    await untilHolds(async () => {
      const run = await call('GET', `/${token}/validation-runs/${runId}`)
      expect(run.json()).toMatchObject({ status: 'Processed' })
    })
    const url = `/console/submissions/${token}/findings/records?file=Learner`
    const page = await console.service.app.inject({ url, headers: { host: 'localhost', cookie } })
    expect([page.statusCode, page.body.includes('class="grid cards"')]).toEqual([200, true])
    collect()
    used.push(process.memoryUsage().heapUsed)
  }
  // Each header row is 1 MB, and 10 MB as a list of names.
  expect((used.at(-1) ?? 0) - (used[1] ?? 0)).toBeLessThan(10 * 2 ** 20)
})
