import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { revokeKeys } from '../src/api/access/keys.ts'
import { SCOPES } from '../src/api/access/principal.ts'
import { removeSuspension, storeSuspension } from '../src/api/access/suspensions.ts'
import type { Lock } from '../src/foundation/database/database.ts'
import { until } from './support/command.ts'
import { ConsoleService } from './support/console.ts'
import { Service } from './support/service.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { startSubmissions } from './support/submissions.ts'

const PEOPLE = 'localId,id,group,age\n'
const SUSPENDED = /^Organisation 1001 is suspended/

const RETURN = {
  name: 'December',
  definition: 'sdr',
  opens: '2025-12-01',
  due: '2025-12-31',
  closes: '2026-01-31',
}

type Ending = 'revoked' | 'expired' | 'suspended'

/**
 * A service with a submission whose file `people` has one record, and a key that ends while it is in use.
 *
 * @param life milliseconds until the key expires
 */
async function start(life = 3_600_000) {
  const { service } = await startSubmissions(makeSmallDefinition())
  const scopes = ['validation-results:read', 'submissions:write'] as const
  const { id, key } = await service.createKey({ scopes, eids: ['1001'], expires: Date.now() + life })
  const reader = await service.createKey({ scopes, eids: ['1001'], expires: Date.now() + 10 * life })
  const headers = { 'x-api-key': key, eid: '1001' }
  const path = `/v1/submissions/${await service.createSubmission(headers)}`
  const stored = await service.request({
    method: 'PUT',
    url: `${path}/files/people`,
    headers: { ...headers, 'content-type': 'text/csv' },
    payload: `${PEOPLE}before,1,A,17\n`,
  })
  expect(stored.statusCode).toBe(200)
  return {
    service,
    headers,
    path,
    /** Ends the use of the key, and resolves when a new request is refused for it. */
    async end(how: Ending): Promise<void> {
      if (how === 'revoked') await revokeKeys(service.database, [id])
      if (how === 'suspended') await storeSuspension(service.database, { eid: '1001', reason: '' })
      if (how === 'expired') {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + life })
        onTestFinished(() => {
          vi.useRealTimers()
        })
      }
      await service.revisions.refresh()
      await until(async () => (await service.request({ url: path, headers })).statusCode === 401)
    },
    /** The file `people` for another key. */
    async read(file = 'people'): Promise<string> {
      await removeSuspension(service.database, '1001')
      await service.revisions.refresh()
      const url = `${path}/files/${file}`
      return await until(async () => {
        const { statusCode, body } = await service.request({
          url,
          headers: { 'x-api-key': reader.key, eid: '1001' },
        })
        return statusCode === 200 ? body : undefined
      })
    },
  }
}

/** A body whose second part is sent when `end` has resolved, and whose end comes after `rest`. */
function pausing(first: string, end: () => Promise<void>, second: string, rest?: Promise<void>): Readable {
  return Readable.from(
    (async function* () {
      yield Buffer.from(first)
      await nextTurn()
      await end()
      yield Buffer.from(second)
      await rest
    })(),
    { objectMode: false },
  )
}

