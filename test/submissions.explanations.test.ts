import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { actorOf } from '../src/api/access/principal.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import {
  type Explanation,
  findOpenWarnings,
  mostExplained,
} from '../src/submissions/explanations/explanation.ts'
import { readReceipt, storeReceipt } from '../src/submissions/explanations/receipt.ts'
import { readExplanations, storeExplanation } from '../src/submissions/explanations/store.ts'
import { storeReturns } from '../src/submissions/returns/returns.ts'
import { Definitions } from '../src/submissions/rules/definitions.ts'
import { changeSubmission } from '../src/submissions/submission/lock.ts'
import type { RunSummary } from '../src/submissions/submission/runs.ts'
import { createSubmission } from '../src/submissions/submission/submission.ts'
import {
  COURSES,
  makeCollectionDefinition,
  makeLearners,
  startCollection,
  submitTo,
} from './support/collection.ts'
import { openTemporary } from './support/reused-schemas.ts'

const at = (token: string, target = '') =>
  `/submissions/${token}/explanations${target && `/${encodeURIComponent(target)}`}`

test('a warning that needs an explanation is named until it is explained, and the receipt has it', async () => {
  const { provider } = await startCollection()
  const token = await submitTo(provider, { notes: 3, remarks: 2 })
  const refused = await provider.ask('POST', `/submissions/${token}/submit`)
  expect(refused.status).toBe(409)
  expect(refused.body.detail).toContain('LEA-note (3 findings)')
  expect(refused.body.detail).not.toContain('LEA-remark')
  expect((await provider.ask('GET', at(token))).body.open).toEqual([{ code: 'LEA-note', findings: 3 }])

  const explained = await provider.ask('PUT', at(token, 'LEA-note'), {
    reason: 'Other',
    text: ' Ko ēnei.\r\n',
  })
  expect(explained.status).toBe(200)
  expect(explained.body).toMatchObject({
    target: 'LEA-note',
    kind: 'code',
    reason: 'Other',
    text: 'Ko ēnei.',
    state: 'Explained',
    findings: 3,
    runId: 1,
    actor: { id: provider.id, name: 'records' },
  })
  const { status, body } = await provider.ask('POST', `/submissions/${token}/submit`)
  expect(status).toBe(200)
  expect(body.submissionStatus).toBe('Submitted')
  expect(body.receipt).toMatchObject({
    receipt: 1,
    submissionToken: token,
    returnId: '202512',
    eid: '1001',
    definition: { name: 'collected', version: '1.2.0' },
    runId: 1,
    errorCount: 0,
    warningCount: 5,
    submittedBy: { id: provider.id, name: 'records' },
    explanations: [{ target: 'LEA-note', text: 'Ko ēnei.' }],
  })
  const digest = (content: string) => createHash('sha256').update(content).digest('hex')
  expect(body.receipt.files).toEqual([
    { fileType: 'Course', file: 'courses', records: 1, bytes: COURSES.length, sha256: digest(COURSES) },
    expect.objectContaining({ file: 'learners', sha256: digest(makeLearners({ notes: 3, remarks: 2 })) }),
  ])
  expect((await provider.ask('GET', `/submissions/${token}/receipt`)).body).toEqual(body.receipt)
  const again = await provider.ask('PUT', at(token, 'LEA-note'), { reason: 'Verified' })
  expect(again.status).toBe(409)
})

test('an explanation holds until there are more than 10 % or 5 more findings', async () => {
  expect([1, 20, 50, 59, 60, 200].map(mostExplained)).toEqual([6, 25, 55, 64, 66, 220])
  const { provider } = await startCollection()
  const token = await submitTo(provider, { notes: 1 })
  await provider.ask('PUT', at(token, 'LEA-note'), { reason: 'Verified' })
  for (const [notes, state] of [
    [7, 'Reopened'],
    [6, 'Explained'],
  ] as const) {
    await provider.put(token, 'learners', makeLearners({ notes }))
    await provider.check(token)
    const { body } = await provider.ask('GET', at(token, 'LEA-note'))
    expect(body).toMatchObject({ state, findings: notes, explainedFindings: 1 })
    if (state === 'Reopened') {
      expect(body.reopened).toBe('It was given for 1 finding, and the current run has 7.')
      const refused = await provider.ask('POST', `/submissions/${token}/submit`)
      expect(refused.status).toBe(409)
      expect(refused.body.detail).toContain('LEA-note (7 findings, 1 when it was explained)')
    }
  }
  expect((await provider.ask('POST', `/submissions/${token}/submit`)).status).toBe(200)
})

