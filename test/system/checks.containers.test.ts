import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'
import { pack } from '../support/pack.ts'
import { makeXlsx, packSheets } from '../support/xlsx.ts'

const SAMPLES = join(import.meta.dirname, '../../samples/sdr')
const read = (folder: string, name: string) => readFileSync(join(SAMPLES, folder, name))

interface Report {
  errors: number
  causes: { sentence: string; findings: number; example: { file: string; line: number; value?: string } }[]
}

async function check(mahi: Installation, ...args: string[]): Promise<Report> {
  const { stdout, stderr, code } = await mahi.run(['check', ...args, '--json'])
  expect(code, stderr).toBeLessThan(2)
  return JSON.parse(stdout) as Report
}

test('a return in a ZIP archive has the causes of its files, whose names show the archive', async () => {
  const mahi = new Installation()
  const files = readdirSync(join(SAMPLES, 'as-exported')).map((name) => [name, read('as-exported', name)])
  writeFileSync(join(mahi.folder, 'return.zip'), await pack(Object.fromEntries(files)))
  const packed = await check(mahi, 'return.zip')
  const plain = await check(mahi, join(SAMPLES, 'as-exported'))
  const describe = ({ causes }: Report) =>
    causes.map(({ sentence, findings }) => [sentence.replaceAll('return.zip/', ''), findings])
  expect(describe(packed)).toEqual(describe(plain))
  const dates = packed.causes.find(({ example }) => example.value === '06/03/2025')
  expect(dates?.example).toMatchObject({ file: 'return.zip/enrolments.csv', line: 2 })
})

test('--fix and --mark write the sheets of a workbook as CSV, named like the files, and keep the workbook', async () => {
  const mahi = new Installation()
  const toRows = (name: string) =>
    read('clean', `${name}.csv`)
      .toString('utf8')
      .trim()
      .split('\n')
      .slice(0, 200)
      .map((line) => line.replaceAll(/(\d{4})-(\d\d)-(\d\d)/g, '$3/$2/$1').split(','))
  const book = makeXlsx({ enrolments: toRows('enrolments') })
  writeFileSync(join(mahi.folder, 'return.xlsx'), book)
  const only = ['--only', 'ENR-06-type']
  expect((await check(mahi, 'return.xlsx', ...only)).errors).toBe(199)
  expect((await check(mahi, 'return.xlsx', ...only, '--fix', 'fixed', '--mark', 'marked')).errors).toBe(0)
  expect(readdirSync(join(mahi.folder, 'fixed')).sort()).toEqual(['enrolments.csv', 'mahi-changes.csv'])
  expect(readdirSync(join(mahi.folder, 'marked'))).toEqual(['enrolments.csv'])
  expect(mahi.read('fixed/enrolments.csv')).toContain('2025-')
  expect(readFileSync(join(mahi.folder, 'return.xlsx')).equals(book)).toBe(true)
})

test('a marked workbook can be corrected and checked again', async () => {
  const mahi = new Installation()
  await mahi.run(['check', join(SAMPLES, 'clean'), '--mark', 'marked', '--format', 'xlsx'])
  const { stdout, code } = await mahi.run(['check', 'marked/marked.xlsx'])
  expect([code, stdout.trim().split('\n').at(-1)]).toEqual([
    0,
    'No findings in the 5 files that were checked.',
  ])
})

test('a workbook with too many cells is refused in a sentence', async () => {
  const mahi = new Installation()
  const row = `<row>${'<c><v>1</v></c>'.repeat(10_200)}</row>`
  const sheet = `<worksheet><sheetData>${row.repeat(500)}</sheetData></worksheet>`
  writeFileSync(join(mahi.folder, 'return.xlsx'), await packSheets([sheet]))
  const { code, stderr } = await mahi.run(['check', 'return.xlsx'])
  expect([code, stderr]).toEqual([2, expect.stringMatching(/has more than 5000000 cells/)])
})
