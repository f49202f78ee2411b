import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { revokeKeys } from '../src/api/access/keys.ts'
import { removeSuspension, storeSuspension } from '../src/api/access/suspensions.ts'
import { readZoned, showInstant } from '../src/foundation/text/zoned-time.ts'
import { readReturns } from '../src/submissions/returns/read-returns.ts'
import { type CollectedReturn, listReturns, storeReturns } from '../src/submissions/returns/returns.ts'
import { readStandings } from '../src/submissions/returns/standing.ts'
import { Definitions } from '../src/submissions/rules/definitions.ts'
import { listFrequentCauses, storeCauses } from '../src/submissions/submission/cause-counts.ts'
import { changeSubmission } from '../src/submissions/submission/lock.ts'
import { createSubmission } from '../src/submissions/submission/submission.ts'
import {
  COURSES,
  makeCollectionDefinition,
  makeLearners,
  startCollection,
  submitTo,
} from './support/collection.ts'
import { Installation } from './support/command.ts'
import { openTemporary } from './support/reused-schemas.ts'

const DAY = 86_400_000

type Cause = Parameters<typeof storeCauses>[2][number]

/** A return that is open now. */
function makeReturn(returnId: string, more: Partial<CollectedReturn> = {}): CollectedReturn {
  const now = Date.now()
  return {
    returnId,
    name: `Return ${returnId}`,
    definition: 'collected',
    version: '1.2.0',
    type: 'Full',
    opens: now - 2 * DAY,
    due: now + DAY,
    closes: now + 2 * DAY,
    zone: 'Pacific/Auckland',
    ...more,
  }
}

test('an installation without returns accepts every return', async () => {
  const { provider } = await startCollection()
  expect((await provider.ask('GET', '/returns')).body).toEqual({
    page: 1,
    pageSize: 20,
    results: [],
    totalCount: 0,
  })
  expect((await provider.ask('POST', '/submissions', { returnId: '202612' })).status).toBe(201)
})

test('an organisation sees its returns, their dates and how far it is with each', async () => {
  const { provider, service } = await startCollection()
  await storeReturns(service.database, [
    makeReturn('202512', { eids: ['1001', '1002'], notes: 'Send all five files.' }),
    makeReturn('202508', { opens: Date.now() - 9 * DAY, eids: ['1001'], due: Date.now() - DAY }),
    makeReturn('202504', { eids: ['1002'] }),
  ])
  const list = async () => (await provider.ask('GET', '/returns')).body
  const { results, totalCount } = await list()
  expect(totalCount).toBe(2)
  expect(results[0]).toMatchObject({
    returnId: '202512',
    definition: 'collected',
    returnType: 'Full',
    window: 'Open',
    timeZone: 'Pacific/Auckland',
    notes: 'Send all five files.',
    eid: '1001',
    returnStatus: 'NotStarted',
  })
  expect(results[1]).toMatchObject({ returnId: '202508', window: 'Overdue' })
  const status = async () => (await list()).results[0]
  const token = await provider.create()
  expect(await status()).toMatchObject({ returnStatus: 'NotStarted', submissionToken: token })
  // The return closes before the submission would expire.
  const { tokenExpiry } = (await provider.ask('GET', `/submissions/${token}`)).body
  expect(tokenExpiry).toBe(results[0].closeWindowDate)
  await provider.put(token, 'courses', COURSES)
  await provider.put(token, 'learners', makeLearners({ faults: 2 }))
  expect((await status()).returnStatus).toBe('FilesReceived')
  await provider.check(token)
  expect(await status()).toMatchObject({ returnStatus: 'HasErrors', errorCount: 2, warningCount: 0 })
  await provider.put(token, 'learners', makeLearners({}))
  expect((await status()).errorCount).toBeUndefined()
  await provider.check(token)
  expect((await status()).returnStatus).toBe('Ready')
  await provider.ask('POST', `/submissions/${token}/submit`)
  expect(await status()).toMatchObject({ returnStatus: 'Submitted', dateSubmitted: expect.any(String) })
  const page = await provider.ask('GET', '/returns?pageSize=1')
  expect(page.headers.link).toBe('</v1/returns?page=2&pageSize=1>; rel="next"')
})

