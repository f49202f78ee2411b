import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { MOST_WAITING, MOST_WAITING_OF_ONE } from '../src/submissions/files/file-job.ts'
import { sweep } from '../src/submissions/retention/sweep.ts'
import { until } from './support/command.ts'
import { Connection } from './support/connection.ts'
import { define } from './support/definition.ts'
import { parseLines } from './support/lines.ts'
import { pack } from './support/pack.ts'
import type { Service } from './support/service.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { startSubmissions } from './support/submissions.ts'

const ALL = ['occupations:read', 'validation-results:read', 'submissions:write'] as const
const PEOPLE = 'localId,id,group,age\n1,A1,G1,20\n2,A2,G9,12\n3,A3,G1,12\n'
const GROUPS = 'localId,code,title\n1,G1,One\n'

interface Asked {
  readonly payload?: string | Buffer | object
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** A service whose submissions are checked against the small definition, and a caller of it. */
async function start(environment: Record<string, string> = {}) {
  const { createCaller, ...started } = await startSubmissions(makeSmallDefinition(), environment)
  const { check, ask: send, ...caller } = await createCaller('other', ['1001', '1002'], ALL)
  const ask = (method: Parameters<typeof send>[0], path: string, { payload, headers }: Asked = {}) =>
    send(method, path, payload, headers)
  return { ...started, ...caller, ask, validate: check }
}

test('files of one kind have their own columns, also one that was sent in Windows-1252', async () => {
  const required = { constraints: { required: true } }
  const of = (...names: string[]) => ({ fields: names.map((name) => ({ name, ...required })) })
  const { createCaller, work } = await startSubmissions(define({ one: of('a', 'b'), two: of('c', 'd') }))
  const { ask, create, put, check } = await createCaller('other', ['1001'], ALL)
  const token = await create()
  await put(token, 'one', Buffer.from('a,b\né,\n', 'latin1'))
  // The header of this one is not its first line.
  await put(token, 'two', '\nsep=;\nd;c;"other,\nnot read"\n2;;\n')
  await work()
  await check(token)
  const { body } = await ask('GET', `/submissions/${token}/validation-results/findings`)
  expect(body.columns).toEqual([
    { fileType: 'Unknown', file: 'one.csv', columns: ['a', 'b'] },
    { fileType: 'Unknown', file: 'two.csv', columns: ['d', 'c', 'other,\nnot read'] },
  ])
  expect(body.results.map(({ file }: { file: string }) => file)).toEqual(['one.csv', 'two.csv', 'two.csv'])
})

test('a submission goes from nothing to zero errors', async () => {
  const { ask, put, validate, work } = await start()
  const created = await ask('POST', '/submissions', { payload: { returnId: '202512' } })
  expect(created.status).toBe(201)
  const token = created.body.submissionToken as string
  expect(created.headers.location).toBe(`/v1/submissions/${token}`)
  expect(created.body).toMatchObject({
    submissionStatus: 'Pending',
    eid: '1001',
    returnId: '202512',
    definition: 'small',
    maxRecordPerBatch: 1000,
    files: [],
  })
  const again = await ask('POST', '/submissions', { payload: { returnId: '202512' } })
  expect([again.status, again.body.submissionToken]).toEqual([200, token])
  expect((await ask('POST', `/submissions/${token}/validation-runs`)).body).toMatchObject({
    status: 400,
    detail: 'No records were uploaded. Upload a file first.',
  })

  const stored = await put(token, 'people', PEOPLE)
  expect(stored.status).toBe(200)
  const sha256 = createHash('sha256').update(PEOPLE).digest('hex')
  expect(stored.body).toMatchObject({
    fileType: 'Learner',
    file: 'people',
    records: 3,
    bytes: PEOPLE.length,
    sha256,
  })
  expect(stored.headers.etag).toBe(`"${sha256}"`)
  await put(token, 'groups', GROUPS)

  // As many programs send it: with an empty object.
  const requested = await ask('POST', `/submissions/${token}/validation-runs`, { payload: {} })
  expect(requested.status).toBe(202)
  expect(requested.headers).toMatchObject({ 'retry-after': '1' })
  expect(requested.body).toMatchObject({ runId: 1, status: 'Queued' })
  expect((await ask('GET', String(requested.headers.location).slice(3))).body).toMatchObject({
    status: 'Queued',
  })
  expect((await ask('GET', `/submissions/${token}`)).body.submissionStatus).toBe('Validating')
  await work()
  expect(await validate(token)).toMatchObject({
    runId: 1,
    status: 'Processed',
    errorCount: 3,
    warningCount: 0,
  })
  expect((await ask('POST', `/submissions/${token}/submit`)).status).toBe(409)

  const found = await ask('GET', `/submissions/${token}/validation-results/findings?Filter.FileType=Learner`)
  expect(found.body.results[0]).toMatchObject({ file: 'people.csv', line: 3 })
  expect(found.body.columns).toEqual([
    { fileType: 'Learner', file: 'people.csv', columns: ['localId', 'id', 'group', 'age'] },
  ])
  const results = await ask('GET', `/submissions/${token}/validation-results`)
  expect(results.body).toMatchObject({ page: 1, pageSize: 100, totalCount: 3 })
  expect(Object.keys(results.body.results[0])).toEqual([
    'localId',
    'errorCode',
    'errorDescription',
    'errorType',
    'fileType',
    'courseCode',
    'studentId',
    'recordText',
  ])
  const summary = await ask('GET', `/submissions/${token}/validation-results/summary`)
  expect(summary.body).toMatchObject({ runId: 1, errorCount: 3, totalCount: 3, notRun: [] })
  expect(summary.body.undecided).toEqual([])
  expect(summary.body.codes[0]).toMatchObject({
    errorCode: 'PER-04-range',
    count: 2,
    share: 0.666667,
    students: 2,
  })
  const { body: fixes } = await ask('GET', `/submissions/${token}/validation-results/causes`)
  expect(fixes).toMatchObject({ submissionToken: token, runId: 1 })
  expect(fixes.causes.reduce((sum: number, { findings }: { findings: number }) => sum + findings, 0)).toBe(3)
  expect(fixes.causes[0]).toMatchObject({
    kind: 'column',
    severity: 'Error',
    codes: ['PER-04-range'],
    records: 2,
    learners: 2,
    example: { file: 'people.csv', line: expect.any(Number), field: 'age' },
  })

  await put(token, 'people', PEOPLE.replace('2,A2,G9,12', '2,A2,G1,30'))
  expect(await validate(token)).toMatchObject({ runId: 2, errorCount: 1 })
  const changes = await ask('GET', `/submissions/${token}/validation-results/changes`)
  expect(changes.body).toMatchObject({
    from: 1,
    to: 2,
    newCount: 0,
    fixedCount: 2,
    openCount: 1,
    totalCount: 3,
  })
  expect(changes.body.results.map(({ status }: { status: string }) => status)).toEqual([
    'fixed',
    'fixed',
    'open',
  ])
  const clean = 'localId,id,group,age\n1,A1,G1,20\n2,A2,G1,30\n'
  await put(token, 'people', clean)
  expect(await validate(token)).toMatchObject({ runId: 3, errorCount: 0 })
  expect((await ask('GET', `/submissions/${token}/files/people`)).text).toBe(clean)
  const submitted = await ask('POST', `/submissions/${token}/submit`)
  expect([submitted.status, submitted.body.submissionStatus]).toEqual([200, 'Submitted'])
  expect((await put(token, 'people', PEOPLE)).status).toBe(409)
  const runs = await ask('GET', `/submissions/${token}/validation-runs`)
  expect(runs.body.results.map(({ runId }: { runId: number }) => runId)).toEqual([3, 2, 1])
  const list = await ask('GET', '/submissions')
  expect(list.body.results[0]).toEqual((await ask('GET', `/submissions/${token}`)).body)
  expect(list.body).toMatchObject({ page: 1, totalCount: 1, results: [{ submissionStatus: 'Submitted' }] })
})

test('a file is uploaded or built from records, which replace each other by their localId', async () => {
  const { ask, create, put } = await start()
  const token = await create()
  await put(token, 'people', PEOPLE)
  const change = (method: 'POST' | 'DELETE', file: string, ...content: { localId: string }[]) =>
    ask(method, `/submissions/${token}/records/${file}`, { payload: { content } })
  const group = (localId: string, code: string) => ({ localId, code })
  // An uploaded file is replaced as a whole.
  const uploaded = await change('POST', 'people', { localId: '2' })
  expect([uploaded.status, (await change('DELETE', 'people', { localId: '2' })).status]).toEqual([409, 409])
  expect(uploaded.body.detail).toContain('was uploaded')
  const added = await change('POST', 'groups', group('1', 'G0'), group('2', 'G2'), group('1', 'G1'))
  expect(added.body).toMatchObject({
    submissionToken: token,
    content: [{}, {}, { localId: '1', errors: [] }],
  })
  const removed = await change('DELETE', 'groups', { localId: '2' }, { localId: '99' })
  expect(removed.body.content).toEqual([
    { localId: '2', errors: [] },
    { localId: '99', errors: ['No record of this file has this localId.'] },
  ])
  const read = async (accept: string) =>
    (await ask('GET', `/submissions/${token}/files/groups`, { headers: { accept } })).text
  expect(await read('application/x-ndjson')).toBe('{"localId":"1","code":"G1"}\n')
  expect(await read('text/csv')).toBe('localId,code\r\n1,G1\r\n')
  expect((await put(token, 'groups', GROUPS)).body.batches).toBeUndefined()
  expect(await read('text/csv')).toBe(GROUPS)
})

test('CSV and NDJSON hold all findings, or those of a filter, with their places', async () => {
  const { ask, create, put, validate, work } = await start()
  const token = await create()
  const rows = Array.from({ length: 60 }, (_, index) => `${index},P${index},G${index % 2},${index % 3}`)
  await put(token, 'people', `localId,id,group,age\n${rows.join('\n')}\n`)
  await put(token, 'groups', GROUPS)
  await work()
  await validate(token)
  const base = `/submissions/${token}/validation-results`
  const entries = (await ask('GET', `${base}?pageSize=1000`)).body.results as Record<string, string>[]
  for (const [query, match] of [
    ['', () => true],
    ['Filter.CourseCode=G0', ({ courseCode }) => courseCode === 'G0'],
    ['filter.errorcode=PER-04-range', ({ errorCode }) => errorCode === 'PER-04-range'],
    ['Filter.FileType=Course', () => false],
  ] as [string, (entry: Record<string, string>) => boolean][]) {
    const expected = entries.filter(match)
    expect((await ask('GET', `${base}?${query}&pageSize=1000`)).body.results).toEqual(expected)
    const lines = await ask('GET', `${base}?${query}`, { headers: { accept: 'application/x-ndjson' } })
    expect(lines.headers['total-count']).toBe(String(expected.length))
    const exported = parseLines<Record<string, unknown>>(lines.text)
    // The exports say where a finding is; pages have the specified fields only.
    expect(exported.map(({ file, line, field, value, findingKey, cause, ...entry }) => entry)).toEqual(
      expected,
    )
  }
  const ndjson = await ask('GET', base, { headers: { accept: 'application/x-ndjson' } })
  const aged = parseLines<{ errorCode: string } & Record<string, string>>(ndjson.text).find(
    ({ errorCode }) => errorCode === 'PER-04-range',
  )
  const recordText = rows[Number(aged?.line) - 2]
  const { causes } = (await ask('GET', `${base}/causes`)).body
  expect(aged).toMatchObject({
    file: 'people.csv',
    field: 'age',
    value: recordText?.split(',').at(-1),
    recordText,
  })
  expect(causes.map(({ key }: { key: string }) => key)).toContain(aged?.cause)
  const csv = await ask('GET', base, { headers: { accept: 'text/csv' } })
  const [header, ...csvRows] = csv.text.trim().split('\n')
  expect(header).toBe(
    'localId,errorCode,errorDescription,errorType,fileType,courseCode,studentId,recordText,file,line,field,value,findingKey,cause',
  )
  expect(csvRows).toHaveLength(entries.length)
  expect(csvRows.filter((row) => row.includes(`,age,${aged?.value},${aged?.findingKey},`))).toHaveLength(1)
  expect(csv.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="findings.csv"',
  })
  expect((await ask('GET', base, { headers: { accept: 'text/html' } })).status).toBe(406)
  const wrong = await ask('GET', `${base}?Filter.ErrorType=Errors`)
  expect(wrong.body).toMatchObject({ status: 400, errorCode: 'PR1' })
  expect(wrong.body.detail).toContain('did you mean "Error"')
  expect((await ask('GET', `${base}?Filter.FileType=Course&page=2`)).body).toMatchObject({ errorCode: 'PR2' })
  const paged = await ask('GET', `${base}?page=1`, { headers: { accept: 'text/csv' } })
  expect(paged.body).toMatchObject({ status: 400, errorCode: 'PR1' })
})

