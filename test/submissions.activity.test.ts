import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { findValidKey } from '../src/api/access/keys.ts'
import { Sessions } from '../src/console/sessions.ts'
import { takeTurn } from '../src/foundation/timed-turns.ts'
import { readActivity } from '../src/submissions/submission/activity.ts'
import { COURSES, makeLearners, startCollection, submitTo } from './support/collection.ts'
import { describeForm } from './support/console.ts'
import { Issuer } from './support/jwks.ts'

test('the activities of a submission say who did what, newest first', async () => {
  const { service, provider, createCaller } = await startCollection()
  const analyst = await createCaller('analyst', ['1001'])
  const token = await provider.create()
  await analyst.put(token, 'learners', makeLearners({ records: 3 }))
  for (const [localId, code] of [
    ['C8', 'K8'],
    ['C9', 'K1'],
  ])
    await analyst.ask('POST', `/submissions/${token}/records/courses`, {
      content: [{ localId, code, title: 'First' }],
    })
  await provider.check(token)
  // Who asks how large something is has not downloaded it.
  for (const path of ['files/learners', 'validation-results']) {
    const headers = { 'x-api-key': provider.key, eid: '1001', accept: 'text/csv' }
    const url = `/v1/submissions/${token}/${path}`
    expect((await service.request({ method: 'HEAD', url, headers })).statusCode).toBe(200)
  }
  for (const file of ['learners', 'learners', 'courses'])
    await analyst.ask('GET', `/submissions/${token}/files/${file}`, undefined, { accept: 'text/csv' })
  await analyst.ask('GET', `/submissions/${token}/validation-results`, undefined, { accept: 'text/csv' })
  await provider.ask('POST', `/submissions/${token}/submit`)

  const { status, body } = await provider.ask('GET', `/submissions/${token}/activity`)
  expect(status).toBe(200)
  const shown = body.results.map(
    ({
      event,
      actor,
      file,
      records,
    }: {
      event: string
      actor: { name: string }
      file?: string
      records?: number
    }) => [event, actor.name, file, records].filter((each) => each !== undefined).join(' '),
  )
  expect(shown).toEqual([
    'Submitted records',
    'Downloaded analyst findings',
    'Downloaded analyst courses',
    'Downloaded analyst learners',
    'Checked records',
    'CheckRequested records',
    'RecordsChanged analyst courses',
    'FileUploaded analyst learners 3',
    'Created records',
  ])
  expect(body.totalCount).toBe(9)
  expect(body.results[0].actor.id).toBe(provider.id)
  expect(body.results[4]).toMatchObject({ runId: 1, errorCount: 0, warningCount: 0 })
  // The identifiers of learners are in none of them.
  expect(JSON.stringify(body)).not.toMatch(/S0|C8|K1/)
})

test('activities are read by pages with links, and as NDJSON as a whole', async () => {
  const { provider } = await startCollection()
  const token = await provider.create()
  for (const file of ['courses', 'learners'])
    await provider.put(token, file, file === 'courses' ? COURSES : makeLearners())
  const first = await provider.ask('GET', `/submissions/${token}/activity?pageSize=2`)
  expect(first.body).toMatchObject({ page: 1, pageSize: 2, totalCount: 3 })
  expect(first.headers.link).toBe(`</v1/submissions/${token}/activity?page=2&pageSize=2>; rel="next"`)
  const second = await provider.ask('GET', `/submissions/${token}/activity?pageSize=2&page=2`)
  expect(second.headers.link).toBeUndefined()
  const accept = 'application/x-ndjson'
  const whole = await provider.ask('GET', `/submissions/${token}/activity`, undefined, { accept })
  const packed = await provider.ask('GET', `/submissions/${token}/activity`, undefined, {
    accept,
    'accept-encoding': 'gzip',
  })
  expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept, accept-encoding' })
  expect(gunzipSync(packed.bytes).toString()).toBe(whole.text)
  const lines = whole.text.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([...first.body.results, ...second.body.results])
  const part = await provider.ask('GET', `/submissions/${token}/activity?page=2`, undefined, { accept })
  expect([part.status, part.body.detail]).toEqual([
    400,
    'page applies to JSON only: CSV and NDJSON hold all entries.',
  ])
})