test('an agency lists all returns without an organisation, and anyone without the indicative ones', async () => {
  const { provider, service, createCaller } = await startCollection()
  await storeReturns(service.database, [
    makeReturn('202512', { opens: Date.now() - DAY, eids: ['1001'] }),
    makeReturn('202508', { opens: Date.now() - 2 * DAY, type: 'Indicative' }),
    makeReturn('202504', { opens: Date.now() - 3 * DAY, eids: ['1002'] }),
  ])
  const agency = await createCaller('agency', [], ['operate'])
  const list = async (caller: typeof agency, query = '') => {
    const { status, body } = await caller.ask('GET', `/returns${query}`)
    expect([status, body.detail]).toEqual([200, undefined])
    expect(body.totalCount).toBe(body.results.length)
    return body.results.map(({ returnId }: { returnId: string }) => returnId)
  }
  expect(await list(agency)).toEqual(['202512', '202508', '202504'])
  const [first] = (await agency.ask('GET', '/returns')).body.results
  expect(first).toMatchObject({ returnType: 'Full', window: 'Open' })
  for (const own of ['eid', 'returnStatus', 'submissionToken']) expect(first).not.toHaveProperty(own)
  expect(await list(agency, '?includeIndicative=false')).toEqual(['202512', '202504'])
  expect(await list(provider)).toEqual(['202512', '202508'])
  expect(await list(provider, '?includeIndicative=false')).toEqual(['202512'])
  const page = await agency.ask('GET', '/returns?pageSize=1&includeIndicative=false')
  expect(page.headers.link).toContain('page=2&pageSize=1&includeIndicative=false')

  // Others are told to name their organisation, and an agency does not act for one.
  const reader = await createCaller('reader', [], ['validation-results:read'])
  expect((await reader.ask('GET', '/returns')).body.detail).toContain('Send the header EID')
  const named = await agency.ask('GET', '/returns', undefined, { eid: '1001' })
  expect([named.status, named.body.detail]).toEqual([
    401,
    'This key lacks the scope validation-results:read.',
  ])
  expect((await provider.ask('GET', '/returns?includeIndicative=no')).status).toBe(400)
})

test('a submission for an unknown, closed or future return is refused with the dates', async () => {
  const { provider, service } = await startCollection()
  const closes = Date.UTC(2026, 0, 31, 4)
  await storeReturns(service.database, [
    makeReturn('202512', { opens: closes - 9 * DAY, due: closes, closes }),
    makeReturn('202612', { opens: Date.now() + DAY }),
    makeReturn('202604'),
    makeReturn('202608', { eids: ['1002'] }),
  ])
  const create = (returnId: string, more = {}) => provider.ask('POST', '/submissions', { returnId, ...more })
  const unknown = await create('202504')
  expect(unknown.status).toBe(422)
  expect(unknown.body.detail).toContain('202604 opens ')
  expect(unknown.body.detail).not.toContain('202608')
  const closed = await create('202512')
  expect(closed.status).toBe(409)
  expect(closed.body.detail).toContain('31 Jan 2026, 17:00 (Pacific/Auckland; 2026-01-31T04:00:00.000Z)')
  const early = await create('202612')
  expect(early.status).toBe(409)
  expect(early.body.detail).toContain('is not open yet')
  expect((await create('202608')).status).toBe(422)
  expect((await create('202604', { type: 'Indicative' })).status).toBe(422)
  expect((await create('202604', { definition: 'sdr' })).status).toBe(422)
  expect((await create('202604')).status).toBe(201)
})

