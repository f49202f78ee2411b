import { isUtf8 } from 'node:buffer'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Field } from '../src/engines/checking/definition/definition.ts'
import { findDefinition, loadDefinition } from '../src/engines/checking/definition/load.ts'
import { CHANGES } from '../src/engines/checking/repair/changes-name.ts'
import { ColumnEvidence, repairValue } from '../src/engines/checking/repair/column-evidence.ts'
import { compileTester } from '../src/engines/checking/repair/field-tester.ts'
import { chooseFixFolder } from '../src/engines/checking/repair/fix.ts'
import { splitRecord } from '../src/engines/records/index.ts'
import { fix } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { type Cell, corrupt, makeReturn, renderTable, type Table } from './support/corruptions.ts'
import { define, writeDefinition } from './support/definition.ts'
import { cases } from './support/properties.ts'
import { Random } from './support/random.ts'
import { requireProgram } from './support/require-program.ts'
import { hasSmallDisk, SmallDisk } from './support/small-disk.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'

const SDR = loadDefinition(findDefinition('sdr'), { examples: false })

async function fixReturn(tables: readonly Table[]) {
  // In memory where that is possible, because every file is written through to its disk.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'mahi-test-'))
  try {
    const [from = '', to = '', work = ''] = ['from', 'to', 'work'].map((name) => join(folder, name))
    for (const each of [from, work]) mkdirSync(each)
    for (const table of tables) writeFileSync(join(from, table.name), renderTable(table))
    const inputs = inputsOf(
      from,
      tables.map(({ name }) => name),
    )
    const { changes, read } = await fix(inputs, SDR, { to, work })
    return { changes, copies: tables.map(({ name }) => read(name)) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Whether a value is what it was or what it had become. A program that dropped zeros behind decimals dropped nothing. */
function isRight({ original, now }: Cell, value: string): boolean {
  const isSameNumber = /^[\d,.]+$/.test(now) && Number(value) === Number(original)
  const isAsWritten = value === now.replace(',', '.') || value === now.replaceAll(',', '')
  return value === original || value === now || (isSameNumber && isAsWritten)
}

/** Cells of a copy that are neither what they were nor what they had become; `undefined` if it is unchanged. */
function findWrong(table: Table, copy: Buffer): string[] {
  if (copy.equals(renderTable(table))) return []
  // A file whose encoding is not certain keeps it.
  const lines = copy
    .toString(isUtf8(copy) ? 'utf8' : 'latin1')
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .slice(0, -1)
  const separator = splitRecord(lines[0] ?? '', ',')?.length === table.header.length ? ',' : table.separator
  const isEither = (cells: readonly Cell[], values: readonly string[]) =>
    cells.length === values.length && cells.every((cell, index) => isRight(cell, values[index] ?? ''))
  const wrong: string[] = []
  let at = 0
  for (const { cells, isInserted } of [{ cells: table.header, isInserted: false }, ...table.rows]) {
    const values = splitRecord(lines[at] ?? '', separator) ?? []
    if (isEither(cells, values)) at++
    else if (!isInserted) {
      const place = cells.findIndex((cell, index) => !isRight(cell, values[index] ?? ''))
      const { original, now } = cells[place] ?? { original: '', now: '' }
      wrong.push(`${table.header[place]?.original}: ${original} -> ${now} -> ${values[place]}`)
      at++
    }
  }
  if (at !== lines.length) wrong.push(`${lines.length - at} rows too many`)
  return wrong
}

test('whatever happens to a clean return, no cell is changed to anything but what it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1 }), fc.integer({ min: 0, max: 8 }), async (seed, count) => {
      const random = new Random(seed)
      const tables = makeReturn(random)
      const kinds = Array.from({ length: count }, () => corrupt(tables, random))
      const { copies, changes } = await fixReturn(tables)
      if (count === 0) expect(changes).toBe(0)
      const wrong = tables.flatMap((table, index) => findWrong(table, copies[index] ?? Buffer.alloc(0)))
      expect(wrong, kinds.join(', ')).toEqual([])
    }),
    cases(40),
  )
})

