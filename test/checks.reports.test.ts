import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { tabulateCauses } from '../src/engines/checking/report/cause-table.ts'
import { escapeText } from '../src/engines/checking/report/xml.ts'
import { replaceFile } from '../src/foundation/command-line/output-file.ts'
import { check, checkFolder } from './support/checking.ts'
import { renderReport as render } from './support/reports.ts'

/** Values that would break a report which does not escape them. */
const HOSTILE = '</script><b onclick="x">&amp;\u2028.'
const MEMBERS = `memberId,born,kind\nM1,"${HOSTILE.replaceAll('"', '""')}",01\nM\0,,\nM3,,9\n`
const LOANS = 'loanId,memberId,lent,returned\nL1,M1,2025-01-01,2025-03-01\n'

const checkHostile = () => check({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })

test('CSV opens in a spreadsheet: a byte order mark, a row for each finding, and no cell is a formula', async () => {
  const checked = await check({
    'members.csv': 'memberId,born,kind\n"=1+1",+2,@x\n',
    'book-loans.csv': 'loanId,memberId,lent,returned,fee\n',
  })
  const csv = await render('csv', checked)
  expect(csv.startsWith('\ufefferrorType,errorCode,errorDescription,file,line,field,value,')).toBe(true)
  const rows = parse(csv, { bom: true, columns: true }) as Record<string, string>[]
  expect(rows.map(({ errorCode, value, studentId }) => [errorCode, value, studentId])).toEqual([
    ['MEM-02-type', "'+2", "'=1+1"],
    ['MEM-03-enum', "'@x", "'=1+1"],
  ])
  expect(rows[0]).toMatchObject({ recordText: '"=1+1",+2,@x', line: '2', fileType: 'Learner' })
})

test('NDJSON is one finding a line, whatever its text', async () => {
  const { findings, text, ...checked } = await checkHostile()
  const lines = (await render('ndjson', { findings, text, ...checked })).trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual(findings)
})

test('--all has a line for each code, most frequent first', async () => {
  const checked = await check({
    'members.csv': 'memberId,born,kind\nM1,x,01\nM2,,9\nM3,,9\n',
    'book-loans.csv': 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n',
  })
  const lines = (await render('all', checked)).split('\n').filter((line) => /^(?:Error|Warning) /.test(line))
  expect(lines.map((line) => line.split(/\s{2,}/).slice(0, 5))).toEqual([
    ['Error', 'MEM-03-enum', '2', '66.7 %', '2'],
    ['Error', 'MEM-02-type', '1', '33.3 %', '1'],
    ['Warning', 'LOA-201', '1', '100.0 %', '1'],
  ])
})

test.each([
  ['<html><table>', 'The file is an HTML page, not CSV. Export it as CSV in UTF-8.'],
  ['memberId,born\n', 'The column kind is missing. Add the column, or export the file with it.'],
])('--all has the advice of the only fault of a file: %j', async (members, advice) => {
  const checked = await check({ 'members.csv': `${members}M1,\n`, 'book-loans.csv': LOANS })
  const lines = (await render('all', checked)).split('\n').filter((line) => line.endsWith(` ${advice}`))
  // It concerns no share of the records.
  expect(lines).toEqual([expect.not.stringContaining('%')])
})

test('a terminal shows at most 15 causes, and fits on one screen', async () => {
  const faulty = await checkFolder(join(import.meta.dirname, '../samples/sdr/faulty'), 'sdr')
  const lines = (await render('table', faulty)).trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(32)
  expect(lines.filter((line) => /^(?:Error|Warning) /.test(line))).toHaveLength(15)
  expect(lines.join('\n')).toMatch(/\nAnd \d+ more causes with \d+ findings\.\n/)
  const causes = Array.from({ length: 16 }, () => ({ findings: 1 }))
  expect(tabulateCauses(causes).at(-1)).toBe('And 1 more cause with 1 finding.')
  expect(lines.filter((line) => line.length > 300)).toEqual([])
  // Of a long line, what is wrong is cut, and not what to do.
  for (const { fix = '' } of faulty.summary.causes.slice(0, 15))
    expect(lines.filter((line) => line.endsWith(fix))).not.toEqual([])
})

test('JUnit XML is valid: a suite for each file, a case for each code, failures for errors only', async () => {
  const xml = await render('junit', await checkHostile())
  const partial = await render('junit', await check({ 'book-loans.csv': LOANS }))
  expect(partial).toContain('<skipped message="The file members.csv is missing."/>')
  const { errors } = await validateXML({
    xml: [
      { fileName: 'report.xml', contents: xml },
      { fileName: 'partial.xml', contents: partial },
    ],
    schema: [readFileSync(new URL('support/junit.xsd', import.meta.url), 'utf8')],
  })
  expect(errors).toEqual([])
  const suites = [...xml.matchAll(/<testsuite name="([^"]*)" tests="(\d+)" failures="(\d+)"/g)].map((match) =>
    match.slice(1),
  )
  expect(suites).toEqual([
    ['members.csv', '4', '3'],
    ['book-loans.csv', '3', '1'],
  ])
})