test('what arrives after a return has closed is refused, until the agency opens the submission again', async () => {
  const { provider, service, createCaller } = await startCollection()
  await storeReturns(service.database, [makeReturn('202512')])
  const token = await submitTo(provider)
  await provider.ask('POST', `/submissions/${token}/submit`)
  const other = await createCaller('other', ['1002'])
  const open = await other.create()
  await storeReturns(service.database, [
    makeReturn('202512', { due: Date.now() - DAY, closes: Date.now() - 1 }),
  ])
  expect((await other.ask('GET', `/submissions/${open}`)).body.submissionStatus).toBe('Closed')
  for (const late of [
    await other.put(open, 'courses', COURSES),
    await other.ask('POST', `/submissions/${open}/records/courses`, { content: [{ localId: '1' }] }),
    await other.ask('POST', `/submissions/${open}/validation-runs`),
    await other.ask('POST', `/submissions/${open}/submit`),
    await other.ask('POST', '/submissions', { returnId: '202512' }),
  ]) {
    expect(late.status).toBe(409)
    expect(late.body.detail).toContain('Pacific/Auckland')
    // Nothing was submitted that the agency could open again.
    expect(late.body.detail).toContain('Ask the agency for a later closing date.')
  }
  const again = await provider.ask('POST', '/submissions', { returnId: '202512' })
  expect([again.status, again.body.detail]).toEqual([
    409,
    expect.stringContaining('Ask the agency to open the submission again.'),
  ])
  const agency = await createCaller('agency', [], ['operate'])
  const reopen = { reason: 'A course is missing.' }
  const refused = await agency.ask('POST', `/submissions/${open}/reopen`, reopen)
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    'The submission is not submitted, so it cannot be opened again. To let its organisation continue, give return 202512 a later closing date (closes).',
  ])
  expect((await agency.ask('POST', `/submissions/${token}/reopen`, reopen)).status).toBe(200)
  // The agency and the organisation see that it is open again, why, and until when.
  const { statuses, results } = (await agency.ask('GET', '/returns/202512/overview?status=Reopened')).body
  const { reopenedUntil } = (await provider.ask('GET', `/submissions/${token}`)).body
  const reopened = {
    eid: '1001',
    reopenedUntil,
    reopenReason: 'A course is missing.',
    dateSubmitted: expect.any(String),
  }
  expect([statuses.Reopened, statuses.Submitted]).toEqual([1, 0])
  expect(results).toMatchObject([{ ...reopened, returnStatus: 'Reopened' }])
  expect((await provider.ask('GET', '/returns')).body.results[0]).toMatchObject(reopened)
  expect((await provider.ask('POST', '/submissions', { returnId: '202512' })).body.submissionToken).toBe(
    token,
  )
  expect((await provider.put(token, 'courses', COURSES)).status).toBe(200)
  await provider.check(token)
  expect((await provider.ask('POST', `/submissions/${token}/submit`)).body.receipt.receipt).toBe(2)
  const submitted = (await provider.ask('GET', '/returns')).body.results[0]
  expect([submitted.returnStatus, 'reopenedUntil' in submitted]).toEqual(['Submitted', false])
})

test('a submission is opened again for seven days, or until its return closes if that is later', async () => {
  const { provider, service, createCaller } = await startCollection()
  const agency = await createCaller('agency', [], ['operate'])
  const now = Date.now()
  for (const [returnId, closes, open] of [
    ['202512', now + 2 * DAY, now + 7 * DAY],
    ['202604', now + 60 * DAY, now + 60 * DAY],
  ] as const) {
    await storeReturns(service.database, [makeReturn(returnId, { closes })])
    const token = await submitTo(provider, {}, returnId)
    await provider.ask('POST', `/submissions/${token}/submit`)
    const { body } = await agency.ask('POST', `/submissions/${token}/reopen`, {
      reason: 'A course is missing.',
    })
    const days = (Date.parse(body.tokenExpiry) - open) / DAY
    expect([days >= 0, Math.floor(days)]).toEqual([true, 0])
  }
})