const MEMBERS = 'memberId,born,kind\nM1,2000-01-02,01\nM2,,02\nM3,,01\nM4,,02\n'
const LOANS = `loanId,memberId,lent,returned,fee
L1,M1,2025-01-01,2025-01-17,1.50
L2,M2,2025-02-03,2025-02-18,12.25
L3,M3,2025-03-05,2025-03-19,0.75
L4,M4,2025-04-07,2025-04-20,
`
const CLEAN = { 'members.csv': MEMBERS, 'book-loans.csv': LOANS }

/** Runs the command, which checks the corrected copies. */
async function runFix(files: Readonly<Record<string, string | Uint8Array>>, ...options: string[]) {
  const folder = writeFiles(files)
  const to = join(folder, 'fixed')
  const command = ['check', folder, '--definition', writeDefinition(), '--fix', to, ...options]
  return { ...(await new Installation().run(command)), to }
}

/** Corrects files, without the check. */
async function fixOnly(files: Readonly<Record<string, string | Uint8Array>>) {
  const folder = writeFiles(files)
  const fixed = await fix(inputsOf(folder, Object.keys(files)))
  return { ...fixed, folder, changes: fixed.read(CHANGES).toString().trim().split('\n').slice(1) }
}

const inputsOf = (folder: string, names: readonly string[] = Object.keys(CLEAN)) =>
  names.map((name) => ({ resource: name.replace(/\..*/, ''), name, path: join(folder, name) }))

const members = (text: string | Uint8Array) => ({ ...CLEAN, 'members.csv': text })
const loans = (text: string) => ({ ...CLEAN, 'book-loans.csv': text })

test.each([
  [
    'members.csv,2,memberId, M1\u00a0,M1,It had spaces around it.',
    members(MEMBERS.replace('M1', ' M1\u00a0')),
  ],
  [
    'members.csv,2,kind,\u200b01,01,It contained invisible characters.',
    members(MEMBERS.replace(',01', ',\u200b01')),
  ],
  [
    'members.csv,1,memberId,MEMBER_ID,memberId,The column is named in another form.',
    members(MEMBERS.replace('memberId', 'MEMBER_ID')),
  ],
  [
    'members.csv,1,memberId,memmberId,memberId,The name of the column is misspelt by one letter.',
    members(MEMBERS.replace('memberId', 'memmberId')),
  ],
  [
    'members.csv,1,kind,Member type,kind,The definition knows the column by this other name.',
    members(MEMBERS.replace('kind', 'Member type')),
  ],
  ['members.csv,6,,",,",,The record is empty.', members(`${MEMBERS},,\n`)],
  [
    'members.csv,4,,"memberId,born,kind",,The row repeats the header.',
    members(MEMBERS.replace('M3', 'memberId,born,kind\nM3')),
  ],
  [
    'book-loans.csv,6,,"Total,,,,14.50",,"The row has totals, and is no record."',
    loans(`${LOANS}Total,,,,14.50\r\n`),
  ],
  ['members.csv,,,;,",",The separator of the file is changed.', members(MEMBERS.replaceAll(',', ';'))],
  [
    'members.csv,,,UTF-16,UTF-8,The encoding of the file is changed.',
    members(Buffer.from(`\ufeff${MEMBERS}`, 'utf16le')),
  ],
  ['members.csv,,,CR,LF,The line ends of the file are changed.', members(MEMBERS.replaceAll('\n', '\r'))],
  ['book-loans.csv,4,memberId,m3,M3,It differs only in case', loans(LOANS.replace(',M3', ',m3'))],
])('the copy is the clean file, and the list has the change %s', async (change, files) => {
  const { folder, read, changes } = await fixOnly(files)
  expect([read('members.csv').toString(), read('book-loans.csv').toString()]).toEqual([MEMBERS, LOANS])
  expect(changes).toEqual([expect.stringContaining(change)])
  for (const [name, content] of Object.entries(files))
    expect(readFileSync(join(folder, name)).equals(Buffer.from(content as string)), name).toBe(true)
})

