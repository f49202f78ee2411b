import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import type { Log } from 'sarif'
import { expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { summariseMessage } from '../src/engines/checking/explain.ts'
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
            artifactLocation: { uri: finding?.file },
            region: { startLine: finding?.line },
          },
        },
      ],
      partialFingerprints: { 'findingKey/v1': finding?.findingKey },
    })
  }
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

test('a report of very many findings has all counts, and the first 1,000 records of each code', async () => {
  const lines = Array.from({ length: 1500 }, (_, index) => `M${index % 1000},x,`)
  const checked = await check({ 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` })
  const html = await render('html', checked)
  expect(html).toContain('<td class="number" data-unit="findings">1,500</td>')
  expect(html).toContain('Of each code, this file has the first 1,000 findings.')
  const [, data = ''] = /id="data">([\s\S]*?)<\/script>/.exec(html) ?? []
  expect(JSON.parse(data)).toHaveLength(1500)
  const { runs } = JSON.parse(await render('sarif', checked)) as Log
  expect(runs[0]?.results).toHaveLength(1500)
  expect(JSON.stringify(runs[0]?.invocations)).toContain('the first 1000 of 1500 findings')
})

test('a report without findings says so', async () => {
  const clean = await check({
    'members.csv': 'memberId,born,kind\nM1,,\n',
    'book-loans.csv': 'loanId,memberId,lent,returned,fee\n',
  })
  for (const format of ['table', 'html'] as const)
    expect(await render(format, clean)).toContain('No findings in the 2 files')
  expect(await render('ndjson', clean)).toBe('')
  expect(JSON.parse(await render('sarif', clean)).runs[0].results).toEqual([])
})

test('a heading leaves out the values of its findings, and does not end with four points', () => {
  expect(summariseMessage('There is no learner with the NSN "{NSN}".')).toBe(
    'There is no learner with the NSN …',
  )
  expect(summariseMessage('{field} is longer than {most} characters.')).toBe('… is longer than … characters.')
})