test('all causes of a code explain it, one by one', async () => {
  const { provider } = await startCollection()
  const token = await submitTo(provider, { notes: 2 })
  const { body } = await provider.ask('GET', `/submissions/${token}/validation-results/causes`)
  const keys: string[] = body.causes.map(({ key }: { key: string }) => key)
  expect(keys.length).toBeGreaterThan(0)
  for (const key of keys) {
    expect((await provider.ask('POST', `/submissions/${token}/submit`)).status).toBe(409)
    const explained = await provider.ask('PUT', at(token, key), { reason: 'Agreed' })
    expect(explained.body).toMatchObject({ kind: 'cause', target: key, codes: ['LEA-note'] })
  }
  const left = await provider.ask('DELETE', at(token, keys[0]))
  expect(left.body.open).toEqual([{ code: 'LEA-note', findings: 2 }])
  expect((await provider.ask('DELETE', at(token, keys[0]))).status).toBe(404)
})

test('a code with several causes is open until the code or each of them is explained', () => {
  const definition = new Definitions([makeCollectionDefinition()]).find('collected')
  const cause = (key: string) => ({ key, codes: ['LEA-note'], severity: 'Warning', findings: 1 })
  const summary = {
    codes: [{ errorCode: 'LEA-note', errorType: 'Warning', count: 2, students: 2, first: {} }],
    causes: [cause('one'), cause('other')],
  } as unknown as RunSummary
  const open = (...targets: string[]) =>
    findOpenWarnings(
      definition,
      summary,
      targets.map((target) => ({ target, findings: 1 })) as unknown as Explanation[],
    ).map(({ code }) => code)
  expect(open()).toEqual(['LEA-note'])
  expect(open('one')).toEqual(['LEA-note'])
  expect(open('one', 'other')).toEqual([])
  expect(open('LEA-note')).toEqual([])
  expect(open('LEA-remark')).toEqual(['LEA-note'])
})

test('what cannot be explained is refused, and nothing is stored', async () => {
  const { provider } = await startCollection()
  const early = await provider.create()
  const put = async (token: string, target: string, body: object) =>
    (await provider.ask('PUT', at(token, target), body)).status
  expect(await put(early, 'LEA-note', { reason: 'Verified' })).toBe(409)
  const token = await submitTo(provider, { notes: 1, faults: 1 })
  const { body } = await provider.ask('GET', `/submissions/${token}/validation-results/summary`)
  const error = body.codes.find(({ errorType }: { errorType: string }) => errorType === 'Error').errorCode
  expect(await put(token, error, { reason: 'Verified' })).toBe(409)
  expect(await put(token, 'LEA-remark', { reason: 'Verified' })).toBe(404)
  expect(await put(token, 'LEA-note', { reason: 'Verified', text: 'x'.repeat(100_000) })).toBe(413)
  for (const wrong of [
    { reason: 'Because' },
    { reason: 'Other', text: '  ' },
    { reason: 'Verified', text: 'evil \u202e txt' },
    { reason: 'Verified', more: 1 },
  ])
    expect(await put(token, 'LEA-note', wrong), JSON.stringify(wrong)).toBe(400)
  const both = await provider.ask('PUT', at(token, 'LEA-note'), {
    reason: 'Because',
    text: 'evil \u202e txt',
  })
  expect(Object.keys(both.body.errors)).toEqual(['reason', 'text'])
  expect((await provider.ask('GET', at(token))).body.explanations).toEqual([])
  const hostile = `<script>alert(1)</script>'"; drop table submission; -- \u{1f469}`
  expect(await put(token, 'LEA-note', { reason: 'Other', text: hostile })).toBe(200)
  expect((await provider.ask('GET', at(token, 'LEA-note'))).body.text).toBe(hostile)
})

/** A rule that SQLite stops once a value is not JSON. */
const makeStopping = (code: string, field: string, severity: 'Error' | 'Warning') => `/*
file: learners
fields: ${field}
code: ${code}
severity: ${severity}
message: The value is wrong.
why: It is read.
fix: Correct it.
examples:
  - records: { learners: [{ localId: L1, id: S1, ${field}: '{"a": 1}' }] }
    finds: [1]
  - records: { learners: [] }
    finds: []
*/
select row from learners where json_extract(${field}, '$.a') = 1`