test('the list of changes opens in a spreadsheet, where no cell is a formula', async () => {
  const { changes } = await fixOnly(members(MEMBERS.replace('M1', ' =1+1').replace('M2', '@A1 ')))
  expect(changes).toEqual([
    "members.csv,2,memberId, =1+1,'=1+1,It had spaces around it.",
    "members.csv,3,memberId,'@A1 ,'@A1,It had spaces around it.",
  ])
})

test('the corrected copies are checked and marked: what is left decides the exit code', async () => {
  const written = members(MEMBERS.replace('M1', 'M1 '))
  const { code, stdout, stderr, to } = await runFix(written)
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^No findings in the 2 files that were checked\.$/m),
  ])
  expect(stderr).toContain(
    `1 change, listed in ${join(to, CHANGES)}:\n  members.csv, memberId: It had spaces around it.\n`,
  )
  const wrong = members(MEMBERS.replace('M1', 'M1 ').replace(',02', ',9'))
  const marked = join(temporaryFolder(), 'marked')
  const left = await runFix(wrong, '--json', '--mark', marked)
  expect(left.code).toBe(1)
  expect(JSON.parse(left.stdout)).toMatchObject({
    fixed: {
      files: [join(left.to, 'members.csv'), join(left.to, 'book-loans.csv')],
      list: join(left.to, CHANGES),
      changes: 1,
      groups: [{ file: 'members.csv', field: 'memberId', why: 'It had spaces around it.', count: 1 }],
      left: [],
    },
    marked: [join(marked, 'members.csv'), join(marked, 'book-loans.csv')],
  })
  expect(readFileSync(join(marked, 'members.csv'), 'utf8')).toMatch(/\n2,,,M1,.*\n3,Error,"MEM-03-enum/)
  const clean = await runFix(CLEAN)
  expect(clean.stderr).toBe(`Nothing was changed. Copies of the files are in ${clean.to}.\n`)
})

test('decimal commas, local dates and lost zeros are repaired by whole columns', async () => {
  const local = (text: string) => text.replaceAll(/(\d{4})-(\d\d)-(\d\d)/g, '$3/$2/$1')
  const { read, changes } = await fixOnly({
    'members.csv': MEMBERS.replaceAll(',0', ','),
    'book-loans.csv': local(LOANS)
      .replaceAll(/(\d)\.(\d+)/g, '"$1,$2"')
      .replaceAll('1"2', '"12'),
  })
  expect(read('members.csv').toString()).toBe(MEMBERS)
  expect(changes).toHaveLength(4 + 4 + 3)
  // The days of the first column are all 1 to 12, so its order is not certain.
  expect(read('book-loans.csv').toString()).toContain('L2,M2,03/02/2025,2025-02-18,12.25')
})