test('the agency sees who has not started, has errors or has submitted, and what changed', async () => {
  const { provider, service, createCaller } = await startCollection()
  await storeReturns(service.database, [makeReturn('202512', { eids: ['1001', '1002', '1003'] })])
  const second = await createCaller('second', ['1002'])
  for (const [caller, faults] of [
    [provider, 0],
    [second, 3],
  ] as const) {
    const token = await submitTo(caller, { faults, remarks: 1 })
    await caller.ask('POST', `/submissions/${token}/submit`)
  }
  const agency = await createCaller('agency', [], ['operate'])
  const { body } = await agency.ask('GET', '/returns/202512/overview')
  expect(body).toMatchObject({
    return: { returnId: '202512', window: 'Open' },
    statuses: { NotStarted: 1, HasErrors: 1, Submitted: 1, Ready: 0, FilesReceived: 0, Validating: 0 },
    changes: { started: 2, submitted: 1, reopened: 0, deleted: 0, eids: ['1001', '1002'] },
    totalCount: 3,
  })
  expect(
    body.results.map(({ eid, returnStatus }: { eid: string; returnStatus: string }) => [eid, returnStatus]),
  ).toEqual([
    ['1001', 'Submitted'],
    ['1002', 'HasErrors'],
    ['1003', 'NotStarted'],
  ])
  const { submissionToken, dateLastActivity } = body.results[0]
  const [newest] = (await provider.ask('GET', `/submissions/${submissionToken}/activity`)).body.results
  expect([newest.event, newest.time]).toEqual(['Submitted', dateLastActivity])
  expect(await agency.ask('GET', '/returns/202512/overview?page=2')).toMatchObject({
    status: 400,
    body: { errorCode: 'PR2' },
  })
  const late = await agency.ask('GET', '/returns/202512/overview?status=NotStarted')
  expect(late.body.results).toEqual([{ eid: '1003', returnStatus: 'NotStarted' }])

  const causes = (await agency.ask('GET', '/returns/202512/causes')).body.causes
  expect(causes[0]).toMatchObject({ code: 'LEA-remark', severity: 'Warning', organisations: 2, findings: 2 })
  expect(causes[0].sentence).toBe('remark must have at most 8 characters.')
  expect(causes.find(({ severity }: { severity: string }) => severity === 'Error')).toMatchObject({
    organisations: 1,
    findings: 3,
  })
  // Counts only: neither a value nor a learner.
  expect(JSON.stringify(causes)).not.toMatch(/K9|S0|a long/)
  expect((await agency.ask('GET', '/returns/209912/causes')).status).toBe(404)
})

test('the causes of a return are those of the last check of the submission that counts for each organisation', async () => {
  const database = await openTemporary()
  const cause = (findings: number, field: string, columns?: number): Cause => ({
    ...({
      key: `${findings} ${field}`,
      kind: 'column',
      severity: 'Error',
      codes: ['B', 'A'],
    } as unknown as Cause),
    ...{ file: 'learners', field, findings, records: findings, general: `${field || 'Several'} are wrong.` },
    ...(columns !== undefined && { columns }),
  })
  let time = 0
  const submitted = async (eid: string, ...checks: (readonly Cause[])[]) => {
    const { submission } = await createSubmission(database, { eid, returnId: '1', definition: 'a' })
    await changeSubmission(database, submission.token, async (writer) => {
      for (const causes of checks) await storeCauses(writer, submission.token, causes)
      const ended = `update submission set ended = 'Submitted', ended_at = $2 where token = $1`
      await writer.run(ended, [submission.token, ++time])
    })
  }
  await submitted('1001', [cause(9, 'id'), cause(9, 'old')], [cause(1, 'id'), cause(2, 'id')])
  // What replaces it counts instead, and what may replace that does not count yet.
  await submitted('1001', [cause(4, 'id')])
  const { submission } = await createSubmission(database, { eid: '1001', returnId: '1', definition: 'a' })
  await changeSubmission(database, submission.token, (writer) =>
    storeCauses(writer, submission.token, [cause(7, 'id'), cause(7, 'new')]),
  )
  await submitted('1002', [cause(8, 'id'), cause(100, 'course'), cause(3, '', 3), cause(5, '', 5)])
  const found = await listFrequentCauses(database, '1', 10)
  expect(
    found.map(({ sentence, columns, organisations, causes, findings }) => {
      return [sentence, columns, organisations, causes, findings]
    }),
  ).toEqual([
    ['id are wrong.', 1, 2, 2, 12],
    ['course are wrong.', 1, 1, 1, 100],
    ['Several are wrong.', 5, 1, 2, 8],
  ])
})

test('of several submitted submissions, the one counts that was submitted last, also if it is older', async () => {
  const database = await openTemporary()
  const submit = async (time: number) => {
    const { submission } = await createSubmission(database, { eid: '1001', returnId: '1', definition: 'a' })
    await changeSubmission(database, submission.token, (writer) =>
      writer.run(`update submission set ended = 'Submitted', ended_at = $2, created = $3 where token = $1`, [
        submission.token,
        time,
        -time,
      ]),
    )
    return submission.token
  }
  await submit(1)
  const reopened = await submit(3)
  await submit(2)
  expect((await readStandings(database, '1')).get('1001')).toMatchObject({ token: reopened, submitted: 3 })
})

