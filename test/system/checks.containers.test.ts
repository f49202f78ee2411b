import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Containers } from '../../src/engines/checking/unpack.ts'
import { splitRecord } from '../../src/engines/records/index.ts'
import { InstallationHere } from '../support/command-here.ts'
import { pack } from '../support/pack.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { makeXlsx, type XlsxCell } from '../support/xlsx.ts'

const SAMPLES = join(import.meta.dirname, '../../samples/sdr')
const read = (folder: string, name: string) => readFileSync(join(SAMPLES, folder, name))
const FILES = ['learners', 'courses', 'enrolments', 'course-completions', 'qualification-completions']

interface Report {
  errors: number
  causes: { sentence: string; findings: number; example: { file: string; line: number; value?: string } }[]
  fixed?: { files: string[] }
}

async function check(mahi: InstallationHere, ...args: string[]): Promise<Report> {
  const { stdout, stderr, code } = await mahi.run(['check', ...args, '--json'])
  expect(code, stderr).toBeLessThan(2)
  return JSON.parse(stdout) as Report
}

/** The rows of a CSV file whose cells have no line breaks, as text cells. */
function toRows(folder: string, file: string): string[][] {
  const lines = read(folder, `${file}.csv`).toString('utf8').trim().split('\n')
  return lines.map((line) => splitRecord(line, ',') ?? [])
}

const SMALL = { learners: 61, courses: 41, enrolments: 201 }

test('a ZIP archive is checked like its files, in one folder or none, whatever a system added', async () => {
  const mahi = new InstallationHere()
  for (const prefix of ['', 'my return/']) {
    const names = readdirSync(join(SAMPLES, 'as-exported'))
    const files = names.map((name) => [`${prefix}${name}`, read('as-exported', name)] as const)
    const junk = { '__MACOSX/._learners.csv': 'x', [`${prefix}.DS_Store`]: 'x' }
    writeFileSync(join(mahi.folder, 'return.zip'), await pack({ ...Object.fromEntries(files), ...junk }))
    const packed = await check(mahi, 'return.zip')
    const plain = await check(mahi, join(SAMPLES, 'as-exported'))
    expect(packed.errors).toBe(plain.errors)
    expect(
      packed.causes.map(({ sentence, findings }) => [sentence.replaceAll('return.zip/', ''), findings]),
    ).toEqual(plain.causes.map(({ sentence, findings }) => [sentence, findings]))
    const dates = packed.causes.find(({ example }) => example.value === '06/03/2025')
    expect(dates?.example).toMatchObject({ file: 'return.zip/enrolments.csv', line: 2 })
  }
})

test('a Data Package in a ZIP archive is checked against its own descriptor', async () => {
  const mahi = new InstallationHere()
  const descriptor = {
    name: 'towns',
    resources: [
      {
        name: 'towns',
        path: 'data/towns.csv',
        schema: { fields: [{ name: 'people', type: 'integer' }] },
      },
    ],
  }
  const files = { 'p/datapackage.json': JSON.stringify(descriptor), 'p/data/towns.csv': 'people\n12\nmany\n' }
  writeFileSync(join(mahi.folder, 'package.zip'), await pack(files))
  const { causes } = await check(mahi, 'package.zip')
  expect(causes.map(({ example }) => example)).toMatchObject([
    { file: 'package.zip/data/towns.csv', line: 3, value: 'many' },
  ])
})

test.each([
  ['a damaged archive', async () => Buffer.from('PK\u0003\u0004 and no more'), /return\.zip: is not a ZIP/],
  [
    'a cut end',
    async () => (await pack({ 'learners.csv': read('clean', 'learners.csv') })).subarray(0, 5000),
    /return\.zip: is not a ZIP/,
  ],
  [
    'a damaged workbook',
    async () => await pack({ 'courses.xlsx': 'PK\u0003\u0004' }),
    /^return\.zip\/courses\.xlsx: is not a spreadsheet/,
  ],
  ['a path outside', async () => await pack({ '../outside.csv': 'x' }), /outside of the archive/],
  ['one file twice', async () => await pack({ 'a.csv': 'x', './a.csv': 'y' }), /is twice/],
  ['no file of a return', async () => await pack({ 'a.csv': 'x' }), /^return\.zip: has none of the files/],
  ['nothing', async () => await pack({}), /empty ZIP|is not a ZIP/],
] as const)('an archive with %s is refused in a sentence, and nothing is left', async (_, make, reason) => {
  const mahi = new InstallationHere()
  writeFileSync(join(mahi.folder, 'return.zip'), await make())
  const { code, stderr } = await mahi.run(['check', 'return.zip'])
  expect(code).toBe(2)
  expect(stderr).toMatch(reason)
  expect(stderr).not.toMatch(/\n\s+at /)
})