test('a rule that was stopped prevents the submission unless it only warns, and the receipt names it', async () => {
  const rules = {
    'R-1': makeStopping('R-1', 'note', 'Error'),
    'R-2': makeStopping('R-2', 'remark', 'Warning'),
  }
  const { provider, createCaller, service } = await startCollection({}, { rules })
  const common = { name: 'A return', definition: 'collected', version: '1.2.0', zone: 'UTC' }
  const times = { opens: 0, due: Date.now() + 1e9, closes: Date.now() + 1e9 }
  await storeReturns(service.database, [
    { ...common, ...times, returnId: '202512', type: 'Full' },
    { ...common, ...times, returnId: '202506', type: 'Indicative' },
  ])
  const agency = await createCaller('agency', [], ['operate'])
  const stopped = (errorCode: string) => ({
    errorCode,
    reason: 'SQLite stopped the rule: malformed JSON.',
  })

  const token = await provider.create()
  await provider.put(token, 'courses', COURSES)
  await provider.put(token, 'learners', 'localId,id,course,note,remark\nL1,S1,K1,late,early\n')
  await provider.check(token)
  const { validationRun } = (await provider.ask('GET', `/submissions/${token}`)).body
  expect(validationRun).toMatchObject({ errorCount: 0, stoppedCount: 1 })
  const { notRun } = (await provider.ask('GET', `/submissions/${token}/validation-results/summary`)).body
  expect(notRun).toEqual([{ ...stopped('R-1'), blocks: true }, stopped('R-2')])
  const refused = await provider.ask('POST', `/submissions/${token}/submit`)
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    'The current run did not make 1 check that the submission needs. R-1: SQLite stopped the rule: malformed JSON. Validate again; if that does not help, the operator of this service must change its limits or the definition.',
  ])
  const { results: standings } = (await agency.ask('GET', '/returns/202512/overview')).body
  expect(standings).toMatchObject([{ eid: provider.eid, returnStatus: 'Incomplete', errorCount: 0 }])
  const { results: activities } = (await provider.ask('GET', `/submissions/${token}/activity`)).body
  expect(activities[0]).toMatchObject({ event: 'Checked', errorCount: 0, stoppedCount: 1 })

  // The rule that only warns may be stopped, and a file that the return may lack is no obstacle.
  const other = await provider.create('202506')
  await provider.put(other, 'learners', 'localId,id,course,note,remark\nL1,S1,K1,,early\n')
  expect((await provider.check(other)).stoppedCount).toBeUndefined()
  const { receipt } = (await provider.ask('POST', `/submissions/${other}/submit`)).body
  expect(receipt.notRun).toContainEqual(stopped('R-2'))
  expect(receipt.notRun).toContainEqual({
    errorCode: expect.stringMatching('^LEA-'),
    reason: 'The file courses.csv is missing.',
  })
})