test('a return for all expects those whose keys may submit, or who have started, without suspended ones', async () => {
  const { provider, service, createCaller } = await startCollection()
  await storeReturns(service.database, [makeReturn('202512')])
  const suspended = await createCaller('suspended', ['1002'])
  const revoked = await createCaller('revoked', ['1003', '1004'])
  const expired = await createCaller('expired', ['1005'])
  const ended = await createCaller('ended', ['1006'])
  await createCaller('reader', ['1007'], ['validation-results:read'])
  await createCaller('late', ['1008', '1009'])
  const agency = await createCaller('agency', [], ['operate'])
  const started = await revoked.create()
  await revoked.put(started, 'courses', COURSES)
  const cancelled = await ended.create()
  expect((await ended.ask('DELETE', `/submissions/${cancelled}`)).status).toBe(200)
  const sent = await suspended.create()
  await suspended.put(sent, 'courses', COURSES)
  await revokeKeys(service.database, [revoked.id, ended.id])
  await service.database.write('keys', async (writer) => {
    await writer.run('update api_key set expires = $2 where id = $1', [expired.id, Date.now() - 1])
  })
  for (const eid of ['1002', '1009']) await storeSuspension(service.database, { eid, reason: 'moved' })
  const standings = async () => {
    const { body } = await agency.ask('GET', '/returns/202512/overview')
    return body.results.map(
      ({ eid, returnStatus, suspended }: { eid: string; returnStatus: string; suspended?: string }) =>
        `${eid} ${returnStatus}${suspended === undefined ? '' : ', suspended'}`,
    )
  }
  // What a suspended organisation has sent is not hidden, but one that has sent nothing is not waited for.
  const shown = ['1001 NotStarted', '1002 FilesReceived, suspended', '1003 FilesReceived', '1008 NotStarted']
  expect(await standings()).toEqual(shown)
  await removeSuspension(service.database, '1009')
  expect(await standings()).toEqual([...shown, '1009 NotStarted'])
  expect(provider.eid).toBe('1001')
})

const FILE = `
returns:
  - id: 202512
    name: December 2025
    definition: collected
    opens: 2026-01-01
    due: 2026-01-20
    closes: 2026-01-31 17:00
    organisations: ["1001", "0002"]
    notes: Send both files.
`

test('returns are imported from YAML, listed, and changed by another import', async () => {
  const installation = new Installation()
  const file = join(installation.folder, 'returns.yml')
  writeFileSync(file, FILE)
  const environment = { DEFINITIONS: makeCollectionDefinition(), TIME_ZONE: 'Pacific/Auckland' }
  const mahi = (...args: string[]) => installation.runJson(['returns', ...args], { environment })
  expect(await mahi('import', file)).toEqual({ created: 1, updated: 0, unchanged: 0 })
  expect(await mahi('import', file)).toEqual({ created: 0, updated: 0, unchanged: 1 })
  // Only what changes is audited, with the user who ran the command.
  const audited = async (content: string) => {
    writeFileSync(file, content)
    const { stderr } = await installation.run(['returns', 'import', file], { environment })
    return stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  }
  expect(await audited(FILE)).toEqual([])
  const two =
    FILE.replace('December 2025', 'Another name') +
    FILE.slice(FILE.indexOf('  - ')).replace('202512', '202508')
  const line = { level: 'warn', time: expect.any(String), by: expect.any(String) }
  expect(await audited(two)).toEqual([
    { ...line, audit: 'return-updated', return: '202512' },
    { ...line, audit: 'return-created', return: '202508' },
  ])
  await audited(FILE)
  const { returns } = (await mahi('list')) as { returns: object[] }
  expect(returns.at(-1)).toMatchObject({
    returnId: '202512',
    definitionVersion: '1.2.0',
    openWindowDate: '2025-12-31T11:00:00.000Z',
    dueDate: '2026-01-20T11:00:00.000Z',
    closeWindowDate: '2026-01-31T04:00:00.000Z',
    eids: ['0002', '1001'],
  })
  writeFileSync(file, FILE.replace('17:00', '18:00'))
  expect(await mahi('import', file)).toEqual({ created: 0, updated: 1, unchanged: 0 })
  const { stdout } = await installation.run(['returns', 'list'], { environment })
  expect(stdout).toContain('closes 31 Jan 2026, 18:00 (Pacific/Auckland')
  // A name in another encoding would be stored with characters that nobody has written.
  for (const [content, fault] of [
    [Buffer.from(FILE.replace('December', 'Décembre'), 'latin1'), 'is not UTF-8'],
    [`${FILE}#${' '.repeat(2 ** 20)}`, 'must be at most 1 MiB'],
  ] as const) {
    writeFileSync(file, content)
    const { stderr } = await installation.run(['returns', 'import', file], { environment })
    expect(stderr).toContain(fault)
  }
  // Due at the end of a day, which is shown as that day.
  expect(stdout).toContain('due    20 Jan 2026 (Pacific/Auckland; 2026-01-20T11:00:00.000Z)')
})

