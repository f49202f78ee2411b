import { describe, expect, test } from 'vitest'
import { SCOPES } from '../src/api/access/principal.ts'
import { storeSuspension } from '../src/api/access/suspensions.ts'
import { Installation, until } from './support/command.ts'
import { ConsoleService, describeForm } from './support/console.ts'
import { withDatabase } from './support/filled-database.ts'
import { Service } from './support/service.ts'
import { makePeople, makeSmallDefinition } from './support/small-definition.ts'
import { startSubmissions } from './support/submissions.ts'

const GROUPS = 'localId,code,title\n1,G1,One\n'

interface Asked {
  readonly key?: string
  readonly eid?: string
  readonly body?: string | object
  readonly prefer?: string
}

/** A service with a vendor's key for two organisations, and a key of its operator. */
async function start() {
  const { service, createCaller, work } = await startSubmissions(makeSmallDefinition())
  const vendor = await createCaller(
    'vendor',
    ['1001', '1002'],
    ['validation-results:read', 'submissions:write', 'occupations:read'],
  )
  const operator = await createCaller('operator', [], ['operate'])
  const ask = (
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    url: string,
    { key = vendor.key, eid, body, prefer }: Asked = {},
  ) => vendor.ask(method, url, body, { 'x-api-key': key, eid, prefer })
  const operate = async (method: 'GET' | 'PUT' | 'DELETE', url: string, body?: object) => {
    const response = await operator.ask(method, url, body)
    const eid = /^\/organisations\/(100[12])\/suspension$/.exec(url)?.[1]
    // Every process reads the suspensions again some moments after the change.
    if (eid !== undefined && response.status === 200)
      await until(async () => {
        const { suspended } = (await ask('GET', '/me')).body
        return (suspended ?? []).includes(eid) === (method === 'PUT')
      })
    return response
  }
  const submit = async (eid: string) => {
    const token = await vendor.create('202512', { eid })
    await vendor.put(token, 'people', makePeople('p', 2, 0).csv, { eid })
    await vendor.put(token, 'groups', GROUPS, { eid })
    return `/submissions/${token}`
  }
  return { service, ask, operate, submit, work }
}