test('an archive that unpacks to too much is refused before the disk is full', async () => {
  const containers = new Containers({ unpackedBytes: 1e6, files: 3 })
  onTestFinished(() => containers.remove())
  const bomb = join(temporaryFolder(), 'bomb.zip')
  writeFileSync(bomb, await pack({ 'learners.csv': new Uint8Array(5e7) }))
  await expect(containers.openArchives([bomb])).rejects.toThrow(/unpacks to more than 1000000 bytes/)
  writeFileSync(bomb, await pack({ a: 'a', b: 'b', c: 'c', d: 'd' }))
  await expect(containers.openArchives([bomb])).rejects.toThrow(/more than 3 files/)
})

test('a workbook with a sheet for each file is checked like the files', async () => {
  const mahi = new InstallationHere()
  writeFileSync(
    join(mahi.folder, 'Return 2025.xlsx'),
    makeXlsx({
      Notes: [['Prepared on Monday']],
      ...Object.fromEntries(FILES.map((file) => [file.replace('-', '_'), toRows('clean', file)])),
    }),
  )
  const { stdout, stderr, code } = await mahi.run(['check', 'Return 2025.xlsx'])
  expect([code, stdout.trim().split('\n').at(-1)]).toEqual([
    0,
    'No findings in the 5 files that were checked.',
  ])
  expect(stdout).toContain('Return 2025.xlsx/Notes was not read')
  expect(stderr).toContain('The file Return 2025.xlsx/course_completions was read as course-completions.csv.')
})

test('a sheet is recognised by a title of the definition, or named with --file', async () => {
  const mahi = new InstallationHere()
  const sheets = Object.fromEntries(FILES.map((file) => [file, toRows('clean', file)]))
  const { courses = [], learners = [], ...others } = sheets
  writeFileSync(
    join(mahi.folder, 'return.xlsx'),
    makeXlsx({ 'Course register': courses, 'People 2': learners, ...others }),
  )
  const { stderr, stdout } = await mahi.run([
    'check',
    'return.xlsx',
    '--file',
    'learners=return.xlsx/People 2',
  ])
  expect(stdout.trim().split('\n').at(-1)).toBe('No findings in the 5 files that were checked.')
  expect(stderr).toContain(
    'The file return.xlsx/Course register was read as courses.csv, because its name is the title Course register.',
  )
  const { causes } = await check(mahi, 'return.xlsx')
  expect(causes[0]?.sentence).toBe(
    'return.xlsx/People 2 looks like learners.csv: rename it, or use --file learners="return.xlsx/People 2".',
  )
})

test('workbooks may be one for each file, in a folder beside other files', async () => {
  const mahi = new InstallationHere()
  mkdirSync(join(mahi.folder, 'mine'))
  for (const file of FILES) {
    const rows = toRows('clean', file)
    if (file === 'courses') writeFileSync(join(mahi.folder, 'mine/courses.csv'), read('clean', 'courses.csv'))
    else writeFileSync(join(mahi.folder, `mine/${file}.xlsx`), makeXlsx({ Sheet1: rows }))
  }
  const { stdout, code } = await mahi.run(['check', 'mine'])
  expect([code, stdout.trim().split('\n').at(-1)]).toEqual([
    0,
    'No findings in the 5 files that were checked.',
  ])
})

/** A sheet of enrolments of the clean return, some of whose cells a person wrote in another way. */
function makeEnrolments(change: (name: string, value: string, row: number) => XlsxCell): XlsxCell[][] {
  const [header = [], ...rows] = toRows('clean', 'enrolments').slice(0, SMALL.enrolments)
  return [
    header,
    ...rows.map((row, at) => row.map((cell, index) => change(header[index] ?? '', cell, at + 2))),
  ]
}

test('cells are read as a person would type them: codes, numbers, and dates in whatever form', async () => {
  const mahi = new InstallationHere()
  const serial = (date: string) => Math.round(Date.parse(date) / 86_400_000) + 25_569
  const book = (change: Parameters<typeof makeEnrolments>[0]) =>
    makeXlsx({ enrolments: makeEnrolments(change) })
  const only = ['--only', 'ENR-06-type', 'ENR-12-pattern', 'ENR-19-type', 'ENR-19-decimals']
  writeFileSync(
    join(mahi.folder, 'enrolments.xlsx'),
    book((name, value) => {
      if (name === 'courseStartDate') return { date: serial(value) }
      if (name === 'sourceOfFunding') return { number: Number(value), format: '00' }
      if (name === 'eftsFactor') return { xml: `<c><v>${Number(value) + 1e-18}</v></c>` }
      return value
    }),
  )
  expect((await check(mahi, 'enrolments.xlsx', ...only)).causes).toEqual([])
  // What the cells do not show is not there.
  writeFileSync(
    join(mahi.folder, 'enrolments.xlsx'),
    book((name, value, row) => {
      if (name === 'sourceOfFunding') return Number(value)
      if (name === 'eftsFactor' && row === 5) return { xml: '<c t="e"><v>#N/A</v></c>' }
      return value
    }),
  )
  const { causes } = await check(mahi, 'enrolments.xlsx', ...only)
  expect(causes.map(({ example: { value } }) => value).sort()).toEqual(['#N/A', '3'])
  expect(causes.find(({ example }) => example.value === '#N/A')?.example).toMatchObject({
    file: 'enrolments.xlsx/enrolments',
    line: 5,
  })
})