test('two people who submit at once get the same receipt, which names one of them', async () => {
  const { provider, createCaller } = await startCollection()
  const manager = await createCaller('manager', ['1001'])
  const token = await submitTo(provider, {})
  const both = await Promise.all(
    [provider, manager, provider, manager].map(({ ask }) => ask('POST', `/submissions/${token}/submit`)),
  )
  expect(both.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const [first, ...others] = both.map(({ body }) => body.receipt)
  for (const other of others) expect(other).toEqual(first)
  const { body } = await provider.ask('GET', `/submissions/${token}/activity`)
  const submitted = body.results.filter(({ event }: { event: string }) => event === 'Submitted')
  expect(submitted.map(({ actor }: { actor: object }) => actor)).toEqual([first.submittedBy])
})

test('the agency opens a submission again, and its receipts remain', async () => {
  const { provider, createCaller, service } = await startCollection()
  const agency = await createCaller('agency', [], ['operate'])
  const token = await submitTo(provider, {})
  const path = `/submissions/${token}/reopen`
  expect((await agency.ask('POST', path, { reason: 'Too early' })).status).toBe(409)
  await provider.ask('POST', `/submissions/${token}/submit`)
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const [late, local] = ['2020-01-01T00:00:00Z', until.slice(0, -1)].map((at) => ({ reason: 'a', until: at }))
  for (const wrong of [{ reason: ' ' }, late, local])
    expect((await agency.ask('POST', path, wrong)).status).toBe(400)
  expect((await agency.ask('POST', '/submissions/unknown/reopen', { reason: 'a' })).status).toBe(404)
  // No return closes earlier, so the submission would stay open for months.
  const reopened = await agency.ask('POST', path, { reason: 'Two courses are missing.', until })
  expect(reopened.body).toMatchObject({
    submissionStatus: 'Validated',
    reopenedUntil: until,
    tokenExpiry: until,
  })

  // The digest of a file that is built from records is that of the file that is read.
  const other = await provider.create('202604')
  const change = { content: [{ localId: 'C1', code: 'K1', title: 'First' }] }
  expect((await provider.ask('POST', `/submissions/${other}/records/courses`, change)).status).toBe(200)
  await provider.put(other, 'learners', makeLearners())
  await provider.check(other)
  const built = await provider.ask('POST', `/submissions/${other}/submit`)
  const records = await provider.ask('GET', `/submissions/${other}/files/courses`)
  expect(built.body.receipt.files[0]).toMatchObject({
    records: 1,
    sha256: createHash('sha256').update(records.text).digest('hex'),
  })
  await provider.put(token, 'courses', `${COURSES}C2,K2,Second\n`)
  // The last check has read another file.
  expect((await provider.ask('POST', `/submissions/${token}/submit`)).status).toBe(409)
  await provider.check(token)
  const { body } = await provider.ask('POST', `/submissions/${token}/submit`)
  const read = await provider.ask('GET', `/submissions/${token}/files/courses`, undefined, {
    accept: 'text/csv',
  })
  const file = body.receipt.files.find(({ file }: { file: string }) => file === 'courses')
  expect(file).toMatchObject({ records: 2, sha256: createHash('sha256').update(read.text).digest('hex') })
  expect(body.receipt).toMatchObject({
    receipt: 2,
    earlier: [
      {
        receipt: 1,
        submittedBy: { name: 'records' },
        reopenedBy: { name: 'agency' },
        reopenReason: 'Two courses are missing.',
      },
    ],
  })
  const first = await provider.ask('GET', `/submissions/${token}/receipt?number=1`)
  expect(first.body).toMatchObject({ receipt: 1, reopenReason: 'Two courses are missing.' })
  const missing = async (path: string) => {
    const { status, body } = await provider.ask('GET', `/submissions/${path}`)
    return [status, body.type, body.detail]
  }
  const type = '/problems/no-receipt'
  expect(await missing(`${token}/receipt?number=3`)).toEqual([
    404,
    type,
    'The submission has no receipt with this number.',
  ])
  expect(await missing(`${await provider.create('202606')}/receipt`)).toEqual([
    404,
    type,
    'The submission has no receipt, because it has not been submitted yet.',
  ])
  await service.database.write('catalogue', (writer) => writer.run('delete from submission_receipt'))
  expect(await missing(`${token}/receipt`)).toEqual([
    404,
    type,
    'The submission was submitted, but its receipt is not stored.',
  ])
})

test('a replacement names what it replaces, has its explanations, and prevents that it is opened again', async () => {
  const { provider, createCaller } = await startCollection()
  const agency = await createCaller('agency', [], ['operate'])
  const token = await submitTo(provider, { notes: 2 })
  await provider.ask('PUT', at(token, 'LEA-note'), { reason: 'Verified' })
  await provider.ask('POST', `/submissions/${token}/submit`)
  const next = await submitTo(provider, { notes: 4 })
  expect(next).not.toBe(token)
  const refused = await agency.ask('POST', `/submissions/${token}/reopen`, { reason: 'a' })
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    'The organisation has another open submission for this return. It must delete that one before this one can be opened again, or submit that one, which then replaces this one.',
  ])
  const { body } = await provider.ask('POST', `/submissions/${next}/submit`)
  // The receipts of an organisation for a return have one count.
  expect(body.receipt).toMatchObject({
    receipt: 2,
    replaces: { submissionToken: token },
    explanations: [{ target: 'LEA-note', findings: 4, explainedFindings: 2 }],
  })
  const receiptOf = (submission: string, number: number) =>
    provider.ask('GET', `/submissions/${submission}/receipt?number=${number}`)
  expect((await receiptOf(next, 2)).body).toEqual(body.receipt)
  expect((await receiptOf(token, 1)).body).toMatchObject({ receipt: 1 })
  expect(await receiptOf(next, 1)).toMatchObject({
    status: 404,
    body: { detail: 'The submission has no receipt with this number.' },
  })
  const other = await submitTo(provider, { notes: 0 }, '202508')
  expect((await provider.ask('POST', `/submissions/${other}/submit`)).body.receipt.receipt).toBe(1)
})