test('bad uploads and batches are refused with the right problem', async () => {
  const { ask, create, put } = await start({ UPLOAD_MAX_MB: '1' })
  const token = await create()
  const at = `/submissions/${token}`
  const big = Buffer.alloc(2 * 2 ** 20, 'localId,id\n')
  const digest = `sha-256=:${createHash('sha256').update(PEOPLE).digest('base64')}:`
  const cases: [
    number,
    () => Promise<{ status: number; body: { type?: string; errorCode?: string; detail?: string } }>,
    object,
  ][] = [
    [
      404,
      () => put(token, 'no-such-file', PEOPLE),
      { detail: 'The definition has no such file. Its files are …/files/people, …/files/groups.' },
    ],
    [415, () => put(token, 'people', PEOPLE, { 'content-type': 'application/pdf' }), {}],
    [400, () => put(token, 'people', `${PEOPLE}4,A4,G1,20\n`, { 'content-digest': digest }), {}],
    [413, () => put(token, 'people', gzipSync(big), { 'content-encoding': 'gzip' }), {}],
    [413, () => put(token, 'people', big), {}],
    [400, () => put(token, 'people', PEOPLE, { 'content-range': 'bytes 0-9/100' }), {}],
    [
      400,
      () => ask('POST', `${at}/records/people`, { payload: { content: [{ id: 'A' }] } }),
      { errorCode: 'CV1' },
    ],
    [
      400,
      () =>
        ask('POST', `${at}/records/people`, {
          payload: { content: Array.from({ length: 1_001 }, (_, index) => ({ localId: String(index) })) },
        }),
      { errorCode: 'MP1', detail: 'The batch has 1,001 records; at most 1,000 are allowed.' },
    ],
    [
      400,
      () => {
        const fields = Array.from({ length: 2_000 }, (_, index) => [`field${index}`, ''])
        const record = { localId: 'A1', ...Object.fromEntries(fields) }
        return ask('POST', `${at}/records/people`, { payload: { content: [record] } })
      },
      { errorCode: 'CV1', detail: 'content[0] has 2,001 fields; at most 2,000 are allowed.' },
    ],
    [404, () => ask('GET', `${at}/files/people`), {}],
    [404, () => ask('GET', `${at}/validation-runs/1`), {}],
    [400, () => ask('GET', `${at}/validation-runs/x`), {}],
    [422, () => ask('POST', '/submissions', { payload: { returnId: '202604', definition: 'none' } }), {}],
    [422, () => ask('POST', '/submissions', { payload: { returnId: 'X' } }), {}],
    [
      400,
      () => ask('POST', '/submissions', { payload: { returnId: 'a b', type: 'Whole' } }),
      { errors: { type: [expect.any(String)], returnId: [expect.any(String)] } },
    ],
  ]
  for (const [status, asking, members] of cases) {
    const { status: got, body } = await asking()
    expect([got, body]).toEqual([status, expect.objectContaining(members)])
  }
  expect((await ask('GET', at)).body.files).toEqual([])
})