describe('a request whose key ends while it', () => {
  test.each<Ending>(['revoked', 'expired', 'suspended'])('sends a file replaces nothing: %s', async (how) => {
    const { service, path, headers, end, read } = await start()
    const rest = Promise.withResolvers<void>()
    const response = await service.request({
      method: 'PUT',
      url: `${path}/files/people`,
      headers: { ...headers, 'content-type': 'text/csv' },
      payload: pausing(PEOPLE, () => end(how), 'after,2,A,18\n', rest.promise),
    })
    // It is refused before its end, which could come an hour later.
    rest.resolve()
    expect(response.statusCode).toBe(401)
    if (how === 'suspended') expect(response.json().detail).toMatch(SUSPENDED)
    expect(await read()).toContain('before')
  })

  test('sends a batch changes nothing', async () => {
    const { service, path, headers, end, read } = await start()
    const response = await service.request({
      method: 'POST',
      url: `${path}/records/people`,
      headers: { ...headers, 'content-type': 'application/json' },
      payload: pausing('{"content":[{"localId":"after",', () => end('expired'), '"id":"2"}]}'),
    })
    expect(response.statusCode).toBe(401)
    expect(await read()).not.toContain('after')
  })

  test('waits for a run does not get its state', async () => {
    const { service, path, headers, end } = await start()
    const requested = await service.request({ method: 'POST', url: `${path}/validation-runs`, headers })
    expect(requested.statusCode).toBe(202)
    const read = vi.spyOn(service.database, 'all')
    const waiting = service.request({
      url: `${path}/validation-runs/1`,
      headers: { ...headers, prefer: 'wait=1' },
    })
    await until(() => read.mock.calls.some(([sql]) => sql.includes('submission_run')))
    await end('revoked')
    expect((await waiting).statusCode).toBe(401)
  })

  test('reads a file gets no more of it', async () => {
    const { service, path, headers, end } = await start()
    const rows = Array.from({ length: 100_000 }, (_, index) => `${index},1,A,17\n`).join('')
    await service.request({
      method: 'PUT',
      url: `${path}/files/people`,
      headers: { ...headers, 'content-type': 'text/csv' },
      payload: PEOPLE + rows,
    })
    const response = await service.app.inject({
      url: `${path}/files/people`,
      headers,
      payloadAsStream: true,
    })
    expect(response.statusCode).toBe(200)
    const body = response.stream()
    body.on('error', () => undefined)
    await end('suspended')
    // Nobody reads: a client that takes its time, whose response would otherwise end hours later.
    await until(() => response.raw.res.destroyed)
    expect(response.raw.res.writableFinished).toBe(false)
  })
})

test('a download in the console ends with the key of its session', async () => {
  const console = await ConsoleService.start()
  const { service } = console
  const entries = Array.from({ length: 60_000 }, (_, index) => ({ localId: `record-${index}` }))
  await service.publish(entries, { token: 'submission-0001' })
  const { id } = await service.createKey({ scopes: SCOPES, eids: ['1001'] })
  const response = await service.app.inject({
    url: '/console/submissions/submission-0001/findings.csv?eid=1001',
    headers: { host: 'localhost', cookie: await console.signIn(id) },
    payloadAsStream: true,
  })
  expect(response.statusCode).toBe(200)
  response.stream().on('error', () => undefined)
  await revokeKeys(service.database, [id])
  await until(() => response.raw.res.destroyed)
  expect(response.raw.res.writableFinished).toBe(false)
})

test('a key that expires while its change waits for another one changes nothing', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  const { service, path, headers, end, read } = await start(30_000)
  const send = (localId: string) =>
    service.request({
      method: 'POST',
      url: `${path}/records/groups`,
      headers: { ...headers, 'content-type': 'application/json' },
      payload: JSON.stringify({ content: [{ localId, code: '2' }] }),
    })
  // The activity of the next one is the same, so that it is not recorded again.
  expect((await send('first')).statusCode).toBe(200)
  const token = path.split('/').at(-1) ?? ''
  const entered = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const other = service.database.write(`submission:${token}`, async () => {
    entered.resolve()
    await held.promise
  })
  await entered.promise
  const writes = vi.spyOn(service.database, 'write')
  const change = send('after')
  await until(() => writes.mock.calls.length > 0)
  await end('expired')
  held.resolve()
  await other
  expect((await change).statusCode).toBe(401)
  expect(await read('groups')).not.toContain('after')
})

test.each<[Lock, 'POST' | 'PUT', string, object, table: string]>([
  ['codings', 'POST', '/confirmed-codings', { items: [{ title: 'Nurse' }] }, 'confirmed_coding'],
  ['keys', 'PUT', '/organisations/1001/suspension', {}, 'organisation_suspension'],
  ['job:returns', 'PUT', '/returns/202512', RETURN, 'collected_return'],
])('nor does one of the %s: %s %s', async (lock, method, url, payload, table) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  onTestFinished(() => void vi.useRealTimers())
  const service = await Service.start()
  const { key } = await service.createKey({ scopes: SCOPES, eids: ['1001'], expires: Date.now() + 1_000 })
  const entered = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const other = service.database.write(lock, async () => {
    entered.resolve()
    await held.promise
  })
  await entered.promise
  const writes = vi.spyOn(service.database, 'write')
  const change = service.request({ method, url: `/v1${url}`, headers: { 'x-api-key': key }, payload })
  await until(() => writes.mock.calls.length > 0)
  vi.advanceTimersByTime(2_000)
  held.resolve()
  await other
  expect((await change).statusCode).toBe(401)
  expect(await service.database.all(`select * from ${table}`)).toEqual([])
})
