import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ask, Installation, toLines } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'

const ENTRIES = [
  { localId: 'L1', errorCode: 'E1', errorType: 'Error', fileType: 'Course', recordText: 'a|b' },
  { localId: 'L2', errorCode: 'E2', errorType: 'Warning', fileType: 'Learner', studentId: 'S1' },
]
const TOKEN = 'submission-1'

const publish = (...parameters: string[]) => [
  'results',
  'publish',
  ...['--eid', '1001', '--return', 'R1', ...parameters],
]

test('a publish prints the token on standard output, and the rest on standard error', async () => {
  const mahi = new Installation()
  const { code, stdout, stderr } = await mahi.run(publish('-'), { input: toLines(ENTRIES) })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^[\w-]{32}\n$/)
  expect(stderr).toMatch(/^Published run \d+: 2 entries\.\n$/)
  expect(await mahi.results(stdout.trim())).toEqual(ENTRIES)
})

test('with --json it prints one object', async () => {
  const mahi = new Installation()
  const { code, stdout, stderr } = await mahi.run(publish('--json', '--token', TOKEN, '-'), {
    input: toLines(ENTRIES),
  })
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({
    submissionToken: TOKEN,
    returnId: 'R1',
    eid: '1001',
    runId: expect.any(Number),
    totalCount: 2,
  })
})

test('every form of input is the same run, in its order', async () => {
  const mahi = new Installation()
  const files = [
    mahi.write(
      'a.csv',
      'localId,errorCode,errorType,fileType,recordText,studentId\nL1,E1,Error,Course,a|b,\nL2,E2,Warning,Learner,,S1\n',
    ),
    mahi.write('a.json', JSON.stringify(ENTRIES, null, 2)),
    mahi.write('a.ndjson.gz', gzipSync(toLines(ENTRIES))),
  ]
  for (const file of files) {
    const summary = (await mahi.runJson(publish(file))) as { submissionToken: string }
    expect(await mahi.results(summary.submissionToken)).toEqual(ENTRIES)
  }
})

test('a second run takes the place of the first; one without entries is a submission without findings', async () => {
  const mahi = new Installation()
  const again = publish('--token', TOKEN, '-')
  const first = (await mahi.runJson(again, { input: toLines(ENTRIES) })) as { runId: number }
  const second = (await mahi.runJson(again, { input: '[]' })) as { runId: number }
  expect(second.runId).toBeGreaterThan(first.runId)
  expect(second).toMatchObject({ submissionToken: TOKEN, totalCount: 0 })
  expect(await mahi.results(TOKEN)).toEqual([])
})

test('a faulty run is refused completely, and the previous run stays', async () => {
  const mahi = new Installation()
  await mahi.runJson(publish('--token', TOKEN, '-'), { input: toLines(ENTRIES) })
  const file = mahi.write(
    'bad.ndjson',
    `${toLines([...ENTRIES, { errorType: 'Fatal' }, { localid: 'L3' }, { studentId: 7 }])}{"localId":"L4","rec`,
  )
  const { code, stdout, stderr } = await mahi.run(publish('--token', TOKEN, file))
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr.replace(/\(Unterminated[^)]*\)/, '(…)')).toBe(
    [
      'bad.ndjson:3: errorType: must be Error or Warning',
      'bad.ndjson:4: has the unknown field "localid" (did you mean "localId"?)',
      'bad.ndjson:5: studentId: must be text, not a number',
      'bad.ndjson:6: The file ends inside a record (…). It is truncated or not JSON',
      'Nothing was stored: 4 faults.',
      '',
    ].join('\n'),
  )
  expect(await mahi.results(TOKEN)).toEqual(ENTRIES)
})

test('a submission stays with its organisation and its return', async () => {
  const mahi = new Installation()
  await mahi.runJson(publish('--token', TOKEN, '-'), { input: toLines(ENTRIES) })
  const others = ['results', 'publish', '--eid', '1002', '--return', 'R1', '--token', TOKEN, '--json', '-']
  const { code, stdout } = await mahi.run(others, { input: '[]' })
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual({
    faults: [
      {
        field: '--token',
        message:
          'belongs to a submission of EID "1001" and return "R1". Use those, or leave --token out to create a new submission',
      },
    ],
  })
  expect(await mahi.results(TOKEN)).toEqual(ENTRIES)
})

test('a run shows at once on a server that is running', async () => {
  const mahi = new Installation()
  const { url } = await mahi.serve()
  const { key } = (await mahi.runJson(['keys', 'create', '--client', 'sms', '--eid', '1001'])) as {
    key: string
  }
  const headers = { 'x-api-key': key, eid: '1001' }
  const address = `${url}/v1/submissions/${TOKEN}/validation-results`
  expect((await ask(address, headers)).status).toBe(401)
  for (const input of [toLines(ENTRIES), toLines(ENTRIES.slice(1))]) {
    await mahi.runJson(publish('--token', TOKEN, '-'), { input })
    const page = (await (await ask(address, headers)).json()) as { results: unknown }
    expect(page.results).toEqual(toEntries(input))
  }
})

function toEntries(lines: string): unknown[] {
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('the findings of mahi check are published as they are; what the operation does not send is stored beside', async () => {
  const mahi = new Installation()
  const finding = {
    ...ENTRIES[0],
    file: 'courses.csv',
    line: 7,
    field: 'courseCode',
    value: '1',
    findingKey: 'mK8cAzY2GvM5xQd0hR1bTw',
  }
  const { code } = await mahi.run(publish('--token', TOKEN, '-'), { input: toLines([finding, ENTRIES[1]]) })
  expect(code).toBe(0)
  expect(await mahi.results(TOKEN)).toEqual(ENTRIES)
})

test('published findings are encrypted and pruned as those of a validation run are', async () => {
  const mahi = new Installation()
  const secret = 'Kereru7391'
  const environment = { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}` }
  const entry = {
    localId: secret,
    errorCode: 'E1',
    errorType: 'Error',
    studentId: secret,
    recordText: secret,
  }
  for (let run = 0; run < 11; run++)
    await mahi.runJson(publish('--token', TOKEN, '-'), { input: toLines([entry]), environment })
  await withDatabase(mahi.databaseUrl, async (database) => {
    const kept = await database.all('select number, sealed from submission_run order by number')
    expect(kept).toEqual(Array.from({ length: 10 }, (_, index) => ({ number: index + 2, sealed: 'k1' })))
    expect(await database.all('select block from result_block where part = 0')).toHaveLength(2)
    for (const { name } of await database.all<{ name: string }>(database.dialect.tables))
      expect(JSON.stringify(await database.all(`select * from ${name}`)), name).not.toContain(secret)
  })
  const { url } = await mahi.serve(environment)
  const { key } = (await mahi.runJson(['keys', 'create', '--client', 'sms', '--eid', '1001'])) as {
    key: string
  }
  const address = `${url}/v1/submissions/${TOKEN}/validation-results?Filter.StudentId=${secret}`
  const page = (await (await ask(address, { 'x-api-key': key, eid: '1001' })).json()) as object
  expect(page).toMatchObject({ totalCount: 1, results: [entry] })
})