test('If-None-Match stores a file only if there is none yet, and each format has an ETag of its own', async () => {
  const { ask, create, put, work } = await start()
  await work()
  const token = await create()
  expect((await put(token, 'people', PEOPLE, { 'if-none-match': '*' })).status).toBe(200)
  const { headers } = await ask('GET', `/submissions/${token}/files/people`)
  const other = await ask('GET', `/submissions/${token}/files/people`, {
    headers: { accept: 'application/x-ndjson' },
  })
  expect([other.status, other.headers.etag]).toEqual([200, expect.not.stringMatching(`^${headers.etag}$`)])
  for (const etag of ['*', String(headers.etag), String(other.headers.etag)])
    expect((await put(token, 'people', 'localId\n1\n', { 'if-none-match': etag })).status).toBe(412)
  expect((await ask('GET', `/submissions/${token}/files/people`)).text).toBe(PEOPLE)
})

test('a key that may only send files learns what became of them', async () => {
  const { service, createCaller } = await startSubmissions(makeSmallDefinition())
  const sender = await createCaller('sender', ['1001'], ['submissions:write'])
  const token = await sender.create()
  const sent = await service.app.inject({
    method: 'PUT',
    url: `/v1/submissions/${token}/files/people`,
    headers: { 'x-api-key': sender.key, eid: '1001', 'content-type': 'text/csv', prefer: 'respond-async' },
    payload: PEOPLE,
  })
  expect(sent.statusCode).toBe(202)
  while (await service.files.takeOne());
  const path = String(sent.headers.location).slice('/v1'.length)
  expect((await sender.ask('GET', path)).body).toMatchObject({
    status: 'Processed',
    files: [{ file: 'people' }],
  })
  expect((await sender.ask('GET', `/submissions/${token}/files/people`)).status).toBe(401)
  const other = await createCaller('other', ['1001'], ['occupations:read'])
  expect((await other.ask('GET', path)).status).toBe(401)
})