describe('a spreadsheet that removes leading zeros removes them from all columns:', () => {
  /** A return with lost zeros, and its files as they were. */
  const makeSpoilt = () => {
    const tables = makeReturn(new Random(2))
    const clean = tables.map((table) => renderTable(table).toString())
    for (const { rows } of tables)
      for (const cell of rows.flatMap(({ cells }) => cells)) cell.now = cell.now.replace(/^0+(?=\d+$)/, '')
    return { tables, clean }
  }

  test('a column that shows it speaks for the columns that do not', async () => {
    const { tables, clean } = makeSpoilt()
    const { copies, changes } = await fixReturn(tables)
    expect(changes).toBeGreaterThan(100)
    expect(copies.map(String)).toEqual(clean)
  })

  test.each([
    ['nor where every value lacks several zeros, as years without the century do', ['24', '25', '23'], false],
    ['nor where a value is something else', ['138', '42', '7', 'none'], false],
    ['but where some values lack one zero, and others more', ['138', '42', '7', '138'], true],
  ])('%s', (_case, values, isRepaired) => {
    const fields = [{ name: 'x', constraints: { pattern: '[0-9]{4}' } }]
    const { resources } = loadDefinition(define({ things: { fields } }))
    const tester = compileTester(resources[0]?.fields[0] as Field, () => true, '2025-12-31')
    const evidence = new ColumnEvidence(tester)
    for (const value of values) evidence.add(value)
    const repaired = values.map((value) => repairValue(value, tester, evidence.decide(true))?.value)
    expect(repaired).toEqual(values.map((value) => (isRepaired ? value.padStart(4, '0') : undefined)))
    expect(repairValue('138', tester, evidence.decide(false))?.value).toBeUndefined()
  })

  test('unless names are in another order than in the definition, as two that were exchanged are', async () => {
    const { tables } = makeSpoilt()
    const enrolments = tables.find(({ name }) => name === 'enrolments.csv') as Table
    const at = (name: string) => enrolments.header.findIndex(({ now }) => now === name)
    const [attendance, site] = [at('attendance'), at('deliverySite')]
    const names = enrolments.header as { original: string; now: string }[]
    ;[names[attendance], names[site]] = [names[site] as Cell, names[attendance] as Cell]
    const { copies } = await fixReturn(tables)
    const [, first = ''] = String(copies[tables.indexOf(enrolments)]).split('\n')
    const before = enrolments.rows[0]?.cells ?? []
    expect(splitRecord(first, ',')?.[attendance]).toBe(before[attendance]?.original)
    expect(splitRecord(first, ',')?.[site]).toBe(before[site]?.now)
    expect(before[site]?.now).not.toBe(before[site]?.original)
  })
})

test.each<[object, string]>([
  [{}, 'id,fee\nA,1.5\nB,2.5\nC,3.5\n'],
  [{ dialect: { delimiter: ';' } }, 'sep=;\nid;fee\nA;1.5\nB;2.5\nC;3.5\n'],
])('a file that names its separator keeps its header: %j', async (resource, expected) => {
  const definition = define({
    things: { fields: [{ name: 'id' }, { name: 'fee', type: 'number' }], resource },
  })
  const folder = writeFiles({ 'things.csv': '\ufeffsep=;\nid;fee\nA;1,5\nB;2,5\nC;3,5\n' })
  const { read } = await fix(inputsOf(folder, ['things.csv']), definition)
  expect(read('things.csv').toString()).toBe(`\ufeff${expected}`)
})

const LOANS_MIXED = `loanId,memberId,lent,returned,fee\n${['17/01/2025', '18.02.2025', '19/03/2025', 'Spring', '20 Mrz'].map((lent, at) => `L${at},M1,${lent},,\n`).join('')}`

test('a value that is left says why, once for all of its column', async () => {
  const text = LOANS.replaceAll(/2025-(\d\d)-\d\d/g, '05/$1/2025')
  const { left } = await fixOnly(loans(text))
  const why = 'No date of the column shows whether the day or the month is first.'
  const count = LOANS.trim().split('\n').length - 1
  expect(left).toContainEqual({ file: 'book-loans.csv', line: 2, field: 'lent', why, count })
  const { stderr } = await runFix(loans(text))
  expect(stderr).toContain(`Left, because it is not certain: book-loans.csv:2, lent: ${why}\n`)

  // Only some of its dates would have a repair, and all are left.
  const mixed = await runFix(loans(LOANS_MIXED))
  const ways = 'The dates of the column are written in several ways.'
  expect(mixed.stderr).toContain(`book-loans.csv:2, lent: ${ways}\n`)
})

test('a row that may be a record is left, and is reported', async () => {
  const { read, left, changes } = await fixOnly(loans(`${LOANS}Total,M1,,,\nTotal,M2,,,\nTotal,,,,5\n`))
  const why = 'The row has totals, and is no record.'
  expect(left).toEqual([{ file: 'book-loans.csv', line: 6, why, count: 2 }])
  expect([changes.length, read('book-loans.csv').toString()]).toEqual([
    1,
    `${LOANS}Total,M1,,,\nTotal,M2,,,\n`,
  ])
})

