import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'
import { parseLines } from '../support/lines.ts'

const record = (number: number, title = 'A title') => ({
  occupationCode: `O${String(number).padStart(5, '0')}`,
  titleEnglish: title,
  altJobTitlesEnglish: ['One, with a comma', 'Another "quoted"'],
})
const ndjson = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** Publishes the findings of a run for an organisation. */
const PUBLISH = 'results publish --eid 1001 --return R1 --token a-submission run.ndjson'.split(' ')

/** A server with so many records, and a key for it. */
async function serveRecords(count: number) {
  const installation = new Installation()
  installation.write('first.ndjson', ndjson(Array.from({ length: count }, (_, number) => record(number))))
  await installation.runJson(['occupations', 'import', 'first.ndjson'])
  const { key } = (await installation.runJson(['keys', 'create', '--client', 'mirror', '--eid', '1001'])) as {
    key: string
  }
  const { url } = await installation.serve({ LOG_LEVEL: 'info', RATE_LIMIT_OCCUPATIONS: 'off' })
  const environment = { MAHI_API_KEY: key }
  return {
    installation,
    url,
    environment,
    mirror: (...flags: string[]) => installation.run(['mirror', url, 'copy', ...flags], { environment }),
    copy: () => installation.read('copy/occupations.ndjson'),
    truth: () => installation.catalogue(),
  }
}

test('mirror writes JSON and CSV that hold the same records, and says whether anything has changed', async () => {
  const { installation, mirror, copy, truth } = await serveRecords(250)
  expect(await mirror('--format', 'json')).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Fetched revision 1; 250 records in .*occupations\.json\.$/m),
  })
  const records = parseLines(copy())
  expect(JSON.parse(installation.read('copy/occupations.json'))).toEqual(records)
  await mirror('--format', 'csv')
  const rows = parse(installation.read('copy/occupations.csv'), { columns: true }) as Record<string, string>[]
  expect(rows.length).toBe(records.length)
  expect(JSON.parse(rows[0]?.altJobTitlesEnglish ?? '')).toEqual(records[0]?.altJobTitlesEnglish)

  expect(await mirror()).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Unchanged: revision 1; 250 records in .*occupations\.ndjson\.$/m),
  })
  installation.write('one.ndjson', ndjson([record(3, 'Changed')]))
  await installation.runJson(['occupations', 'import', 'one.ndjson'])
  const expected = { revision: 2, total: 250, changed: true, file: 'copy/occupations.ndjson' }
  await expect.poll(async () => JSON.parse((await mirror('--json')).stdout)).toEqual(expected)
  expect(copy()).toBe(await truth())
})

test('mirror says what is wrong with a URL, and repeats no password', async () => {
  const installation = new Installation()
  const address = await installation.run(['mirror', 'careers.example', 'copy'])
  expect(address.code).toBe(1)
  expect(address.stderr).toBe(
    '<url>: must be a URL such as https://careers.example, not "careers.example". Is it https://careers.example?\n',
  )
  const withPassword = await installation.run(['mirror', 'http://user:secret@127.0.0.1', 'copy'])
  expect(withPassword.stderr).toContain('contains a user name or password')
  expect(withPassword.stderr).not.toContain('secret')
  expect(existsSync(join(installation.folder, 'copy', 'occupations.ndjson'))).toBe(false)
})

test('results fetch writes CSV that a spreadsheet opens rightly, and a summary', async () => {
  const { installation, url, environment } = await serveRecords(1)
  const entries = Array.from({ length: 2300 }, (_, number) => ({
    localId: `L${number}`,
    errorCode: number % 3 === 0 ? 'E-1' : 'E-2',
    errorType: number % 2 === 0 ? 'Error' : 'Warning',
    fileType: 'Learner',
    errorDescription: 'Te ingoa o te ākonga',
    recordText: number === 0 ? '=1+1' : number === 1 ? '-2+3' : `a,"${number}"`,
    file: 'learners.csv',
    line: number + 2,
    cause: 'value:learners.kind:=9',
  }))
  installation.write('run.ndjson', ndjson(entries))
  await installation.runJson(PUBLISH)

  const fetch = (...flags: string[]) =>
    installation.run(['results', 'fetch', url, 'a-submission', '--eid', '1001', ...flags], { environment })
  const csv = await fetch()
  expect(csv.code).toBe(0)
  expect(csv.stdout.charCodeAt(0)).toBe(0xfeff)
  const rows = parse(csv.stdout, { columns: true, bom: true }) as Record<string, string>[]
  expect(rows).toHaveLength(2300)
  expect(rows[0]).toMatchObject({
    localId: 'L0',
    recordText: "'=1+1",
    errorDescription: 'Te ingoa o te ākonga',
    file: 'learners.csv',
    line: '2',
    cause: 'value:learners.kind:=9',
  })
  expect(rows[1]?.recordText).toBe("'-2+3")
  expect(rows[2]?.recordText).toBe('a,"2"')
  expect(csv.stderr).toContain('2,300 entries')
  expect(csv.stderr).toMatch(/1,533 {2}E-2\n +767 {2}E-1/)
  expect(csv.stderr).toMatch(/1,150 {2}Error\n +1,150 {2}Warning/)

  const fields = ['localId', 'errorCode', 'errorDescription', 'errorType', 'fileType', 'recordText'] as const
  const order = [...fields, 'file', 'line', 'cause'] as const
  const expected = entries.map((entry) => Object.fromEntries(order.map((name) => [name, entry[name]])))
  expect(JSON.parse((await fetch('--format', 'json')).stdout)).toEqual(expected)
  expect((await fetch('--format', 'ndjson')).stdout).toBe(ndjson(expected))

  const foreign = await installation.run(['results', 'fetch', url, 'a-submission', '--eid', '2002'], {
    environment,
  })
  expect(foreign.code).toBe(1)
  expect(foreign.stderr).toContain('This key covers organisation 1001, not 2002')
})

test('a fetch of findings replaces a file as a whole, and a failed one writes nothing', async () => {
  const installation = new Installation()
  const entries = Array.from({ length: 45 }, (_, number) => ({ localId: `L${number}`, errorCode: 'E-1' }))
  installation.write('run.ndjson', ndjson(entries))
  await installation.runJson(PUBLISH)
  const { key } = (await installation.runJson(['keys', 'create', '--client', 'c', '--eid', '1001'])) as {
    key: string
  }
  // A service with low limits: the fetch takes the pages that it allows.
  const { url } = await installation.serve({ RESULTS_PAGE_SIZE_MAX: '10' })
  const fetch = (token: string, ...flags: string[]) =>
    installation.run(['results', 'fetch', url, token, '--eid', '1001', ...flags], {
      environment: { MAHI_API_KEY: key },
    })
  expect(await fetch('a-submission', '--output', 'findings.csv')).toMatchObject({ code: 0, stdout: '' })
  const whole = installation.read('findings.csv')
  expect(whole.trimEnd().split('\n')).toHaveLength(46)
  expect(statSync(join(installation.folder, 'findings.csv')).mode & 0o777).toBe(0o600)

  const failed = await fetch('no-such-token', '--output', 'findings.csv')
  expect([failed.code, failed.stdout]).toEqual([1, ''])
  expect(installation.read('findings.csv')).toBe(whole)
  expect(await fetch('no-such-token')).toMatchObject({ code: 1, stdout: '' })
  expect(await fetch('..')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('".." is not a valid token, code or name'),
  })
})