test('of two uploads on the same condition, which wait to be read together, one replaces the file', async () => {
  const { service, key, ask, create } = await start()
  const token = await create()
  const send = async (content: string, condition: object) =>
    (
      await service.app.inject({
        method: 'PUT',
        url: `/v1/submissions/${token}/files/people`,
        headers: {
          'x-api-key': key,
          eid: '1001',
          'content-type': 'text/csv',
          prefer: 'respond-async',
          ...condition,
        },
        payload: content,
      })
    ).json().jobId as string
  /** Of the work for both, in this order. */
  const sendBoth = async (contents: readonly string[], condition: object) => {
    const ids: string[] = []
    for (const content of contents) ids.push(await send(content, condition))
    // What waits is kept.
    await sweep(service.database)
    while (await service.files.takeOne());
    const jobs = ids.map(async (id) => (await ask('GET', `/submissions/${token}/jobs/${id}`)).body.status)
    return await Promise.all(jobs)
  }
  const other = 'localId,id,group,age\n9,A9,G1,20\n'
  expect(await sendBoth([PEOPLE, other], { 'if-none-match': '*' })).toEqual(['Processed', 'Halted'])
  const { text, headers } = await ask('GET', `/submissions/${token}/files/people`)
  expect(text).toBe(PEOPLE)
  const condition = { 'if-match': headers.etag }
  expect(await sendBoth([other, PEOPLE], condition)).toEqual(['Processed', 'Halted'])
})