test.each([
  ['a reference whose case is right in no other row', loans(LOANS.replaceAll(',M', ',m'))],
  ['a value that is wrong', members(MEMBERS.replace(',02', ',9'))],
  ['a repeated header of two names', members('memberId,born\nM1,\nmemberId,born\nM2,\nM3,\nM4,\n')],
  ['a quote that is not closed', members(`${MEMBERS}M5,"x,01\n`)],
  ['bytes of no encoding', members(Buffer.from(`${MEMBERS}M5,\x81,01\n`, 'latin1'))],
])('%s is left as it is', async (_case, files) => {
  const { changes, read } = await fixOnly(files)
  expect(changes).toEqual([])
  for (const [name, content] of Object.entries(files))
    expect(read(name).equals(Buffer.from(content as string)), name).toBe(true)
})

test('gzip is unpacked, NDJSON is copied, and what cannot be read has no copy', async () => {
  const json = '{"loanId":"L1","memberId":"M1 "}\n'
  const { read, to } = await fixOnly({
    'members.csv.gz': gzipSync(MEMBERS.replace('M1', 'M1 ')),
    'book-loans.ndjson': json,
  })
  expect([read('members.csv').toString(), read('book-loans.ndjson').toString()]).toEqual([MEMBERS, json])
  expect(readdirSync(to)).toHaveLength(3)
  const unreadable = await fixOnly({ ...CLEAN, 'members.csv': '%PDF-1.7' })
  expect(readdirSync(unreadable.to).sort()).toEqual(['book-loans.csv', CHANGES])
})