test('JUnit names the causes of each code, and what to do', async () => {
  const lines = Array.from({ length: 20 }, (_, index) => `M${index},${index < 12 ? '17/02/2025' : 'x'},01`)
  const xml = await render(
    'junit',
    await check({ 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` }),
  )
  const [, failure = ''] = /name="MEM-02-type">(.*?)<\/testcase>/s.exec(xml) ?? []
  expect(failure).toContain(
    'Cause: born: 12 of 20 values are in a form other than year-month-day (&quot;17/02/2025&quot;). Write dates as year-month-day, such as 2025-02-17. First: members.csv:2.',
  )
  expect(failure.match(/^.*Cause: .*$/gm)).toHaveLength(2)
})

test.each(['table', 'html', 'junit'] as const)('%s says that a code is partial', async (format) => {
  const text = await render(
    format,
    await check(
      { 'members.csv': MEMBERS.replace('M3', 'M3,x,\nM4'), 'book-loans.csv': LOANS },
      { findingsBytes: 1 },
    ),
  )
  expect(text).toContain('MEM-02-type is partial: the first 1 of its 2 findings are kept.')
})

test('the HTML report is one file that loads nothing, and no value becomes markup', async () => {
  const html = await render('html', await checkHostile())
  expect(html).toContain("default-src 'none'")
  expect(html).not.toMatch(/(?:src|href)="(?!https?:)/)
  expect(html).not.toContain('<b onclick')
  expect(html.match(/<\/script>/g)).toHaveLength(2)
  const [, data = ''] = /<script type="application\/json" id="data">([\s\S]*?)<\/script>/.exec(html) ?? []
  const rows = JSON.parse(data) as string[][]
  expect(rows.map(([code]) => code).sort()).toEqual([
    'LOA-00-header',
    'LOA-201',
    'MEM-00-record',
    'MEM-02-type',
    'MEM-03-enum',
  ])
  expect(rows.some((row) => row[7]?.includes('<b onclick'))).toBe(true)
})

test('the HTML report begins with the causes, and groups the records by cause', async () => {
  const lines = Array.from(
    { length: 1500 },
    (_, index) => `M${index % 1000},${index < 1200 ? 'x' : '17/02/2025'},`,
  )
  const checked = await check({ 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` })
  const html = await render('html', checked)
  const { causes } = checked.summary
  // The counts are complete, and the records are the first ones of each code and cause.
  expect(html).toContain('<td class="number" data-unit="findings">1,500</td>')
  expect(html).toContain('Of each code, this file has the first 1,000 findings, ')
  expect(causes.length).toBeGreaterThan(2)
  const places = causes.map(({ sentence }) => html.indexOf(`">${escapeText(sentence)}</p>`))
  expect(places).not.toContain(-1)
  expect(places).toEqual([...places].sort((one, other) => one - other))
  expect(places.at(-1)).toBeLessThan(html.indexOf('<h2>Codes</h2>'))
  for (const { fix = '', example } of causes) {
    expect(html).toContain(`<p>${escapeText(fix)}</p>`)
    expect(html).toContain(`>${example.file}:${example.line}</button>`)
  }
  const [, data = ''] = /id="data">([\s\S]*?)<\/script>/.exec(html) ?? []
  const numbers = (JSON.parse(data) as unknown[][]).map((row) => row[9] as number)
  expect(numbers).toEqual([...numbers].sort((one, other) => one - other))
  // The dates are all after the first 1,000 findings of their code.
  const dates = causes.findIndex(({ sentence }) => sentence.includes('year-month-day'))
  expect(numbers.filter((number) => number === dates)).toHaveLength(100)
})

test('a report without findings says so', async () => {
  const clean = await check({
    'members.csv': 'memberId,born,kind\nM1,,\n',
    'book-loans.csv': 'loanId,memberId,lent,returned,fee\n',
  })
  for (const format of ['table', 'html'] as const)
    expect(await render(format, clean)).toContain(
      'No findings in the 2 files that were checked; book-loans.csv has no records.',
    )
  // Which says nothing of a file that has only its header.
  for (const format of ['table', 'html', 'junit'] as const)
    expect(await render(format, clean)).toContain('book-loans.csv has no records.')
  const empty = await check({ 'members.csv': 'memberId,born,kind\n' })
  expect(await render('table', empty)).toContain('did not run; members.csv has no records.')
  expect(clean.summary.files.map(({ notes }) => notes)).toEqual([[], ['The file has no records.']])
  expect(await render('ndjson', clean)).toBe('')
})

test.skipIf(process.platform !== 'linux')(
  'a folder that accepts no files is not called missing',
  async () => {
    await expect(replaceFile('/proc/report.html', async () => undefined)).rejects.toThrow(
      '/proc/report.html cannot be written: nothing can be created in its folder. Name another folder',
    )
  },
)
