import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import type { Log } from 'sarif'
import { expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { summariseMessage } from '../src/engines/checking/explain.ts'
import { locateFiles } from '../src/engines/checking/report/locations.ts'
import { escapeText } from '../src/engines/checking/report/xml.ts'
import { replaceFile } from '../src/foundation/command-line/output-file.ts'
import { type Checked, check } from './support/checking.ts'
import { renderReport as render } from './support/reports.ts'

/** Values that would break a report which does not escape them. */
const HOSTILE = '</script><b onclick="x">&amp;\u2028.'
const MEMBERS = `memberId,born,kind\nM1,"${HOSTILE.replaceAll('"', '""')}",01\nM\0,,\nM3,,9\n`
const LOANS = 'loanId,memberId,lent,returned\nL1,M1,2025-01-01,2025-03-01\n'

const checkHostile = () => check({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })

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
    'Cause: born: 12 of 20 values are not written year-month-day (&quot;17/02/2025&quot;). Write dates as year-month-day, such as 2025-02-17. First: members.csv:2.',
  )
  expect(failure.match(/^.*Cause: .*$/gm)).toHaveLength(2)
})

test('JUnit has no placeholder of a message', async () => {
  const xml = await render(
    'junit',
    await check({ 'members.csv': 'memberId,born,kind\nM1,,\n', 'book-loans.csv': LOANS }),
  )
  expect(xml).toContain('The loan lasted 59 days')
  expect(xml).not.toMatch(/\{\w+\}/)
})

test.each(['table', 'html', 'junit', 'sarif'] as const)('%s says that a code is partial', async (format) => {
  const text = await render(
    format,
    await check(
      { 'members.csv': MEMBERS.replace('M3', 'M3,x,\nM4'), 'book-loans.csv': LOANS },
      { findingsBytes: 1 },
    ),
  )
  expect(text).toContain('MEM-02-type is partial: the first 1 of its 2 findings are kept.')
})

test('SARIF has a rule for each code and a result for each finding', async () => {
  const checked = await checkHostile()
  const { version, runs } = JSON.parse(await render('sarif', checked)) as Log
  expect([version, runs.length]).toEqual(['2.1.0', 1])
  const [run] = runs
  const sentences = new Map(checked.summary.causes.map(({ key, sentence }) => [key, sentence]))
  expect(run?.tool.driver.rules?.map(({ id }) => id)).toEqual(checked.summary.codes.map(({ code }) => code))
  expect(run?.results).toHaveLength(checked.findings.length)
  for (const [index, result] of (run?.results ?? []).entries()) {
    const finding = checked.findings[index]
    expect(result).toEqual({
      ruleId: finding?.errorCode,
      ruleIndex: run?.tool.driver.rules?.findIndex(({ id }) => id === finding?.errorCode),
      level: finding?.errorType === 'Error' ? 'error' : 'warning',
      message: { text: finding?.errorDescription },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: finding?.file, uriBaseId: '%SRCROOT%' },
            region: { startLine: finding?.line },
          },
        },
      ],
      relatedLocations: [expect.objectContaining({ message: { text: sentences.get(finding?.cause ?? '') } })],
      partialFingerprints: { 'findingKey/v1': finding?.findingKey },
      properties: {
        cause: finding?.cause,
        ...(finding?.field !== undefined && { field: finding.field }),
        ...(finding?.value !== undefined && { value: finding.value }),
      },
    })
  }
  expect(run?.properties?.causes).toEqual(checked.summary.causes)
  expect(existsSync(new URL(run?.tool.driver.informationUri ?? ''))).toBe(true)
})

test('SARIF names files relative to the folder of the command, or with their whole path', async () => {
  const urisOf = async (paths: readonly string[]) => {
    const locate = locateFiles(paths.map((path) => ({ resource: '', name: basename(path), path })))
    const { runs } = JSON.parse(await render('sarif', await checkHostile(), locate)) as Log
    const all = (runs[0]?.results ?? []).map(({ locations }) => locations?.[0]?.physicalLocation)
    return [...new Set(all.map((place) => JSON.stringify(place?.artifactLocation)))].map(
      (text) => JSON.parse(text) as object,
    )
  }
  expect(
    await urisOf(['returns/2025 Dec/members.csv', join(process.cwd(), 'returns/book-loans.csv')]),
  ).toEqual([
    { uri: 'returns/2025%20Dec/members.csv', uriBaseId: '%SRCROOT%' },
    { uri: 'returns/book-loans.csv', uriBaseId: '%SRCROOT%' },
  ])
  // A file of which there is no path is missing: it belongs beside the others.
  expect(await urisOf(['../elsewhere/members.csv'])).toEqual([
    { uri: pathToFileURL('../elsewhere/members.csv').href },
    { uri: pathToFileURL('../elsewhere/book-loans.csv').href },
  ])
})