test('the agency adds and changes a return over HTTP, and nothing is stored of a wrong one', async () => {
  const { provider, service, createCaller } = await startCollection({ TIME_ZONE: 'Pacific/Auckland' })
  const agency = await createCaller('agency', [], ['operate'])
  const described = {
    name: 'December 2025',
    definition: 'collected',
    opens: '2026-01-01',
    due: '2026-01-20',
    closes: '2026-01-31 17:00',
    organisations: ['1001', '0002'],
    notes: 'Send both files.',
  }
  const put = (body: object, returnId = '202512', headers: Record<string, string> = {}) =>
    agency.ask('PUT', `/returns/${returnId}`, body, headers)
  const list = () => listReturns(service.database)

  const refused = await put({ ...described, due: '2026-02-20', organisations: ['1', '1', 'a b'] })
  expect([refused.status, refused.body.type]).toEqual([400, '/problems/invalid-body'])
  for (const fault of [
    'due is after the return closes',
    'organisations[1] repeats "1". organisations[2] must be',
  ])
    expect(refused.body.detail).toContain(fault)
  expect((await put(described, '2025')).body.detail).toContain(
    'returnId is not valid: collected has no return "2025"',
  )
  // Faults of the form and of values are named together.
  const mixed = await put(
    { ...described, name: 5, id: 'x', due: '2026-02-20', version: '9', organisations: ['a b', 5] },
    '2025',
  )
  expect([mixed.status, Object.keys(mixed.body.errors)]).toEqual([
    400,
    ['The body', 'name', 'organisations[1]', 'version', 'returnId', 'due'],
  ])
  // A program that has found none must not expect all.
  expect((await put({ ...described, organisations: [] })).body.detail).toContain(
    'organisations must have at least 1 item',
  )
  expect(
    (await put({ ...described, organisations: Array(30_000).fill('1000') })).body.detail.length,
  ).toBeLessThan(10_000)
  expect((await put({ ...described, notes: 'x'.repeat(300_000) })).status).toBe(413)
  expect(await list()).toEqual([])

  const stored = await put(described)
  expect(stored.status).toBe(200)
  expect(stored.body).toMatchObject({ returnId: '202512', organisations: ['0002', '1001'] })
  // The same as from a file.
  const options = { file: 'returns.yml', definitions: new Definitions([makeCollectionDefinition()]) }
  const [fromFile] = await readReturns(FILE, { ...options, zone: 'Pacific/Auckland' })
  expect(await list()).toEqual([fromFile])
  // The same again is no change; another one needs the state that it replaces.
  expect((await put(described)).status).toBe(200)
  const changed = { ...described, closes: '2026-01-31T18:00:00+13:00' }
  const { etag } = stored.body
  const putWith = async (headers: Record<string, string>, returnId?: string) => {
    const { status, body } = await put(changed, returnId, headers)
    return [status, status === 200 ? body.closeWindowDate : body.type]
  }
  expect(await putWith({})).toEqual([428, '/problems/precondition-required'])
  for (const headers of [{ 'if-none-match': '*' }, { 'if-match': '"other"' }])
    expect(await putWith(headers)).toEqual([412, '/problems/precondition-failed'])
  expect((await put(described, '202512', { 'if-none-match': '*' })).status).toBe(412)
  expect(await putWith({ 'if-match': '*' }, '202604')).toEqual([412, '/problems/precondition-failed'])
  expect(await list()).toEqual([fromFile])
  expect(await putWith({ 'if-match': etag })).toEqual([200, '2026-01-31T05:00:00.000Z'])
  expect((await putWith({ 'if-match': etag }))[0]).toBe(412)
  const lines = service.log.map((line) => JSON.parse(line)).filter(({ audit }) => audit?.startsWith('return'))
  expect(lines).toMatchObject(
    ['return-created', 'return-updated'].map((audit) => {
      return { audit, return: '202512', key: agency.id, client: 'agency' }
    }),
  )
  // Organisations do not see who else is expected.
  const [own] = (await provider.ask('GET', '/returns')).body.results
  expect(own).toMatchObject({ returnId: '202512', window: 'Closed' })
  expect(own.organisations).toBeUndefined()
})