test('the folder of an input, one that leads to it, and existing files are refused', () => {
  const refusalOf = (to: string, files: ReturnType<typeof inputsOf>, overwrite = true) => {
    try {
      chooseFixFolder(to, files, { overwrite })
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  const [real, folder, parent] = [writeFiles(CLEAN), temporaryFolder(), temporaryFolder()]
  for (const name of Object.keys(CLEAN)) symlinkSync(join(real, name), join(folder, name))
  const link = join(parent, 'link')
  symlinkSync(real, link)
  for (const to of [real, link, folder, `${real}/../${basename(real)}`])
    expect(refusalOf(to, inputsOf(folder))).toBe(
      `${to} is the folder of the files to check: name another one for --fix`,
    )
  expect(refusalOf(join(real, 'members.csv'), inputsOf(folder))).toContain('--fix needs a folder; ')
  const other = writeFiles({ [CHANGES]: '', 'members.csv': '' })
  expect(refusalOf(other, inputsOf(real), false)).toContain(
    `${other} already has members.csv, ${CHANGES}: name another folder`,
  )
  expect(refusalOf(other, inputsOf(real))).toBe('')
})

test('a long file is copied byte for byte, but for what is repaired', async () => {
  const rows = Array.from({ length: 30_000 }, (_, at) => `L${at},M1,2025-01-01,2025-02-01,${at}.50\r\n`)
  const long = `${LOANS.split('\n', 1)[0]}\r\n${rows.join('')}`
  expect((await fixOnly(loans(long))).read('book-loans.csv').equals(Buffer.from(long))).toBe(true)
  const spaced = long.replace(/\.50(?=\r)/g, (text, at) => (at % 1000 === 0 ? `${text} ` : text))
  expect((await fixOnly(loans(spaced))).read('book-loans.csv').equals(Buffer.from(long))).toBe(true)
})

test.each(['--fix', '--mark'])('%s writes the copy of a file in a folder into a folder', async (option) => {
  const mahi = new Installation()
  const things = { fields: [{ name: 'value', type: 'integer' }], resource: { path: 'data/2025/things.csv' } }
  const text = 'value\n 1\n 2\n 3\n'
  mahi.write('in/data/2025/things.csv', text)
  const run = ['check', 'in', '--definition', define({ things }), option]
  const { stdout } = await mahi.run([...run, 'out'])
  expect(stdout).toContain(option === '--fix' ? 'No findings' : '3 errors')
  expect(readFileSync(join(mahi.folder, 'out/data/2025/things.csv'), 'utf8')).toContain('1\n')
  for (const to of ['in', 'in/data/2025'])
    expect((await mahi.run([...run, to, '--overwrite'])).stderr).toContain(
      'is the folder of the files to check',
    )
  expect(readFileSync(join(mahi.folder, 'in/data/2025/things.csv'), 'utf8')).toBe(text)
})

const canFill = requireProgram(hasSmallDisk, '--fix on a full disk', 'no file system can be mounted')

const fixMany = (to: string, rows: number, signal?: AbortSignal) => {
  const files = inputsOf(writeFiles(loans(LOANS + 'L9,M1,,,1.00\n'.repeat(rows))))
  return fix(files, undefined, { to, ...(signal !== undefined && { signal }) })
}

test('a stop in the middle leaves no file, and no folder that was not there', async () => {
  const to = temporaryFolder()
  const stopped = AbortSignal.abort(new Error('stopped'))
  for (const each of [to, join(to, 'new')]) {
    await expect(fixMany(each, 1, stopped)).rejects.toThrow('stopped')
    const nested = inputsOf(writeFiles(CLEAN)).map((file) => ({ ...file, name: `a/b/${file.name}` }))
    await expect(fix(nested, undefined, { to: each, signal: stopped })).rejects.toThrow('stopped')
  }
  expect(readdirSync(to)).toEqual([])
})

test.skipIf(!canFill)('a full or read-only disk leaves no file, and is explained', async () => {
  const disk = SmallDisk.create(8)
  // The first file fits.
  disk.fill(1.5 * 2 ** 20)
  await expect(fixMany(disk.folder, 150_000)).rejects.toThrow(/cannot be written: the disk is full/)
  expect(readdirSync(disk.folder).sort()).toEqual(['filler', 'lost+found'])
  disk.setReadOnly(true)
  await expect(fixMany(disk.folder, 1)).rejects.toThrow(/cannot be written: its file system is read-only/)
})

test('the labels of codes are written as the codes', async () => {
  const tables = makeReturn(new Random(2))
  const clean = tables.map((table) => renderTable(table).toString())
  const { fields = [] } = SDR.resources.find(({ name }) => name === 'enrolments') ?? {}
  const { permitted = [] } = fields.find(({ name }) => name === 'sourceOfFunding') ?? {}
  const { header, rows } = tables.find(({ name }) => name === 'enrolments.csv') as Table
  const at = header.findIndex(({ now }) => now === 'sourceOfFunding')
  // Several codes have no public name, so that it means none of them.
  const named = permitted.filter(({ label }) => !/not public/.test(label ?? ''))
  for (const { cells } of rows) {
    const cell = cells[at] as Cell
    cell.now = named.find(({ value }) => value === cell.now)?.label ?? cell.now
  }
  const { copies, changes } = await fixReturn(tables)
  expect(changes).toBeGreaterThan(10)
  expect(copies.map(String)).toEqual(clean)
})

describe('what was done to a whole column is undone:', () => {
  const codes = { constraints: { enum: ['X', 'Y', 'z'] } }
  const funding = { constraints: { enum: ['01', '02', '03', '11', '25'] } }
  const answers = { constraints: { enum: ['Y', 'N'] } }
  const postcode = { constraints: { pattern: '[0-9]{4}' } }
  test.each<[string, object, string[], string[], string?]>([
    [
      'midnight behind dates',
      { type: 'date' },
      ['2025-02-17 00:00:00', '2025-03-01T00:00:00.000Z', '2025-04-01 0:00'],
      ['2025-02-17', '2025-03-01', '2025-04-01'],
    ],
    ['spaces, unless they stand for no value', { missingValues: [' '] }, [' ', 'a ', '  '], [' ', 'a', '']],
    [
      'unless another has a time',
      { type: 'date' },
      Array(3).fill('2025-02-17 00:00').concat('2025-01-01 09:30'),
      [],
      'Other dates of the column have a time that is not midnight.',
    ],
    [
      'months by their names',
      { type: 'date' },
      ['17-Feb-2025', '1 March 2025', 'Sep 3, 2025'],
      ['2025-02-17', '2025-03-01', '2025-09-03'],
    ],
    ['unless the year has two digits', { type: 'date' }, ['17-Feb-25', '18-Feb-25', '19-Feb-25'], []],
    [
      'unless none proves the order',
      { type: 'date' },
      ['01/05/2025', '02/05/2025', '03/05/2025'],
      [],
      'No date of the column shows whether the day or the month is first.',
    ],
    [
      'unless two orders occur',
      { type: 'date' },
      ['17/01/2025', '02/18/2025', '19/03/2025'],
      [],
      'Some dates of the column have the day first, and others the month.',
    ],
    [
      'unless they are written in several ways',
      { type: 'date' },
      ['17/01/2025', '18.02.2025', '19/03/2025'],
      [],
      'The dates of the column are written in several ways.',
    ],
    [
      'unless they are few',
      { type: 'date' },
      ['17/01/2025', '2025-02-18', '2025-03-19'],
      [],
      'Too few values of the column are written so.',
    ],
    [
      'unless a spreadsheet has turned some around',
      { type: 'date' },
      ['17/01/2025', '2025-05-04', '18/02/2025', '2025-06-04', '19/03/2025', '2025-07-04'],
      [],
      'A spreadsheet has probably turned day and month around in other dates of the column.',
    ],
    ['the other case of codes', codes, ['x', 'y', 'Z', 'X'], ['X', 'Y', 'z', 'X']],
    [
      'the sign of a currency',
      { type: 'number' },
      ['$12', '$1,234.50', '-$ 0.5', '7'],
      ['12', '1234.50', '-0.5', '7'],
    ],
    [
      'unless the amounts are of several currencies',
      { type: 'number' },
      ['$12', '$1,234.50', '-€ 0.5', '7'],
      [],
      'The amounts of the column have the signs of several currencies.',
    ],
    ['unless its comma is not certain', { type: 'number' }, ['$1,234', '$2,345', '$3,456'], []],
    [
      'unless points occur beside a decimal comma',
      { type: 'number' },
      ['1,50', '12.25', '0.75'],
      [],
      'Nothing shows whether the commas of the column separate decimals or thousands.',
    ],
    [
      'unless all commas may separate thousands',
      { type: 'number' },
      ['1,250', '1,250', '1,250'],
      [],
      'Nothing shows whether the commas of the column separate decimals or thousands.',
    ],
    [
      'unless points say that they may',
      { type: 'number' },
      ['1,250', '2,750', '3,125', '7.25'],
      [],
      'The commas of the column seem to separate thousands.',
    ],
    [
      'commas between thousands',
      { type: 'number' },
      ['1,250', '1,250.50', '-7,012,345.25', '7.25'],
      ['1250', '1250.50', '-7012345.25', '7.25'],
    ],
    [
      'unless another comma is that of decimals',
      { type: 'number' },
      ['1,250.50', '2,750.25', '3,125.75', '7,5'],
      [],
      'Nothing shows whether the commas of the column separate decimals or thousands.',
    ],
    ['words and signs for no value', { type: 'integer' }, ['N/A', 'null', '-', '7'], ['', '', '', '7']],
    ['words for codes', answers, ['Yes', 'no', 'NO', 'Y'], ['Y', 'N', 'N', 'Y']],
    [
      'apostrophes and formulas that mark text',
      postcode,
      ["'0600", '="6011"', '="0610"', '6012'],
      ['0600', '6011', '0610', '6012'],
    ],
    ['decimal places of whole numbers', postcode, ['6011.0', '6012.0', '8011.0'], ['6011', '6012', '8011']],
    [
      'decimal places of codes that have lost their zeros',
      postcode,
      ['600.0', '610.0', '620.0', '6011.0', '6012.0', '8011.0'],
      ['0600', '0610', '0620', '6011', '6012', '8011'],
    ],
    [
      'decimal places of codes in a list that have lost their zeros',
      funding,
      ['1.0', '2.0', '1.0', '11.0', '11.0', '25.0'],
      ['01', '02', '01', '11', '11', '25'],
    ],
    [
      'unless no code is as long as it must be',
      postcode,
      ['600.0', '610.0', '620.0'],
      [],
      'Neither the other values of the column nor another column show that it has lost its leading zeros.',
    ],
    [
      'unless a code beside decimal numbers has kept its zero',
      postcode,
      ['600.0', '610.0', '620.0', '6011', '6012', '8011', '0630'],
      [],
      'Neither the other values of the column nor another column show that it has lost its leading zeros.',
    ],
    ['percent signs', { type: 'integer' }, ['50%', '12 %', '-3%', '7'], ['50', '12', '-3', '7']],
    [
      'percent signs of shares',
      { type: 'number', constraints: { maximum: 1 } },
      ['50%', '12.5%', '100%', '0.25'],
      ['0.5', '0.125', '1', '0.25'],
    ],
    [
      'unless both are possible',
      { type: 'number' },
      ['50%', '12.5%', '100%', '0.25'],
      [],
      'Nothing shows whether 50% in the column is 50 or 0.5.',
    ],
    [
      'unless neither is',
      { type: 'integer', constraints: { maximum: 20 } },
      ['50%', '12%', '3%', '7'],
      [],
      'Nothing shows whether 50% in the column is 50 or 0.5.',
    ],
    [
      'unless other values have decimals',
      { type: 'integer' },
      ['6011.0', '6012.0', '6013.0', '8011.5'],
      [],
      'Other values of the column are wrong in another way.',
    ],
    [
      'unless there must be a value',
      { type: 'integer', constraints: { required: true } },
      ['N/A', 'null', 'n/a', '7'],
      [],
    ],
    [
      'lost zeros of codes of one length',
      postcode,
      ['600', '610', '620', '6011', '6012', '8011'],
      ['0600', '0610', '0620', '6011', '6012', '8011'],
    ],
    [
      'lost zeros of codes in a list',
      funding,
      ['1', '1', '1', '11', '11', '25'],
      ['01', '01', '01', '11', '11', '25'],
    ],
    [
      'unless the values are others',
      funding,
      ['1', '2', '3', '1', '6', '7'],
      [],
      'Neither the other values of the column nor another column show that it has lost its leading zeros.',
    ],
    [
      'unless a code has kept its zero',
      funding,
      ['1', '1', '1', '11', '11', '25', '01'],
      [],
      'Neither the other values of the column nor another column show that it has lost its leading zeros.',
    ],
    [
      'unless one has kept them',
      postcode,
      ['600', '610', '620', '0630', '6011', '6012', '6013'],
      [],
      'Neither the other values of the column nor another column show that it has lost its leading zeros.',
    ],
    [
      'unless no value is right',
      postcode,
      ['3', '4', '5', '6'],
      [],
      'Neither the other values of the column nor another column show that it has lost its leading zeros.',
    ],
    [
      'unless it is one of many',
      postcode,
      ['600', ...Array(30).fill('6011')],
      [],
      'Too few values of the column are written so.',
    ],
  ])('%s', (_what, field, values, expected, left) => {
    const definition = loadDefinition(define({ things: { fields: [{ name: 'x', ...field }] } }))
    const tester = compileTester(definition.resources[0]?.fields[0] as Field, () => true, '2025-12-31')
    const evidence = new ColumnEvidence(tester)
    for (const value of values) evidence.add(value)
    const repair = evidence.decide()
    const repaired = values.map((value) => repairValue(value, tester, repair))
    expect(values.map((value, index) => repaired[index]?.value ?? value)).toEqual(
      expected.length === 0 ? values : expected,
    )
    const reasons = repaired.flatMap((each) =>
      each === undefined || each.value !== undefined ? [] : each.why,
    )
    expect([...new Set(reasons)]).toEqual(left === undefined ? [] : [left])
  })
})
