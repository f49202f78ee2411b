import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ValueType, Workbook } from '@cj-tech-master/excelts'
import readXlsx from 'read-excel-file/node'
import { expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { chooseMarkFolder, type MarkFormat, markFiles } from '../src/engines/checking/repair/mark.ts'
import { check } from './support/checking.ts'
import { InstallationHere } from './support/command-here.ts'
import { writeDefinition } from './support/definition.ts'
import { hasSmallDisk, SmallDisk } from './support/small-disk.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'

const MEMBERS = 'memberId,born,kind\nM1,x,01\nM2,,9\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n'

async function mark(files: Readonly<Record<string, string | Uint8Array>>, ...options: string[]) {
  const mahi = new InstallationHere()
  const folder = writeFiles(files)
  const to = join(folder, 'marked')
  const command = ['check', folder, '--definition', writeDefinition(), '--mark', to, ...options]
  const outcome = await mahi.run(command)
  const copy = (name: string) => readFileSync(join(to, name), 'utf8')
  return { ...outcome, mahi, folder, to, command, copy }
}

test('a marked file has the findings beside each row, and the line, severity and text of each', async () => {
  const { code, stderr, copy, to } = await mark({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })
  expect(code).toBe(1)
  expect(stderr).toContain(`Marked: ${join(to, 'members.csv')}, ${join(to, 'book-loans.csv')}.`)
  expect(copy('members.csv').split('\n')).toEqual([
    '\ufeffmahi:line,mahi:severity,mahi:findings,memberId,born,kind',
    '2,Error,"MEM-02-type: born is ""x"", but must be a date such as 2025-02-17.",M1,x,01',
    '3,Error,"MEM-03-enum: kind is ""9"", but must be 01 or 02.",M2,,9',
    '',
  ])
  expect(copy('book-loans.csv')).toMatch(
    /\n2,Warning,"LOA-201: The loan lasted 59 days, until 2025-03-01.",L1,/,
  )
  expect(readdirSync(to)).toEqual(['book-loans.csv', 'members.csv'])
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
  const { copy } = await mark({ 'members.csv': `\ufeff${original}`, 'book-loans.csv': LOANS })
  const text = copy('members.csv')
  expect(unmark(text, ';')).toBe(original)
  expect(text).toContain('M3;"open')
  expect(text.match(/MEM-00-record/g)?.length).toBe(3)
})

test('bytes that are no UTF-8 are kept', async () => {
  const bytes = Buffer.concat([
    Buffer.from(`${MEMBERS}M3,\u014d,01\nM4,`),
    Buffer.from([0xff]),
    Buffer.from(',02\n'),
  ])
  const { to } = await mark({ 'members.csv': bytes, 'book-loans.csv': LOANS })
  expect(readFileSync(join(to, 'members.csv')).includes(Buffer.from([0x2c, 0xff, 0x2c]))).toBe(true)
})

test('findings about the whole file are in its header', async () => {
  const { copy } = await mark({ 'members.csv': MEMBERS.replace('kind', 'kinds'), 'book-loans.csv': LOANS })
  expect(copy('members.csv')).toMatch(
    /^\ufeffmahi:line,mahi:severity,"mahi:findings \(MEM-00-header: The column kind is missing \(did you mean ""kinds""\?\)\.\)",memberId/,
  )
})

test('a marked file can be checked, and marked again', async () => {
  const { copy } = await mark({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })
  const twice = await mark({ 'members.csv': copy('members.csv'), 'book-loans.csv': copy('book-loans.csv') })
  expect(twice.stdout).toContain('2 errors and 1 warning in the 2 files')
  const again = { 'members.csv': twice.copy('members.csv'), 'book-loans.csv': LOANS }
  const { findings } = await check(again)
  expect(findings.map(({ errorCode }) => errorCode)).toEqual(['MEM-02-type', 'MEM-03-enum', 'LOA-201'])
})

test('rows that are no records have their finding beside them, and every cell of theirs', async () => {
  const loans = `${LOANS}loanId,memberId,lent,returned,fee\nTotal,,,,14.50\n`
  const { copy } = await mark({ 'members.csv': 'memberId,born,kind\nM1,,01\n', 'book-loans.csv': loans })
  expect(copy('book-loans.csv').split('\n').slice(2)).toEqual([
    '3,Error,LOA-00-record: The row repeats the header.,loanId,memberId,lent,returned,fee',
    '4,Error,"LOA-00-record: The row has totals, and is no record.",Total,,,,14.50',
    '',
  ])
})

test('gzip, other encodings and NDJSON become CSV in UTF-8', async () => {
  const { copy } = await mark({
    'members.csv.gz': gzipSync(Buffer.from('memberId,born,kind\nM1,caf\xe9,01\n', 'latin1')),
    'book-loans.ndjson': '{"loanId":"L1","memberId":"M1","fee":"-1","returned":"2025-01-01"}\n{"loanId":\n',
  })
  expect(copy('members.csv')).toMatch(/\nM?2,Error,"MEM-02-type: born is ""café"".*",M1,café,01\n/)
  const [header, first, second, ...rest] = copy('book-loans.csv').split('\n')
  expect(header).toBe('\ufeffmahi:line,mahi:severity,mahi:findings,loanId,memberId,lent,returned,fee')
  expect(first).toMatch(/^1,Error,"LOA-05-range: .*",L1,M1,,2025-01-01,-1$/)
  expect(second).toMatch(/^2,Error,LOA-00-record: /)
  expect(rest).toEqual([''])
})

test('a file that cannot be read is not marked; --json lists the copies', async () => {
  const { stdout, to } = await mark({ 'members.csv': '%PDF-1.7', 'book-loans.csv': LOANS }, '--json')
  expect((JSON.parse(stdout) as { marked: string[] }).marked).toEqual([join(to, 'book-loans.csv')])
  expect(existsSync(join(to, 'members.csv'))).toBe(false)
})

test('a workbook has a sheet for each file, with coloured cells, comments, and every value as text', async () => {
  const people = `memberId,born,kind,note\nM1,x,01,=1+1\n+M2,,9,@SUM(A1)\nM3,"open\nM4,,02,\x07_x0041_ <&>\n`
  const { code, to, stdout } = await mark(
    { 'members.csv': people, 'book-loans.csv': LOANS },
    '--format',
    'xlsx',
  )
  expect(code).toBe(1)
  expect(stdout).toContain('kind is wrong in 1 of 4 records')
  expect(readdirSync(to)).toEqual(['marked.xlsx'])
  const book = readFileSync(join(to, 'marked.xlsx'))
  const sheets = await readXlsx(book)
  expect(sheets.map(({ sheet }) => sheet)).toEqual(['Summary', 'members', 'book-loans'])
  expect(sheets[0]?.data[0]?.[0]).toMatch(/^4 errors and 1 warning/)
  const rows = sheets[1]?.data ?? []
  expect(rows[0]?.slice(2)).toEqual([
    'mahi:findings (MEM-00-header: The column note is unknown.)',
    'memberId',
    'born',
    'kind',
    'note',
  ])
  expect(rows[1]?.slice(3)).toEqual(['M1', 'x', '01', '=1+1'])
  expect(rows[2]?.slice(3)).toEqual(['+M2', null, '9', '@SUM(A1)'])
  expect(rows[3]?.slice(0, 4)).toEqual(['4', 'Error', expect.stringContaining('MEM-00-record'), 'M3,"open'])
  expect(rows[4]?.slice(3)).toEqual(['M4', null, '02', '\u2407_x0041_ <&>'])

  const workbook = new Workbook()
  await workbook.xlsx.load(book)
  const sheet = workbook.getWorksheet('members')
  const cell = (place: string) => sheet?.getCell(place)
  expect(cell('E2')?.fill).toMatchObject({ fgColor: { argb: 'FFFFC7CE' } })
  expect(JSON.stringify(cell('E2')?.note)).toContain('MEM-02-type: born is')
  expect(JSON.stringify(cell('F3')?.note)).toContain('MEM-03-enum')
  for (const place of ['D2', 'E3', 'F2', 'E5'])
    expect(JSON.stringify(cell(place)?.fill ?? {})).not.toContain('FFFFC7CE')
  for (const place of ['G2', 'D3', 'G3']) {
    expect(cell(place)?.type).toBe(ValueType.String)
    expect(cell(place)?.numFmt).toBe('@')
  }
  expect(workbook.getWorksheet('book-loans')?.getCell('G2').fill).toMatchObject({
    fgColor: { argb: 'FFFFEB9C' },
  })
})

test('a workbook without a folder for it is refused', async () => {
  const mahi = new InstallationHere()
  const { code, stderr } = await mahi.run(['check', '.', '--format', 'xlsx'])
  expect([code, stderr]).toEqual([2, '--format xlsx needs --mark: the folder for the marked workbook.\n'])
})

test('existing files are kept, unless they may be replaced', async () => {
  const { mahi, command, to, copy } = await mark({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })
  writeFileSync(join(to, 'members.csv'), 'mine')
  const again = await mahi.run(command)
  expect([again.code, again.stdout]).toEqual([2, ''])
  expect(again.stderr).toContain(
    `${to} already has book-loans.csv, members.csv: name another folder, or replace them with --overwrite`,
  )
  expect(copy('members.csv')).toBe('mine')
  expect((await mahi.run([...command, '--overwrite'])).code).toBe(1)
  expect(copy('members.csv')).toContain('MEM-02-type')
})

test('the folder of an input, and a file, are refused before the check', async () => {
  const mahi = new InstallationHere()
  const folder = writeFiles({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })
  const refusal = async (to: string) => {
    const { code, stdout, stderr } = await mahi.run([
      'check',
      folder,
      '--definition',
      writeDefinition(),
      '--mark',
      to,
      '--overwrite',
    ])
    expect([code, stdout]).toEqual([2, ''])
    return stderr
  }
  expect(await refusal(`${folder}/../${folder.split('/').at(-1)}`)).toContain(
    'is the folder of the files to check: name another one for --mark',
  )
  expect(await refusal(join(folder, 'members.csv'))).toContain('--mark needs a folder; ')
  expect(readFileSync(join(folder, 'members.csv'), 'utf8')).toBe(MEMBERS)
  expect(readdirSync(folder).sort()).toEqual(['book-loans.csv', 'members.csv'])
})

async function markHere(folder: string, format: MarkFormat = 'csv', signal?: AbortSignal) {
  const definition = loadDefinition(writeDefinition())
  const inputs = writeFiles({ 'members.csv': MEMBERS + 'M9,x,01\n'.repeat(20_000) })
  const files = [{ resource: 'members', name: 'members.csv', path: join(inputs, 'members.csv') }]
  const { summary, findings } = await check({ 'members.csv': MEMBERS })
  const all = async function* () {
    yield* findings
  }
  const chosen = chooseMarkFolder(folder, files, { format, overwrite: false })
  return await markFiles({ summary, findings: all }, { format, definition, files, folder: chosen, signal })
}

test.each(['csv', 'xlsx'] as const)('a stop in the middle leaves no file (%s)', async (format) => {
  const folder = temporaryFolder()
  const stopped = AbortSignal.abort(new Error('stopped'))
  await expect(markHere(folder, format, stopped)).rejects.toThrow('stopped')
  expect(readdirSync(folder)).toEqual([])
})

test.skipIf(!hasSmallDisk)('a full or read-only disk leaves no file, and is explained', async () => {
  const disk = SmallDisk.create(8)
  disk.fill(64 * 1024)
  await expect(markHere(disk.folder)).rejects.toThrow(/members\.csv cannot be written: the disk is full/)
  await expect(markHere(disk.folder, 'xlsx')).rejects.toThrow(
    /marked\.xlsx cannot be written: the disk is full/,
  )
  expect(readdirSync(disk.folder).sort()).toEqual(['filler', 'lost+found'])
  disk.setReadOnly(true)
  await expect(markHere(disk.folder)).rejects.toThrow(/cannot be written: its file system is read-only/)
})