describe('a suspended organisation', () => {
  test('is refused by every operation on its data, whatever the request names, and others are not', async () => {
    const { service, ask, operate, submit } = await start()
    const [own, others] = [await submit('1001'), await submit('1002')]
    const suspended = await operate('PUT', '/organisations/1001/suspension', { reason: 'Asked for' })
    expect(suspended.body).toMatchObject({
      eid: '1001',
      state: 'Suspended',
      reason: 'Asked for',
      keys: 2,
      submissions: 1,
    })

    const refusals = await Promise.all([
      ask('GET', own, { eid: '1001' }),
      ask('GET', `${own}/validation-results`, { eid: '1001' }),
      ask('GET', `${own}/files/people`, { eid: '1001' }),
      ask('POST', `${own}/validation-runs`, { eid: '1001' }),
      ask('DELETE', own, { eid: '1001' }),
      ask('GET', '/submissions', { eid: '1001' }),
      ask('POST', '/submissions', { eid: '1001', body: { returnId: '202511' } }),
      // A submission of another organisation, and one that does not exist.
      ask('GET', others, { eid: '1001' }),
      ask('GET', '/submissions/unknown-token', { eid: '1001' }),
    ])
    const details = new Set(refusals.map(({ status, body }) => `${status} ${body.type} ${body.detail}`))
    expect([...details]).toEqual([
      '401 /problems/organisation-suspended Organisation 1001 is suspended: its submissions are kept and cannot be read or changed until the operator of this service resumes it. Runs that had not ended are cancelled: request them again afterwards.',
    ])
    expect((await ask('GET', others, { eid: '1002' })).status).toBe(200)
    expect((await ask('GET', '/occupations')).status).toBe(200)
    expect((await ask('GET', '/me')).body).toMatchObject({ eids: ['1001', '1002'], suspended: ['1001'] })
    // Neither the reason nor the suspension is for those whom the credential does not cover.
    const stranger = await service.createKey({ client: 'stranger', eids: ['7'] })
    expect((await ask('GET', own, { key: stranger.key, eid: '1001' })).body.detail).toBe(
      'This key covers organisation 7, not 1001.',
    )
    // A new key is not a way around it.
    const later = await service.createKey({ client: 'later', eids: ['1001'] })
    expect((await ask('GET', own, { key: later.key, eid: '1001' })).body.detail).toMatch(/is suspended/)

    const resumed = await operate('DELETE', '/organisations/1001/suspension')
    expect(resumed.body).toMatchObject({ eid: '1001', state: 'Active' })
    expect(resumed.body).not.toHaveProperty('reason')
    expect((await ask('GET', own, { eid: '1001' })).status).toBe(200)
    const lines = service.log
      .map((line) => JSON.parse(line))
      .filter(({ audit, reason }) => audit && (reason ?? 'suspended') === 'suspended')
    expect(lines.map(({ audit, eid }) => (eid === undefined ? audit : `${audit} ${eid}`))).toEqual(
      expect.arrayContaining(['suspended 1001', 'refused', 'resumed 1001']),
    )
  })

  test('loses its runs that are queued or in progress, and keeps everything else', async () => {
    const { service, ask, operate, submit, work } = await start()
    const [own, late] = [await submit('1001'), await submit('1002')]
    for (const [path, eid] of [
      [own, '1001'],
      [late, '1002'],
    ] as const)
      expect((await ask('POST', `${path}/validation-runs`, { eid })).body.status).toBe('Queued')
    // The check of the first one is in progress until it is cancelled, while the other one waits.
    const worker = await work({
      check: (_, { signal } = {}) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    })
    const status = async () => (await ask('GET', `${own}/validation-runs/1`, { eid: '1001' })).body.status
    await until(async () => (await status()) === 'InProgress')
    // As if the run had been requested by a request that was authorized before the suspension.
    await storeSuspension(service.database, { eid: '1002', reason: '' })
    // It ends with the run, which the suspension cancels before other processes know of it.
    const waiting = ask('GET', `${own}/validation-runs/1`, { eid: '1001', prefer: 'wait=30' })
    await operate('PUT', '/organisations/1001/suspension', {})
    expect((await waiting).status).toBe(401)
    await until(async () => {
      const row = await service.database.get<{ open: number }>(
        'select count(*) as open from submission_run where completed is null',
      )
      return row?.open === 0
    })
    await worker.stop()
    expect(await service.database.all('select block from result_block')).toEqual([])
    await operate('DELETE', '/organisations/1001/suspension')
    await operate('DELETE', '/organisations/1002/suspension')
    for (const [eid, path] of [
      ['1001', own],
      ['1002', late],
    ] as const) {
      const run = await ask('GET', `${path}/validation-runs/1`, { eid })
      expect(run.body).toMatchObject({
        status: 'Cancelled',
        reason: expect.stringMatching(/was suspended before this run ended.*Request a run again/s),
      })
      const { body } = await ask('GET', path, { eid })
      expect(body.files.map(({ records }: { records: number }) => records)).toEqual([1, 2])
      expect(body.submissionStatus).toBe('Pending')
    }
    expect(await service.database.all('select eid from job where kind = $1', ['run'])).toEqual([])
  })
})