test('the example in docs/returns.md is what the service reads', async () => {
  const page = readFileSync(new URL('../docs/returns.md', import.meta.url), 'utf8')
  const [, example = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
  const read = (text: string) =>
    readReturns(text, { file: 'returns.yml', definitions: new Definitions(), zone: 'Pacific/Auckland' })
  expect(await read(example)).toMatchObject([{ definition: 'sdr' }])
  await expect(read(example.replace(/version: .*/, 'version: 1.0.0'))).rejects.toThrow(
    'returns[0].version: is "1.0.0", but the definition sdr of this service has version 2025.12.0',
  )
})

test('a wrong file of returns is refused with all of its faults', async () => {
  const definitions = new Definitions([makeCollectionDefinition()])
  const options = { file: 'returns.yml', definitions, zone: 'Pacific/Auckland' }
  const read = (text: string) => readReturns(text, options)
  const entry = FILE.trim().split('\n').slice(1).join('\n')
  await expect(read(`${FILE}${entry}\n`)).rejects.toThrow('returns[1].id: returns[0] is return "202512" too')
  const faults = (change: (text: string) => string) => expect(read(change(FILE))).rejects
  await faults((text) => text.replace('2026-01-20', '2026-02-20')).toThrow(
    'returns[0].due: is after the return closes',
  )
  await faults((text) => text.replace('2026-01-31 17:00', '2025-12-31')).toThrow(
    'returns[0].closes: is not after opens',
  )
  await faults((text) => text.replace('collected', 'collect')).toThrow(
    'is not a definition of this service: "collect"',
  )
  await faults((text) => text.replace('202512', '2025')).toThrow(
    'returns[0].id: is not valid: collected has no return "2025"',
  )
  await faults((text) => text.replace('due:', 'duo:')).toThrow(
    'returns[0]: has the unknown field "duo" (did you mean',
  )
  await faults((text) => text.replace('December', 'December '.repeat(30))).toThrow('returns[0].name: is ')
  await faults((text) => text.replace('["1001", "0002"]', '[]')).toThrow(
    'returns[0].organisations: must have at least 1 item, not 0',
  )
  await faults((text) => text.replace('    definition: collected\n', '')).toThrow(
    'returns[0].definition: is missing',
  )
  // Clocks in New Zealand skip this hour.
  await faults((text) => text.replace('2026-01-01', '2025-09-28 02:30')).toThrow(
    'that exists in Pacific/Auckland',
  )
  await faults((text) => text.replace('"0002"', '"a b"')).toThrow('returns[0].organisations[1]')
  await faults((text) => text.replace('notes:', '  notes:')).toThrow('returns.yml:')
  await faults(() => '[]').toThrow('must have a list of returns')
})

test('local times are read with the offset of their day', () => {
  const zone = 'Pacific/Auckland'
  const utc = (text: string, end = false) => {
    const time = readZoned(text, zone, end)
    return time === undefined ? undefined : new Date(time).toISOString()
  }
  expect(utc('2026-01-31')).toBe('2026-01-30T11:00:00.000Z')
  expect(utc('2026-01-31', true)).toBe('2026-01-31T11:00:00.000Z')
  expect(utc('2026-07-01 09:00')).toBe('2026-06-30T21:00:00.000Z')
  // Clocks show this time twice; the first one counts.
  expect(utc('2026-04-05 02:30')).toBe('2026-04-04T13:30:00.000Z')
  expect(utc('2026-01-31T17:00:00+13:00')).toBe('2026-01-31T04:00:00.000Z')
  for (const wrong of ['2026-02-30', '2026-01-31 25:00', '2026-01-31T17:00:00', 'tomorrow', ''])
    expect(utc(wrong), wrong).toBeUndefined()
  expect(showInstant(Date.UTC(2026, 0, 31, 4), zone)).toBe(
    '31 Jan 2026, 17:00 (Pacific/Auckland; 2026-01-31T04:00:00.000Z)',
  )
})