test('a deleted submission is gone at once, and its token is known as cancelled', async () => {
  const { service, ask, create, put, validate, work } = await start()
  const token = await create()
  await put(token, 'people', PEOPLE)
  await work()
  await validate(token)
  const deleted = await ask('DELETE', `/submissions/${token}`)
  expect([deleted.status, deleted.body]).toEqual([
    200,
    expect.objectContaining({ submissionToken: token, submissionStatus: 'Cancelled' }),
  ])
  for (const path of [
    '/files/people',
    '/validation-results',
    '/validation-results/summary',
    '/validation-results/causes',
    '/validation-results/changes',
    '/validation-results/findings',
    '/validation-results/learners',
    '/validation-runs',
    '/validation-runs/1',
    '/explanations',
    '/explanations/PER-04-range',
    '/receipt',
    '/repairs',
    '/marked-files',
    '/corrected-files',
    '/jobs/unknown',
  ])
    expect([path, (await ask('GET', `/submissions/${token}${path}`)).status]).toEqual([path, 410])
  expect((await put(token, 'people', PEOPLE)).status).toBe(410)
  const left = (await ask('GET', `/submissions/${token}`)).body
  expect(left.submissionStatus).toBe('Cancelled')
  expect(left).not.toHaveProperty('files')
  expect((await ask('POST', '/submissions', { payload: { returnId: '202512' } })).status).toBe(201)
  expect(service.log.join('')).not.toContain(token)
})

test('an expired submission accepts nothing more, and each queue is bounded', async () => {
  const { service, key, ask, create, put } = await start()
  const token = await create()
  await put(token, 'people', PEOPLE)
  await service.database.write('catalogue', (writer) =>
    writer.run('update submission set expires = 1 where token = $1', [token]),
  )
  expect((await put(token, 'people', PEOPLE)).status).toBe(409)
  expect((await ask('GET', `/submissions/${token}`)).body.submissionStatus).toBe('Closed')
  const second = await create('202604')
  await put(second, 'people', PEOPLE)
  const request = () => ask('POST', `/submissions/${second}/validation-runs`)
  /** Without anybody who does the work. */
  const send = async (method: 'GET' | 'PUT', path: string) => {
    const url = `/v1/submissions/${second}/${path}`
    const headers = { 'x-api-key': key, eid: '1001', 'content-type': 'text/csv', prefer: 'respond-async' }
    const sent = await service.app.inject({ method, url, headers, payload: PEOPLE })
    return { status: sent.statusCode, headers: sent.headers }
  }
  const fill = (kind: string, eid: string, count: number) =>
    service.database.write('schema', (writer) =>
      writer.run(
        `with recursive number (n) as (select 1 union all select n + 1 from number where n < ${count})
         insert into job (kind, subject, eid, turn, queued, due, attempts)
         select '${kind}', '${eid}/' || n, '${eid}', n, 0, 0, 0 from number`,
      ),
    )
  const empty = () => service.database.write('schema', (writer) => writer.run('delete from job'))
  for (const [kind, demand] of [
    ['upload', () => send('PUT', 'files/people')],
    ['copies', () => send('GET', 'repairs')],
    ['run', request],
  ] as const) {
    await fill(kind, '1001', MOST_WAITING_OF_ONE)
    const own = await demand()
    expect([kind, own.status, own.headers['retry-after']]).toEqual([kind, 429, '30'])
    await empty()
    await fill(kind, 'other', MOST_WAITING)
    const all = await demand()
    expect([kind, all.status, all.headers['retry-after']]).toEqual([kind, 503, '30'])
    await empty()
  }
  expect((await request()).status).toBe(202)

  // So is the list of runs, whoever requests and cancels them without end.
  const runs = `/submissions/${second}/validation-runs`
  for (let runId = 1; runId <= 12; runId++) {
    const { body } = await request()
    expect((await ask('DELETE', `${runs}/${body.runId}`)).body).toMatchObject({ runId, status: 'Cancelled' })
  }
  const { results } = (await ask('GET', runs)).body
  expect(results.map((run: { runId: number }) => run.runId)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3])
})

test('a page past the last one is refused by every list, and page 1 always exists', async () => {
  const { ask, create } = await start()
  const token = await create()
  for (const path of ['/submissions', `/submissions/${token}/activity`, '/returns'])
    expect([path, await ask('GET', `${path}?page=2`)]).toMatchObject([
      path,
      { status: 400, body: { errorCode: 'PR2', detail: 'page is 2, past the last page, 1.' } },
    ])
  expect((await ask('GET', '/returns')).body).toMatchObject({ results: [], totalCount: 0 })
})