describe('an operator', () => {
  test('lists organisations and their usage', async () => {
    const { ask, operate, submit } = await start()
    await submit('1002')
    await ask('GET', '/submissions', { eid: '1002' })
    const { body } = await operate('GET', '/organisations?pageSize=1&page=2')
    expect(body).toMatchObject({ page: 2, pageSize: 1, totalCount: 2 })
    const past = await operate('GET', '/organisations?pageSize=1&page=3')
    expect(past).toMatchObject({ status: 400, body: { errorCode: 'PR2' } })
    expect(body.results).toEqual([
      {
        eid: '1002',
        state: 'Active',
        keys: 1,
        submissions: 1,
        fileBytes: expect.any(Number),
        runs: 0,
        activeRuns: 0,
        findings: 0,
      },
    ])
    expect(body.results[0].fileBytes).toBeGreaterThan(GROUPS.length)
    expect((await operate('GET', '/organisations/1002')).body).toEqual(body.results[0])
  })

  test('is told when an organisation does not exist, and nothing changes', async () => {
    const { service, operate } = await start()
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', '/suspension'],
      ['DELETE', '/suspension'],
    ] as const) {
      const { status, body } = await operate(
        method,
        `/organisations/9999${path}`,
        method === 'PUT' ? {} : undefined,
      )
      expect([status, body.type, body.detail]).toEqual([
        404,
        '/problems/no-such-organisation',
        // A question changes nothing anyway.
        expect.stringMatching(
          method === 'GET'
            ? /^No key covers this organisation/
            : /^Nothing was changed\. No key covers this organisation/,
        ),
      ])
    }
    expect(await service.database.all('select eid from organisation_suspension')).toEqual([])
    expect((await operate('PUT', '/organisations/1001/suspension', { reason: 'x'.repeat(201) })).status).toBe(
      400,
    )
    expect((await operate('DELETE', '/organisations/1001/suspension')).status).toBe(200)
  })

  test('does the same with commands', async () => {
    const mahi = await new Installation().migrate()
    await mahi.runJson(['keys', 'create', '--client', 'docs', '--eid', '1001'])
    for (const refused of [
      ['suspend', '9'],
      ['resume', '1001'],
      ['usage', '9'],
    ]) {
      const { code, stderr } = await mahi.run(['organisations', ...refused])
      expect([refused, code, stderr]).toEqual([refused, 1, expect.stringContaining('Nothing was changed')])
    }
    const suspend = ['organisations', 'suspend', '1001', '--reason', 'Asked for by the agency']
    const suspended = await mahi.run(suspend)
    const audited = expect.stringMatching(/cancelled: 0\..*"audit":"suspended","eid":"1001","by":/s)
    expect([suspended.code, suspended.stderr]).toEqual([0, audited])
    // A note that came over HTTP can have any characters.
    await withDatabase(mahi.databaseUrl, (database) =>
      storeSuspension(database, { eid: '1001', reason: 'Asked\u001b[2J for' }),
    )
    expect((await mahi.run(['organisations', 'list'])).stdout).toMatch(
      /^1001 +Suspended +since \S+ +1 valid key, 0 submissions +Asked\\u001b\[2J for$/m,
    )
    expect(await mahi.runJson(['organisations', 'suspend', '9', '--unknown'])).toMatchObject({ eid: '9' })
    expect((await mahi.run(['organisations', 'resume', '9'])).code).toBe(0)
    expect((await mahi.run(['organisations', 'usage'])).stdout).toMatch(/^EID +Submissions.*\n1001 +0 /)
  })

  test('suspends and resumes one in the console', async () => {
    const console = await ConsoleService.start({ RATE_LIMIT_SUBMISSIONS: 'off' })
    const { id } = await console.service.createKey({ client: 'operator', scopes: SCOPES, eids: ['1001'] })
    const cookie = await console.signIn(id)
    const send = (path: string, fields?: Record<string, string>) =>
      console.service.app.inject({
        ...(fields === undefined ? { headers: { host: 'localhost', cookie } } : describeForm(fields, cookie)),
        url: `/console/operator/organisations/${path}`,
      })
    expect((await send('1001/suspend', { reason: 'Asked for' })).statusCode).toBe(303)
    expect((await send('1001')).body).toMatch(/Asked for[\s\S]*Resume/)
    expect((await send('1001/resume', {})).statusCode).toBe(303)
    expect((await send('1001')).body).toContain('Suspend</button>')
    expect((await send('nobody')).statusCode).toBe(404)
  })
})

describe('limits count by organisation', () => {
  const RESULTS = '/v1/submissions/submission-0001/validation-results'

  test('as well as by credential: a key for several has an allowance for each', async () => {
    const service = await Service.start({ RATE_LIMIT_RESULTS: '2/60' })
    const eids = Array.from({ length: 40 }, (_, index) => String(2000 + index))
    const { key } = await service.createKey({ client: 'vendor', eids })
    const ask = async (eid: string) => (await service.get(RESULTS, { 'x-api-key': key, eid })).statusCode
    for (const eid of eids) expect([await ask(eid), await ask(eid), await ask(eid)]).toEqual([401, 401, 429])
    // An organisation that the credential does not cover is no allowance of its own.
    expect([await ask('1'), await ask('2'), await ask('3')]).toEqual([401, 401, 429])
  })

  test('for all of its credentials together, and /v1/me shows what is left', async () => {
    const service = await Service.start({ RATE_LIMIT_ORGANISATION: '3/60' })
    const { key } = await service.createKey({ client: 'second', eids: ['1001', '1002'] })
    const ask = (eid: string, by: string) => service.get(RESULTS, { 'x-api-key': by, eid })
    expect((await ask('1001', service.key)).statusCode).toBe(401)
    expect((await ask('1001', key)).statusCode).toBe(401)
    const { limits } = (await service.get('/v1/me', { eid: '1001' })).json()
    expect(limits).toContainEqual(
      expect.objectContaining({ name: 'organisation', requests: 3, remaining: 1 }),
    )
    expect((await ask('1001', key)).statusCode).toBe(401)
    const refused = await ask('1001', service.key)
    expect([refused.statusCode, refused.json().detail]).toEqual([
      429,
      expect.stringMatching(
        /^More than 3 requests of organisation 1001 in 60 seconds\. Try again in \d+ s\.$/,
      ),
    ])
    expect(refused.headers['ratelimit-policy']).toBe('"organisation";q=3;w=60')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await ask('1002', key)).statusCode).toBe(401)
    expect((await service.get('/v1/occupations')).statusCode).toBe(200)
  })
})