test('a missing file of a package is located in the folder of the package', () => {
  const locate = locateFiles([{ resource: 'ages', name: 'data/ages.csv', path: 'population/data/ages.csv' }])
  expect(locate('data/ages.csv')).toBe('population/data/ages.csv')
  expect(locate('names.csv')).toBe('population/names.csv')
})

test('SARIF is valid by the schema of the standard, with and without gaps and a baseline', async () => {
  const { $schema, id, ...schema } = createRequire(import.meta.url)(
    '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json',
  ) as Record<string, object>
  const ajv = new Ajv({ strict: false, unicodeRegExp: false })
  formats.default(ajv)
  const validate = ajv.compile(schema)
  const listFaults = (text: string) => (validate(JSON.parse(text)) ? [] : validate.errors)

  const hostile = await checkHostile()
  const known: Checked = {
    ...hostile,
    findings: hostile.findings.map((finding, index) => ({
      ...finding,
      standing: index % 2 === 0 ? 'new' : 'open',
    })),
  }
  for (const checked of [hostile, known, await check({ 'book-loans.csv': LOANS })])
    expect(listFaults(await render('sarif', checked))).toEqual([])
  expect(listFaults('{"version":"2.1.0","runs":[{"results":[]}]}')).not.toEqual([])
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

test('the key of a cause with a long value, or a control character, is that of its findings', async () => {
  const long = 'x'.repeat(400)
  const values = [`${long}a`, `${long}b`, 'bell\u0007']
  const lines = Array.from({ length: 15 }, (_, index) => `M${index},,${values[index % 3]}`)
  // Where nearly all values were wrong, the column would be one cause.
  for (let index = 0; index < 15; index++) lines.push(`V${index},,01`)
  const { summary, findings } = await check({ 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` })
  const keys = summary.causes.map(({ key }) => key)
  expect(new Set(keys).size).toBe(3)
  expect(new Set(findings.map(({ cause }) => cause))).toEqual(new Set(keys))
  expect(Math.max(...keys.map(({ length }) => length))).toBeLessThanOrEqual(300)
})

test('a report of very many findings has all counts, and the first 1,000 records of each code', async () => {
  const lines = Array.from({ length: 1500 }, (_, index) => `M${index % 1000},x,`)
  const checked = await check({ 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` })
  const html = await render('html', checked)
  expect(html).toContain('<td class="number" data-unit="findings">1,500</td>')
  expect(html).toContain('Of each code, this file has the first 1,000 findings, ')
  const [, data = ''] = /id="data">([\s\S]*?)<\/script>/.exec(html) ?? []
  expect(JSON.parse(data)).toHaveLength(1500)
  const { runs } = JSON.parse(await render('sarif', checked)) as Log
  expect(runs[0]?.results).toHaveLength(1500)
  expect(JSON.stringify(runs[0]?.invocations)).toContain('1000 of 1500 findings are in this file')
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
  for (const format of ['table', 'html', 'sarif', 'junit'] as const)
    expect(await render(format, clean)).toContain('book-loans.csv has no records.')
  expect(clean.summary.files.map(({ notes }) => notes)).toEqual([[], ['The file has no records.']])
  expect(await render('ndjson', clean)).toBe('')
  expect(JSON.parse(await render('sarif', clean)).runs[0].results).toEqual([])
})

test('files without any record are not called checked', async () => {
  const empty = await check({
    'members.csv': 'memberId,born,kind\n',
    'book-loans.csv': 'loanId,memberId,lent,returned,fee\n',
  })
  for (const format of ['table', 'html'] as const)
    expect(await render(format, empty)).toContain(
      'Nothing was checked: members.csv and book-loans.csv have no records.',
    )
})

test.skipIf(process.platform !== 'linux')(
  'a folder that accepts no files is not called missing',
  async () => {
    await expect(replaceFile('/proc/report.html', async () => undefined)).rejects.toThrow(
      '/proc/report.html cannot be written: nothing can be created in its folder. Name another folder',
    )
  },
)

test('a heading leaves out the values of its findings, and does not end with four points', () => {
  expect(summariseMessage('There is no learner with the NSN "{NSN}".')).toBe(
    'There is no learner with the NSN …',
  )
  expect(summariseMessage('{field} is longer than {most} characters.')).toBe('… is longer than … characters.')
})