test('the rules of a definition and the credential itself need no EID', async () => {
  const { service, ask } = await start()
  const rules = await ask('GET', '/rules', { headers: { eid: undefined } })
  expect(rules.body.definition).toMatchObject({ name: 'small', version: '1.0.0' })
  expect(rules.body.rules.map(({ code }: { code: string }) => code)).toContain('PER-04-range')
  const one = await ask('GET', '/rules/PER-04-range')
  expect(one.body).toMatchObject({ code: 'PER-04-range', severity: 'Error', fields: ['age'] })
  expect((await ask('GET', '/rules/PER-99-none')).status).toBe(404)
  const { key } = await service.createKey({ scopes: ['occupations:read'], eids: ['5'] })
  const me = await ask('GET', '/me', { headers: { 'x-api-key': key, eid: undefined } })
  expect(me.body).toMatchObject({ clientId: 'other', scopes: ['occupations:read'], eids: ['5'] })
})

test('the credential shows what is left for an organisation, and looking uses up nothing of that', async () => {
  const { ask } = await start({ RATE_LIMIT_SUBMISSIONS: '5/60', RATE_LIMIT_OCCUPATIONS: '7/60' })
  const left = async () => {
    const { body } = await ask('GET', '/me')
    return (body.limits as { name: string; remaining: number; reset: number }[]).flatMap(
      ({ name, remaining, reset }) => (reset >= 1 && reset <= 60 ? [`${name} ${remaining}`] : []),
    )
  }
  expect((await left()).slice(0, 2)).toEqual(['occupations 7', 'submissions 5'])
  await ask('GET', '/occupations')
  await ask('GET', '/submissions')
  expect((await left()).slice(0, 2)).toEqual(['occupations 6', 'submissions 4'])
})

test('a file that is replaced and deleted once a reader has found it is read in its new state', async () => {
  const { service, ask, create, put } = await start()
  const token = await create()
  await put(token, 'people', 'localId,id,group,age\n1,OLD,G1,20\n')
  const all = service.database.all.bind(service.database)
  const meanwhile = [
    async () => {
      await put(token, 'people', 'localId,id,group,age\n1,NEW,G1,20\n')
      await sweep(service.database)
    },
  ]
  const interrupted: typeof all = async (sql, parameters) => {
    const rows = await all(sql, parameters)
    if (sql.includes('from submission_file f join file_version')) await meanwhile.shift()?.()
    return rows as never
  }
  Object.assign(service.database, { all: interrupted })
  const file = await ask('GET', `/submissions/${token}/files/people`)
  expect([file.status, file.text, meanwhile.length]).toEqual([200, expect.stringContaining('NEW'), 0])
})

test('the log contains nothing from a record, whatever is refused', async () => {
  const { service, ask, create, put, validate, work } = await start()
  const token = await create()
  const secret = 'Kereru7391'
  await put(token, 'people', `localId,id,group,age\n${secret},${secret},${secret},x\n`)
  await put(token, 'people', `{"localId":"${secret}"}\n{"${secret}`, {
    'content-type': 'application/x-ndjson',
  })
  await ask('POST', `/submissions/${token}/records/people`, {
    payload: { content: [{ localId: 5, id: secret }] },
  })
  await ask('POST', `/submissions/${token}/records/people`, {
    payload: `{"content": "${secret}`,
    headers: { 'content-type': 'application/json' },
  })
  const { log } = await work()
  await validate(token)
  await ask('GET', `/submissions/${token}/validation-results?Filter.StudentId=${secret}`)
  expect(service.log.join('') + JSON.stringify(log)).not.toContain(secret)
})

