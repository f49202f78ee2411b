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

test('a publish prints the token, or with --json one object, and a second run takes the place of the first', async () => {
  const mahi = new Installation()
  const { code, stdout, stderr } = await mahi.run(publish('-'), { input: toLines(ENTRIES) })
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^[\w-]{32}\n$/)])
  expect(stderr).toMatch(/^Published run \d+: 2 entries\.\n$/)
  const token = stdout.trim()
  expect(await mahi.results(token)).toEqual(ENTRIES)
  const second = await mahi.run(publish('--json', '--token', token, '-'), { input: '[]' })
  expect([second.code, second.stderr]).toEqual([0, ''])
  expect(JSON.parse(second.stdout)).toEqual({
    submissionToken: token,
    returnId: 'R1',
    eid: '1001',
    runId: Number(/\d+/.exec(stderr)) + 1,
    totalCount: 0,
  })
  expect(await mahi.results(token)).toEqual([])
})

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