test('findings name the row of the sheet, below blank rows and line ends within cells', async () => {
  const mahi = new InstallationHere()
  const [header = [], first = [], ...rows] = makeEnrolments((name, value, row) =>
    name === 'attendance' && row === 9 ? '1' : value,
  )
  const note = [...header, 'mahi:note']
  const broken = [...first, 'Two\nlines\nhere']
  writeFileSync(
    join(mahi.folder, 'enrolments.xlsx'),
    makeXlsx({ enrolments: [[], note, broken, [], ...rows.map((row) => [...row, '']), [], []] }),
  )
  const { causes } = await check(mahi, 'enrolments.xlsx', '--only', 'ENR-10-enum', 'ENR-00-record')
  // Row 9 without the blank row before the header and the one behind the first record.
  expect(causes.map(({ example: { line, value } }) => [line, value])).toEqual([[11, '1']])
})

test('--fix and --mark write the sheets of a workbook as CSV, named like the files', async () => {
  const mahi = new InstallationHere()
  const rows = makeEnrolments((name, value) =>
    name === 'courseStartDate' ? value.replace(/^(\d+)-(\d+)-(\d+)$/, '$3/$2/$1') : value,
  )
  const book = makeXlsx({ enrolments: rows, courses: toRows('clean', 'courses') })
  writeFileSync(join(mahi.folder, 'return.xlsx'), book)
  const only = ['--only', 'ENR-06-type']
  expect((await check(mahi, 'return.xlsx', ...only)).errors).toBe(rows.length - 1)
  const { errors } = await check(mahi, 'return.xlsx', ...only, '--fix', 'fixed', '--mark', 'marked')
  expect(errors).toBe(0)
  const names = ['courses.csv', 'enrolments.csv']
  expect(readdirSync(join(mahi.folder, 'fixed')).sort()).toEqual([...names, 'mahi-changes.csv'])
  expect(readdirSync(join(mahi.folder, 'marked')).sort()).toEqual(names)
  expect(mahi.read('fixed/enrolments.csv')).toContain('2025-')
  expect(readFileSync(join(mahi.folder, 'return.xlsx')).equals(book)).toBe(true)
})

test('SARIF names the workbook in which a finding is', async () => {
  const mahi = new InstallationHere()
  writeFileSync(
    join(mahi.folder, 'return.xlsx'),
    makeXlsx({ enrolments: toRows('faulty', 'enrolments').slice(0, 60) }),
  )
  const { stdout } = await mahi.run(['check', 'return.xlsx', '--format', 'sarif'])
  const { runs } = JSON.parse(stdout) as { runs: { results: { locations: object[] }[] }[] }
  const uris =
    JSON.stringify(runs[0]?.results.map(({ locations }) => locations)).match(/"uri":"[^"]*"/g) ?? []
  expect(uris).toContain('"uri":"return.xlsx"')
  expect(uris.join()).not.toContain('mahi-unpack')
})

test('a marked workbook can be corrected and checked again', async () => {
  const mahi = new InstallationHere()
  await mahi.run(['check', join(SAMPLES, 'clean'), '--mark', 'marked', '--format', 'xlsx'])
  const { stdout, code } = await mahi.run(['check', 'marked/marked.xlsx'])
  expect([code, stdout.trim().split('\n').at(-1)]).toEqual([
    0,
    'No findings in the 5 files that were checked.',
  ])
})

test('a workbook that is too large or damaged is refused in a sentence', async () => {
  const mahi = new InstallationHere()
  const path = join(mahi.folder, 'return.xlsx')
  writeFileSync(path, Buffer.from('PK\u0003\u0004 and no more'))
  expect(await mahi.run(['check', 'return.xlsx'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/return\.xlsx: is not a spreadsheet in the XLSX format, or is damaged/),
  })
  writeFileSync(path, Buffer.alloc(21 * 1024 * 1024))
  expect((await mahi.run(['check', 'return.xlsx'])).stderr).toMatch(/save it as CSV/)
  const cells = '<c r="A1"><v>1</v></c>'.repeat(5_100_000)
  writeFileSync(path, await pack({ 'xl/worksheets/sheet1.xml': cells }))
  expect((await mahi.run(['check', 'return.xlsx'])).stderr).toMatch(/has more than 5000000 cells/)
})