test('a file comes as CSV or NDJSON, whichever the caller prefers', async () => {
  const { ask, create, put } = await start()
  const token = await create()
  await put(token, 'people', 'localId,id,group,age\n1,"A,1",G1,20\n')
  const at = `/submissions/${token}/files/people`
  const csv = await ask('GET', `${at}.ndjson`)
  expect(csv.text).toBe('localId,id,group,age\n1,"A,1",G1,20\n')
  // The name is the definition's, whatever the path has.
  expect(csv.headers['content-disposition']).toBe('attachment; filename="people.csv"')
  expect(csv.headers['cache-control']).toBe('private, no-store')
  // The second one is the type that Mahi sends.
  for (const accept of ['application/x-ndjson', 'application/x-ndjson; charset=utf-8'])
    expect((await ask('GET', at, { headers: { accept } })).text).toBe(
      '{"localId":"1","id":"A,1","group":"G1","age":"20"}\n',
    )
  await put(token, 'people', '{"localId":"1","age":20,"id":"A\\"1"}\n', {
    'content-type': 'application/x-ndjson',
  })
  expect((await ask('GET', at)).headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  expect((await ask('GET', at, { headers: { accept: 'text/csv' } })).text).toBe(
    'localId,id,age\r\n1,"A""1",20\r\n',
  )
})

test.each([{}, { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}` }])(
  'names in an archive are stored as its files are, with %j',
  async (environment) => {
    const { service, ask, create } = await start(environment)
    const payload = Buffer.from(await pack({ 'people.csv': PEOPLE, 'Kereru7391.csv': 'a\n' }))
    const headers = { 'content-type': 'application/zip' }
    const { body } = await ask('PUT', `/submissions/${await create()}/files`, { payload, headers })
    expect(body.files[0].notes.join()).toContain('Kereru7391')
    const { database } = service
    const stored: string[] = []
    for (const { name } of await database.all<{ name: string }>(database.dialect.tables))
      stored.push(JSON.stringify(await database.all(`select * from ${name}`)))
    expect(stored.join().includes('Kereru7391')).toBe(Object.keys(environment).length === 0)
  },
)

test('what needs a look into a file is 202 with the URL of the work for a caller who does not wait', async () => {
  const { service, key, ask, create, put } = await start()
  const token = await create()
  await put(token, 'people', PEOPLE)
  const at = '/v1/submissions/{submissionToken}'
  const archive = Buffer.from(await pack({ 'people.csv': PEOPLE }))
  const requests: Readonly<Record<string, { payload?: string | Buffer; headers?: Record<string, string> }>> =
    {
      [`GET ${at}/files/{fileType}`]: { headers: { accept: 'application/x-ndjson' } },
      [`GET ${at}/marked-files`]: {},
      [`GET ${at}/corrected-files`]: {},
      [`GET ${at}/repairs`]: {},
      [`POST ${at}/repairs`]: {},
      [`PUT ${at}/files`]: { payload: archive, headers: { 'content-type': 'application/zip' } },
      [`PUT ${at}/files/{fileType}`]: { payload: PEOPLE, headers: { 'content-type': 'text/csv' } },
    }
  const { paths } = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as {
    paths: Record<string, Record<string, { responses?: object; parameters?: { name: string }[] }>>
  }
  const declared = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses = {}, parameters = [] }]) =>
      '202' in responses && parameters.some(({ name }) => name === 'Prefer')
        ? [`${method.toUpperCase()} ${path}`]
        : [],
    ),
  )
  expect(declared.sort()).toEqual(Object.keys(requests).sort())
  const locations: string[] = []
  for (const [name, { payload, headers }] of Object.entries(requests)) {
    const [method = '', path = ''] = name.split(' ')
    const { statusCode, ...response } = await service.app.inject({
      method: method as 'GET',
      url: path.replace('{submissionToken}', token).replace('{fileType}', 'people'),
      headers: { 'x-api-key': key, eid: '1001', prefer: 'respond-async', ...headers },
      ...(payload !== undefined && { payload }),
    })
    const { jobId } = response.json()
    expect([statusCode, response.headers.location], name).toEqual([
      202,
      `/v1/submissions/${token}/jobs/${jobId}`,
    ])
    locations.push(String(response.headers.location))
  }
  for (const location of locations) {
    const { status, body } = await ask('GET', location.slice('/v1'.length))
    expect([status, body.jobId]).toEqual([200, location.split('/').at(-1)])
  }
  // Work of another submission, which can be another organisation's.
  const own = await create('202512', { eid: '1002' })
  const [jobId] = locations.map((location) => location.split('/').at(-1))
  const foreign = await ask('GET', `/submissions/${own}/jobs/${jobId}`, { headers: { eid: '1002' } })
  expect([foreign.status, foreign.body.type]).toEqual([404, '/problems/no-such-work'])
})

test('everybody who asks for work that is refused is told why, also after somebody else was', async () => {
  const { service, key, ask, create, put } = await start()
  const token = await create()
  await put(token, 'people', 'localId,id,group,age\n1,A"1,G1,20\n')
  const headers = { accept: 'application/x-ndjson' }
  const path = `/submissions/${token}/files/people`
  const own = { 'x-api-key': key, eid: '1001', ...headers, prefer: 'respond-async' }
  // No worker is there.
  const askLater = () => service.app.inject({ url: `/v1${path}`, headers: own })
  const later = await askLater()
  expect(later.statusCode).toBe(202)
  const told = await ask('GET', path, { headers })
  expect([told.status, told.body.detail]).toEqual([409, expect.stringContaining('available as CSV only')])
  const job = await ask('GET', String(later.headers.location).slice('/v1'.length))
  expect(job.body).toMatchObject({ status: 'Halted', reason: told.body.detail })
  // The next request tries again.
  const again = await askLater()
  expect([again.statusCode, again.headers.location]).toEqual([202, expect.not.stringMatching(job.body.jobId)])
})

test('a run whose findings take too many bytes says everywhere that they are partial', async () => {
  const { ask, create, put, validate, work } = await start()
  await work({ limits: { findingsBytes: 50_000 } })
  const token = await create()
  const lines = Array.from({ length: 1000 }, (_, index) => `${index},A${index % 10},,${index < 20 ? 12 : 20}`)
  await put(token, 'people', `localId,id,group,age\n${lines.join('\n')}\n`)
  const run = await validate(token)
  expect(run).toMatchObject({ errorCount: 1010, partial: true })
  expect(run.totalCount).toBeLessThan(400)
  const base = `/submissions/${token}/validation-results`
  const { body: summary } = await ask('GET', `${base}/summary`)
  expect(summary).toMatchObject({ partial: true, errorCount: 1010, totalCount: run.totalCount })
  const [most, fewest] = summary.codes as { errorCode: string; count: number; stored?: number }[]
  expect(most).toMatchObject({ count: 990, stored: run.totalCount - 20 })
  // A code that needs less than its share has all its findings.
  expect([fewest?.count, fewest?.stored]).toEqual([20, undefined])
  for (const accept of ['text/csv', 'application/x-ndjson']) {
    const { headers } = await ask('GET', base, { headers: { accept } })
    expect([headers['found-count'], headers['total-count']]).toEqual(['1010', String(run.totalCount)])
  }
  expect((await ask('GET', base)).body.totalCount).toBe(run.totalCount)
})

describe('uploads that stall', () => {
  /** Begins an upload and sends only a part of it. */
  async function stall(service: Service, key: string, eid: string, token: string) {
    const connection = await Connection.open(service)
    const head = `PUT /v1/submissions/${token}/files/people HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nEID: ${eid}\r\n`
    return connection.send(`${head}Content-Type: text/csv\r\nContent-Length: 100000\r\n\r\nlocalId\n`)
  }

  test('a key takes its share of the slots, whatever organisations it covers, and leaves the rest to others', async () => {
    const { service, create, put } = await start()
    const eids = ['21', '22', '23']
    const { key } = await service.createKey({ scopes: ['submissions:write'], eids })
    const uploads = service.app.slots.uploads
    for (let index = 0; index < 12; index++) {
      const eid = eids[index % 3] ?? ''
      const token = await create(`2024${10 + index}`, { 'x-api-key': key, eid })
      const stalled = await stall(service, key, eid, token)
      if (index < 8) await until(() => (uploads.used > index ? true : undefined))
      else expect((await stalled.read()).status).toBe(429)
    }
    expect(uploads.used).toBe(8)
    expect((await put(await create(), 'people', PEOPLE)).status).toBe(200)
  })
})

test('a file that looks like another one is stored as the check reads it, so that batches do too', async () => {
  const { ask, create, put } = await start()
  const token = await create()
  const path = `/submissions/${token}/files/people`
  expect((await put(token, 'people', 'localId,id\rL1,A1\r')).body).toMatchObject({ records: 1 })
  expect((await ask('GET', path)).text).toBe('localId,id\nL1,A1\n')
  expect((await put(token, 'people', '{"localId":"L1"}\n')).body).toMatchObject({ records: 1 })
  expect((await ask('GET', path)).headers['content-type']).toContain('application/x-ndjson')
})

test('JSON that is nested too deeply is a fault of what was sent', async () => {
  const { ask, create, put } = await start()
  const token = await create()
  const records = `/submissions/${token}/records/people`
  const ndjson = { 'content-type': 'application/x-ndjson' }
  const json = { 'content-type': 'application/json' }
  for (const levels of [101, 5_000, 60_000]) {
    const lists = '['.repeat(levels) + ']'.repeat(levels)
    const objects = '{"a":'.repeat(levels) + 1 + '}'.repeat(levels)
    const upload = await put(token, 'people', `{"localId":"L1"}\n{"localId":${lists}}\n`, ndjson)
    expect([upload.status, upload.body.records]).toEqual([200, 2])
    // A finding of the check; as CSV, it would be lost.
    const csv = await ask('GET', `/submissions/${token}/files/people`, { headers: { accept: 'text/csv' } })
    expect([csv.status, csv.body.detail]).toEqual([
      409,
      'Line 2 of the file is nested more than 100 levels deep. The file is available as NDJSON only.',
    ])
    for (const value of [lists, objects]) {
      const payload = `{"content":[{"localId":"L1","x":${value}}]}`
      const { status, body } = await ask('POST', records, { payload, headers: json })
      expect([status, body.detail]).toEqual([400, 'The body is nested more than 100 levels deep.'])
    }
  }
})