test('explanations and receipts are encrypted, and read also once another key encrypts', async () => {
  const keys = ['k1', 'k2'].map((id, at) => ({ id, key: new Uint8Array(32).fill(at + 1) }))
  const [first, second] = keys
  if (first === undefined || second === undefined) throw new Error('there are two keys')
  const database = await openTemporary()
  const old = new Sealer([first])
  const { submission } = await createSubmission(database, {
    eid: '1001',
    returnId: '202512',
    definition: 'collected',
  })
  const { token } = submission
  const actor = { id: 'test', name: 'Test' }
  const explanation: Explanation = {
    target: 'LEA-note',
    kind: 'code',
    codes: ['LEA-note'],
    reason: 'Other',
    text: 'Very private.',
    findings: 3,
    runId: 1,
    actor,
    time: 1,
  }
  await changeSubmission(database, token, async (writer) => {
    await storeExplanation(writer, token, explanation, old)
    await storeReceipt(writer, submission, (receipt) => ({ receipt, returnName: 'Very private.' }), old)
  })
  const stored = async () =>
    JSON.stringify([
      await database.all('select * from submission_explanation'),
      await database.all('select * from submission_receipt'),
    ])
  expect(await stored()).not.toContain('private')
  const latest = new Sealer([second, first])
  expect(await readExplanations(database, token, latest)).toMatchObject([{ text: 'Very private.' }])
  expect(await readReceipt(database, token, latest)).toMatchObject({ returnName: 'Very private.' })
})

test('an actor has the name of the identity provider, a subject, or a client', () => {
  const principal = {
    id: 'jwt_1',
    client: 'app',
    scopes: new Set<string>(),
    eids: new Set<string>(),
    expires: 1,
  }
  expect(actorOf({ ...principal, name: 'A. Analyst' })).toEqual({ id: 'jwt_1', name: 'A. Analyst' })
  expect(actorOf({ ...principal, alias: 'subject' }).name).toBe('subject')
  expect(actorOf(principal).name).toBe('app')
  expect(actorOf({ ...principal, name: '\u0000\u202e' }).name).toBe('app')
  expect(actorOf({ ...principal, name: 'x'.repeat(300) }).name).toHaveLength(200)
  expect(actorOf(undefined).id).toBe('service')
})

test('published findings are no check of the files, which nobody can submit by them', async () => {
  const { provider, service } = await startCollection()
  const token = await provider.create()
  await provider.put(token, 'courses', COURSES)
  await provider.put(token, 'learners', makeLearners({ faults: 1 }))
  await service.publish([], { token, eid: provider.eid, returnId: '202512' })
  const { status, body } = await provider.ask('POST', `/submissions/${token}/submit`)
  expect([status, body.detail]).toEqual([
    409,
    'The current run has not read the files as they are. Request a new one.',
  ])
  expect((await provider.ask('GET', `/submissions/${token}`)).body.submissionStatus).toBe('Pending')
})

test('no findings are published to a submitted submission until it is opened again', async () => {
  const { provider, createCaller, service } = await startCollection()
  const agency = await createCaller('agency', [], ['operate'])
  const token = await submitTo(provider, { notes: 0, remarks: 2 })
  const publish = () =>
    service.publish([{ errorType: 'Error' }], { token, eid: provider.eid, returnId: '202512' })
  const { status, body } = await provider.ask('POST', `/submissions/${token}/submit`)
  expect(status).toBe(200)
  const read = async () =>
    (await provider.ask('GET', `/submissions/${token}/validation-results`)).body.totalCount
  await expect(publish()).rejects.toThrow('Reopen it first')
  expect(await read()).toBe(body.receipt.warningCount)
  const url = `/submissions/${token}/reopen`
  expect((await agency.ask('POST', url, { reason: 'Two are missing.' })).status).toBe(200)
  await publish()
  expect(await read()).toBe(1)
})