test('all activities are read in parts, and others have a turn before each', async () => {
  const { service, provider } = await startCollection({}, { works: false })
  const token = await provider.create()
  const rows = Array.from({ length: 1_000 }, (_, at) => [token, at, 'Downloaded', 'key', 'records', '{}'])
  const columns = ['token', 'time', 'event', 'actor', 'actor_name', 'detail']
  await service.database.write(`submission:${token}`, (writer) => writer.load('activity', columns, rows))
  const ids: number[] = []
  let turns = 0
  const ask = () => void takeTurn().then(() => turns++)
  ask()
  for await (const { id } of readActivity(service.database, token)) {
    if (ids.length % 500 === 0) {
      expect(turns).toBe(ids.length / 500 + 1)
      ask()
    }
    ids.push(id)
  }
  expect(ids).toHaveLength(1_001)
  expect(new Set(ids).size).toBe(1_001)
})

test('the activities of a deleted submission remain, for its organisation only', async () => {
  const { provider, createCaller } = await startCollection()
  const token = await provider.create()
  await provider.ask('DELETE', `/submissions/${token}`)
  const { body } = await provider.ask('GET', `/submissions/${token}/activity`)
  expect(body.results.map(({ event }: { event: string }) => event)).toContain('Deleted')
  const other = await createCaller('other', ['1002'])
  expect((await other.ask('GET', `/submissions/${token}/activity`)).status).toBe(401)
})

test('nobody can change an activity', async () => {
  const { provider, service } = await startCollection()
  await provider.create()
  const change = () =>
    service.database.write('job:test', (writer) => writer.run(`update activity set actor_name = 'Somebody'`))
  // The tests own the tables of PostgreSQL; there, privileges protect them from the role of the service.
  if (service.database.dialect.name === 'sqlite') await expect(change()).rejects.toThrow('append-only')
})

test('a name in a token is in the activities and the receipt', async () => {
  const issuer = await Issuer.start()
  const key = await issuer.addKey()
  const { provider } = await startCollection(issuer.settings)
  const claims = { name: 'A. Analyst', scope: 'validation-results:read submissions:write' }
  const bearer = { 'x-api-key': undefined, authorization: `Bearer ${await issuer.sign(key, claims)}` }
  const ask = (method: 'PUT' | 'POST', path: string, payload?: string | object) =>
    provider.ask(method, path, payload, bearer)
  const created = await ask('POST', '/submissions', { returnId: '202512' })
  expect(created.status, created.text).toBe(201)
  const token = created.body.submissionToken as string
  expect((await ask('PUT', `/submissions/${token}/files/courses`, COURSES)).status).toBe(200)
  expect((await ask('PUT', `/submissions/${token}/files/learners`, makeLearners())).status).toBe(200)
  await provider.check(token)
  const submitted = await ask('POST', `/submissions/${token}/submit`)
  expect(submitted.body.receipt.submittedBy.name).toBe('A. Analyst')
  const { body } = await provider.ask('GET', `/submissions/${token}/activity`)
  expect(
    body.results.map(({ event, actor }: { event: string; actor: { name: string } }) => [event, actor.name]),
  ).toEqual([
    ['Submitted', 'A. Analyst'],
    ['Checked', 'records'],
    ['CheckRequested', 'records'],
    ['FileUploaded', 'A. Analyst'],
    ['FileUploaded', 'A. Analyst'],
    ['Created', 'A. Analyst'],
  ])
})

test('the name of a link of the console is in the activities and the receipt, and the audit has the key', async () => {
  const { provider, service } = await startCollection({ CONSOLE: 'on' })
  const sessions = new Sessions(service.database)
  const open = async (name?: string) => {
    const secret = await sessions.openLink(await sessions.createLink(provider.id, name))
    return secret ?? ''
  }
  const token = await submitTo(provider)
  const submit = async (secret: string) =>
    await service.app.inject({
      ...describeForm({ eid: '1001' }, `mahi-session=${secret}`),
      url: `/console/submissions/${token}/submit`,
    })
  const secret = await open('A. Operator')
  expect((await sessions.find(secret))?.principal).toMatchObject({ id: provider.id, name: 'A. Operator' })
  expect((await sessions.find(await open()))?.principal.name).toBeUndefined()
  // Neither the key nor another session has the name.
  expect((await findValidKey(service.database, provider.id, Date.now()))?.name).toBeUndefined()
  const submitted = await submit(secret)
  expect(submitted.statusCode).toBe(303)
  const receipt = await provider.ask('GET', `/submissions/${token}/receipt`)
  expect(receipt.body.submittedBy).toEqual({ id: provider.id, name: 'A. Operator' })
  const { body } = await provider.ask('GET', `/submissions/${token}/activity`)
  expect(body.results[0].actor).toEqual({ id: provider.id, name: 'A. Operator' })
  expect(service.log.join('')).not.toContain('A. Operator')
})
