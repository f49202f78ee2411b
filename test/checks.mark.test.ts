import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ValueType, Workbook } from '@cj-tech-master/excelts'
import readXlsx from 'read-excel-file/node'
import { expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { chooseMarkFolder, type MarkFormat, markFiles } from '../src/engines/checking/repair/mark.ts'
import { checkInputs, toInputs } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { define, writeDefinition } from './support/definition.ts'
import { requireProgram } from './support/require-program.ts'
import { hasSmallDisk, SmallDisk } from './support/small-disk.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'

const MEMBERS = 'memberId,born,kind\nM1,x,01\nM2,,9\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n'

/** Checks files, and writes marked copies of them. */
async function mark(
  content: Readonly<Record<string, string | Uint8Array>>,
  format: MarkFormat = 'csv',
  to = temporaryFolder(),
) {
  const definition = loadDefinition(writeDefinition())
  const files = toInputs({ 'book-loans.csv': LOANS, ...content })
  const { summary, findings, text } = await checkInputs(files, { definition })
  const marks = {
    format,
    summary,
    findings: join(writeFiles({ 'findings.ndjson': text }), 'findings.ndjson'),
  }
  const folders = { copies: to, temporary: temporaryFolder() }
  const names = await markFiles({ definition, files }, marks, folders)
  const copy = (name: string) => readFileSync(join(to, name), 'utf8')
  return { findings: findings.map(({ errorCode }) => errorCode), names, to, copy }
}

test('a marked file has the findings beside each row, and the line, severity and text of each', async () => {
  const { names, copy } = await mark({ 'members.csv': MEMBERS })
  expect([...names].sort()).toEqual(['book-loans.csv', 'members.csv'])
  expect(copy('members.csv').split('\n')).toEqual([
    '\ufeffmahi:line,mahi:severity,mahi:findings,memberId,born,kind',
    '2,Error,"MEM-02-type: born is ""x"", but must be a date such as 2025-02-17.",M1,x,01',
    '3,Error,"MEM-03-enum: kind is ""9"", but must be 01 or 02.",M2,,9',
    '',
  ])
  expect(copy('book-loans.csv')).toMatch(
    /\n2,Warning,"LOA-201: The loan lasted 59 days, until 2025-03-01.",L1,/,
  )
  // It can be checked, and marked again.
  const twice = await mark({ 'members.csv': copy('members.csv'), 'book-loans.csv': copy('book-loans.csv') })
  expect(twice.findings).toEqual(['MEM-02-type', 'MEM-03-enum', 'LOA-201'])
  expect((await mark({ 'members.csv': twice.copy('members.csv') })).findings).toEqual(twice.findings)
})

/** The rows of a marked file without what was added to them. */
const unmark = (text: string, separator: string) =>
  text
    .replace(/^\ufeff/, '')
    .replaceAll(
      new RegExp(
        `(^|\\n)(mahi:line|\\d+)${separator}\\w*(?:mahi:severity)?${separator}(?:"(?:[^"]|"")*"|[^"${separator}\\n]*)${separator}`,
        'g',
      ),
      '$1',
    )

test('rows keep their bytes: separators, line ends, empty lines, quotes, wrong widths and misplaced quotes', async () => {
  const original =
    '\r\n\r\nmemberId;born;kind\r\nM1;"x";01\r\n\r\n\r\n"M""2";;9;;;\r\nM3;"open\r\nM4;\u014dmanu;\0\r\n"M\n5";;01'
  const text = (await mark({ 'members.csv': `\ufeff${original}` })).copy('members.csv')
  expect(unmark(text, ';')).toBe(original)
  expect(text.match(/MEM-00-record/g)?.length).toBe(3)
  // Bytes that are no UTF-8, too.
  const bytes = Buffer.concat([
    Buffer.from(`${MEMBERS}M3,\u014d,01\nM4,`),
    Buffer.from('\xff,02\n', 'latin1'),
  ])
  const { to } = await mark({ 'members.csv': bytes })
  expect(readFileSync(join(to, 'members.csv')).includes(Buffer.from(',\xff,', 'latin1'))).toBe(true)
})

test('findings about the whole file are in its header, and rows that are no records have theirs beside them', async () => {
  const loans = `${LOANS}loanId,memberId,lent,returned,fee\nTotal,,,,14.50\n`
  const { copy } = await mark({ 'members.csv': MEMBERS.replace('kind', 'kinds'), 'book-loans.csv': loans })
  expect(copy('members.csv')).toMatch(
    /^\ufeffmahi:line,mahi:severity,"mahi:findings \(MEM-00-header: The column kind is missing \(did you mean ""kinds""\?\)\.\)",memberId/,
  )
  expect(copy('book-loans.csv').split('\n').slice(2)).toEqual([
    '3,Error,LOA-00-record: The row repeats the header.,loanId,memberId,lent,returned,fee',
    '4,Error,"LOA-00-record: The row has totals, and is no record.",Total,,,,14.50',
    '',
  ])
})

test.each(['csv', 'xlsx'] as const)(
  'rows without a record are none in a marked file either (%s)',
  async (format) => {
    const loans = `${LOANS}loanId,memberId,lent,returned,fee\n,,,,\nTotal,,,,14.50\n , ,,,\n`
    const first = await mark({ 'members.csv': MEMBERS, 'book-loans.csv': loans }, format)
    const marked = Object.fromEntries(first.names.map((name) => [name, readFileSync(join(first.to, name))]))
    const noRecords = ['LOA-00-record', 'LOA-00-record', 'LOA-00-record', 'LOA-00-record']
    expect(first.findings.filter((code) => code === 'LOA-00-record')).toEqual(noRecords)
    if (format === 'csv') return expect((await mark(marked)).findings).toEqual(first.findings)
    const mahi = new Installation()
    writeFileSync(join(mahi.folder, 'marked.xlsx'), marked['marked.xlsx'] ?? '')
    const options = ['--definition', writeDefinition(), '--format', 'ndjson']
    const { stdout } = await mahi.run(['check', 'marked.xlsx', ...options])
    expect(stdout.match(/"errorCode":"[^"]+"/g)).toEqual(
      first.findings.map((code) => `"errorCode":"${code}"`),
    )
  },
)

test('gzip, other encodings and NDJSON become CSV in UTF-8; a file that cannot be read is not marked', async () => {
  const { copy } = await mark({
    'members.csv.gz': gzipSync(Buffer.from('memberId,born,kind\nM1,caf\xe9,01\n', 'latin1')),
  })
  expect(copy('members.csv')).toMatch(/\n2,Error,"MEM-02-type: born is ""café"".*",M1,café,01\n/)
  const members = '{"memberId":"M1","born":"x"}\n{"memberId":\n'
  const ndjson = await mark({ 'members.ndjson': members, 'book-loans.csv': '%PDF-1.7' })
  expect(ndjson.names).toEqual(['members.csv'])
  expect(ndjson.copy('members.csv').split('\n')).toEqual([
    '\ufeffmahi:line,mahi:severity,mahi:findings,memberId,born,kind',
    expect.stringMatching(/^1,Error,"MEM-02-type: .*",M1,x,$/),
    expect.stringMatching(/^2,Error,MEM-00-record: /),
    '',
  ])
})

test('a workbook has a summary of causes, and a sheet for each file with coloured cells and comments', async () => {
  const people = `memberId,born,kind,note\nM1,x,01,=1+1\n+M2,,9,@SUM(A1)\nM3,"open\nM4,,02,\x07_x0041_ <&>\n`
  const { to, names } = await mark(
    { 'members.csv': people, 'book-loans.csv': LOANS.replace('03-01,', '03-01,12.50') },
    'xlsx',
  )
  expect(names).toEqual(['marked.xlsx'])
  const book = readFileSync(join(to, 'marked.xlsx'))
  const sheets = await readXlsx(book)
  expect(sheets.map(({ sheet }) => sheet)).toEqual(['Summary', 'members', 'book-loans'])
  expect(sheets[0]?.data[0]?.[0]).toMatch(/^4 errors and 1 warning/)
  // Causes, not codes; each leads to its sheet, and its numbers are numbers.
  const head = sheets[0]?.data.findIndex(([first]) => first === 'severity') ?? 0
  expect(sheets[0]?.data[head]).toEqual([
    'severity',
    'first',
    'what is wrong',
    'what to do',
    'findings',
    'learners',
  ])
  expect(sheets[0]?.data.slice(head + 1)).toContainEqual([
    'Error',
    'members.csv:2',
    expect.stringContaining('born'),
    expect.any(String),
    1,
    1,
  ])
  const rows = sheets[1]?.data ?? []
  expect(rows[0]?.slice(2)).toEqual([
    'mahi:findings (MEM-00-header: The column note is unknown.)',
    'memberId',
    'born',
    'kind',
    'note',
  ])
  expect(rows.slice(1).map((row) => row.slice(3))).toEqual([
    ['M1', 'x', '01', '=1+1'],
    ['+M2', null, '9', '@SUM(A1)'],
    ['M3,"open', null, null, null],
    ['M4', null, '02', '\u2407_x0041_ <&>'],
  ])
  const workbook = new Workbook()
  await workbook.xlsx.load(book)
  const summary = workbook.getWorksheet('Summary')
  const link = (summary?.getColumn(2).values ?? []).find((value) =>
    JSON.stringify(value)?.includes('members.csv:2'),
  )
  expect(link).toMatchObject({ text: 'members.csv:2', hyperlink: "#'members'!A1" })
  const loans = workbook.getWorksheet('book-loans')
  // A fee is a number as it is shown in the file; a code and a date are text.
  expect(loans?.getCell('H2')).toMatchObject({ type: ValueType.Number, value: 12.5, numFmt: '0.00' })
  for (const place of ['D2', 'F2']) expect(loans?.getCell(place).type).toBe(ValueType.String)
  for (const each of [workbook.getWorksheet('members'), loans]) {
    expect(each?.autoFilter).toMatch(/^A1:C\d+$/)
    expect(each?.getCell('A2').type).toBe(ValueType.Number)
    expect(each?.getCell('A2').alignment).toMatchObject({ horizontal: 'right', indent: 1 })
    expect(each?.getCell('C2').alignment).toMatchObject({ wrapText: true })
    expect(each?.pageSetup).toMatchObject({ orientation: 'landscape', fitToWidth: 1, printTitlesRow: '1:1' })
  }
  const sheet = workbook.getWorksheet('members')
  const cell = (place: string) => sheet?.getCell(place)
  expect(cell('E2')?.fill).toMatchObject({ fgColor: { argb: 'FFFFC7CE' } })
  expect(JSON.stringify(cell('E2')?.note)).toContain('MEM-02-type: born is')
  expect(JSON.stringify(cell('F3')?.note)).toContain('MEM-03-enum')
  for (const place of ['D2', 'E3', 'F2', 'E5'])
    expect(JSON.stringify(cell(place)?.fill ?? {})).not.toContain('FFFFC7CE')
  for (const place of ['G2', 'D3', 'G3'])
    expect([cell(place)?.type, cell(place)?.numFmt]).toEqual([ValueType.String, '@'])
  const warned = workbook.getWorksheet('book-loans')?.getCell('G2').fill
  expect(warned).toMatchObject({ fgColor: { argb: 'FFFFEB9C' } })
  // A file without a sheet has no line either.
  const alone = await mark({ 'members.csv': people, 'book-loans.csv': '%PDF-1.7' }, 'xlsx')
  const [causes] = await readXlsx(readFileSync(join(alone.to, 'marked.xlsx')))
  expect(causes?.data.map(([, place]) => place)).toContain('book-loans.csv')
})

test('a report of files that have no learners has no heading for them', async () => {
  const mahi = new Installation()
  mahi.write('in/things.csv', 'n\nx\n')
  const definition = define({ things: { fields: [{ name: 'n', type: 'integer' }] } })
  const run = ['check', 'in', '--definition', definition, '--output', 'report.html']
  await mahi.run([...run, '--format', 'html'])
  await mahi.run([...run.slice(0, 4), '--format', 'xlsx', '--mark', 'marked'])
  const [summary] = await readXlsx(readFileSync(join(mahi.folder, 'marked/marked.xlsx')))
  const heads = [
    readFileSync(join(mahi.folder, 'report.html'), 'utf8').match(/<th scope="col">[^<]*/g),
    summary?.data.find(([first]) => first === 'severity'),
  ].map(String)
  for (const head of heads) expect(head).toMatch(/findings(?!.*learner)/i)
})

test('a folder that has one of the files is refused', () => {
  const files = toInputs({ 'members.csv': MEMBERS })
  const folder = writeFiles({ 'members.csv': 'mine', 'marked.xlsx': 'mine' })
  const choose = (format: MarkFormat) => () => chooseMarkFolder(folder, files, { format, overwrite: false })
  expect(choose('csv')).toThrow(`${folder} already has members.csv: name another folder`)
  expect(choose('xlsx')).toThrow(`${folder} already has marked.xlsx: name another folder`)
})

const MANY = {
  'members.csv': `${MEMBERS}${Array.from({ length: 20_000 }, (_, at) => `${at.toString(36)},,01\n`).join('')}`,
}

const canFill = requireProgram(hasSmallDisk, '--mark on a full disk', 'no file system can be mounted')

test.skipIf(!canFill)('a full disk leaves no file, and is explained', async () => {
  const disk = SmallDisk.create(8)
  disk.fill(64 * 1024)
  await expect(mark(MANY, 'csv', disk.folder)).rejects.toThrow(
    /members\.csv cannot be written: the disk is full/,
  )
  await expect(mark(MANY, 'xlsx', disk.folder)).rejects.toThrow(
    /marked\.xlsx cannot be written: the disk is full/,
  )
  expect(readdirSync(disk.folder).sort()).toEqual(['filler', 'lost+found'])
})
