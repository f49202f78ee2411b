import { expect, test } from 'vitest'
import { Installation, until } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { makePeople, makeSmallDefinition } from '../support/small-definition.ts'

const GROUPS = 'localId,code,title\n1,G1,One\n'

test('a suspended organisation loses a run that a worker has begun, which stores nothing, and a restart keeps the suspension', async () => {
  const mahi = new Installation()
  await mahi.migrate()
  const definition = makeSmallDefinition()
  const scopes = ['--scope', 'submissions:write', 'validation-results:read']
  const created = await mahi.runJson(['keys', 'create', '--client', 'vendor', '--eid', '1001', ...scopes])
  const { key } = created as { key: string }
  const environment = { DEFINITIONS: definition, LOG_LEVEL: 'info' }
  const { url } = await mahi.serve(environment)
  const headers = { 'x-api-key': key, eid: '1001', 'content-type': 'application/json' }
  const made = await fetch(`${url}/v1/submissions`, {
    method: 'POST',
    headers,
    body: '{"returnId":"202512"}',
  })
  const { submissionToken } = (await made.json()) as { submissionToken: string }
  const call = (method: string, rest: string) =>
    fetch(`${url}/v1/submissions/${submissionToken}${rest}`, {
      method,
      headers: { 'x-api-key': key, eid: '1001' },
    })
  // Their check takes some seconds.
  mahi.write('return/people.csv', makePeople('p', 150_000, 0).csv)
  mahi.write('return/groups.csv', GROUPS)
  const options = ['--url', url, '--eid', '1001', '--return', '202512', '--definition', definition, '--wait']
  const provider = mahi.start(['submit', 'return', ...options], { environment: { MAHI_API_KEY: key } })
  const worker = mahi.start(['work'], { environment: { ...environment, WORKERS: '1' } })
  const status = async () =>
    ((await (await call('GET', '/validation-runs/1')).json()) as { status: string }).status
  await until(async () => ((await status()) === 'InProgress' ? true : undefined))
  expect(await mahi.runJson(['organisations', 'suspend', '1001', '--reason', 'Trial'])).toEqual({
    eid: '1001',
    state: 'Suspended',
    cancelledRuns: 1,
  })
  // The provider, who waits for the run, reads what became of it: from the refusal, or from the cancelled run if the
  // service has not read the suspension yet. Both say what to do.
  const { code, stderr } = await provider.ended
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /is suspended: its submissions are kept .*\. Runs .* are cancelled: request them again afterwards\n$|ended as Cancelled: The organisation was suspended .* Request a run again when the organisation has been resumed\.\n$/,
    ),
  ])
  // The worker notices that its job is gone.
  await worker.output(/"outcome":"lost"/)
  worker.kill('SIGTERM')
  await worker.ended
  // Another process knows of the suspension, too.
  const other = await mahi.serve(environment)
  const refused = await fetch(`${other.url}/v1/submissions`, { headers: { 'x-api-key': key, eid: '1001' } })
  expect([refused.status, await refused.text()]).toEqual([
    401,
    expect.stringContaining('Organisation 1001 is suspended'),
  ])
  await mahi.runJson(['organisations', 'resume', '1001'])
  await until(async () => ((await call('GET', '')).status === 200 ? true : undefined))
  expect(await (await call('GET', '/validation-runs/1')).json()).toMatchObject({ status: 'Cancelled' })
  expect((await (await call('GET', '')).json()) as object).toMatchObject({ submissionStatus: 'Pending' })
  const entries = await withDatabase(mahi.databaseUrl, (database) =>
    database.get<{ count: number }>('select count(*) as count from result_block'),
  )
  expect(entries?.count).toBe(0)
})
