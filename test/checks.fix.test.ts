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
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Field } from '../src/engines/checking/definition/definition.ts'
import { findDefinition, loadDefinition } from '../src/engines/checking/definition/load.ts'
import { CHANGES } from '../src/engines/checking/repair/changes-name.ts'
import { ColumnEvidence, compileTester } from '../src/engines/checking/repair/column-evidence.ts'
import { chooseFixFolder, fixFiles } from '../src/engines/checking/repair/fix.ts'
import { splitRecord } from '../src/engines/records/index.ts'
import { InstallationHere } from './support/command-here.ts'
import { type Cell, corrupt, makeReturn, renderTable, type Table } from './support/corruptions.ts'
import { writeDefinition } from './support/definition.ts'
import { cases } from './support/properties.ts'
import { Random } from './support/random.ts'
import { hasSmallDisk, SmallDisk } from './support/small-disk.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'

const SDR = loadDefinition(findDefinition('sdr'), { examples: false })

async function fixReturn(tables: readonly Table[]) {
  // In memory where that is possible, because every file is written through to its disk.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'mahi-test-'))
  try {
    const [from, to] = [join(folder, 'from'), join(folder, 'to')]
    mkdirSync(from)
    const files = tables.map((table) => {
      const path = join(from, table.name)
      writeFileSync(path, renderTable(table))
      return { resource: table.name.replace('.csv', ''), name: table.name, path }
    })
    const chosen = chooseFixFolder(to, files, { overwrite: false })
    const { changes } = await fixFiles({ definition: SDR, files }, chosen)
    const read = (name: string) => readFileSync(join(to, name))
    return { changes, copies: tables.map(({ name }) => read(name)), list: read(CHANGES).toString() }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Whether a value is what it was or what it had become. A program that dropped zeros behind a comma dropped nothing. */
function isRight({ original, now }: Cell, value: string): boolean {
  const isSameNumber =
    /^\d+,\d+$/.test(now) && value === now.replace(',', '.') && Number(value) === Number(original)
  return value === original || value === now || isSameNumber
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
    fc.asyncProperty(fc.integer({ min: 1 }), fc.integer({ min: 1, max: 8 }), async (seed, count) => {
      const random = new Random(seed)
      const tables = makeReturn(random)
      const kinds = Array.from({ length: count }, () => corrupt(tables, random))
      const { copies } = await fixReturn(tables)
      const wrong = tables.flatMap((table, index) => findWrong(table, copies[index] ?? Buffer.alloc(0)))
      expect(wrong, kinds.join(', ')).toEqual([])
    }),
    cases(60),
  )
})

test('a clean return is given back byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1 }), fc.boolean(), fc.boolean(), async (seed, mark, windows) => {
      const tables = makeReturn(new Random(seed))
      for (const table of tables) {
        table.encoding = mark ? 'utf8-mark' : 'utf8'
        table.lineEnd = windows ? '\r\n' : '\n'
      }
      const { changes, copies, list } = await fixReturn(tables)
      expect([changes, list]).toEqual([0, '\ufefffile,line,field,before,after,why\n'])
      for (const [index, table] of tables.entries())
        expect(copies[index]?.equals(renderTable(table)), table.name).toBe(true)
    }),
    cases(10),
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

async function fix(files: Readonly<Record<string, string | Uint8Array>>, ...options: string[]) {
  const mahi = new InstallationHere()
  const folder = writeFiles(files)
  const to = join(folder, 'fixed')
  const command = ['check', folder, '--definition', writeDefinition(), '--fix', to, ...options]
  const outcome = await mahi.run(command)
  const copy = (name: string) => readFileSync(join(to, name), 'utf8')
  const changes = () => copy(CHANGES).trim().split('\n').slice(1)
  return { ...outcome, mahi, folder, to, command, copy, changes }
}

/** The same in this process, without the check. */
async function fixOnly(files: Readonly<Record<string, string | Uint8Array>>) {
  const [folder, to] = [writeFiles(files), temporaryFolder()]
  const inputs = inputsOf(folder)
  const definition = loadDefinition(writeDefinition())
  await fixFiles({ definition, files: inputs }, chooseFixFolder(to, inputs, { overwrite: false }))
  const read = (name: string) => readFileSync(join(to, name))
  const changes = read(CHANGES).toString().trim().split('\n').slice(1)
  return { folder, read, changes }
}

const inputsOf = (folder: string) =>
  Object.keys(CLEAN).map((name) => ({ resource: name.replace('.csv', ''), name, path: join(folder, name) }))

const members = (text: string | Uint8Array) => ({ ...CLEAN, 'members.csv': text })
const loans = (text: string) => ({ ...CLEAN, 'book-loans.csv': text })

test.each([
  [
    'spaces',
    members(MEMBERS.replace('M1', ' M1\u00a0')),
    'members.csv,2,memberId, M1\u00a0,M1,It had spaces around it.',
  ],
  [
    'invisible characters',
    members(MEMBERS.replace(',01', ',\u200b01')),
    'members.csv,2,kind,\u200b01,01,It contained invisible characters.',
  ],
  [
    'names of columns',
    members(MEMBERS.replace('memberId', 'MEMBER_ID')),
    'members.csv,1,memberId,MEMBER_ID,memberId,The column is named in another form.',
  ],
  [
    'a misspelt name',
    members(MEMBERS.replace('memberId', 'memmberId')),
    'members.csv,1,memberId,memmberId,memberId,The name of the column is misspelt by one letter.',
  ],
  ['an empty row', members(`${MEMBERS},,\n`), 'members.csv,6,,",,",,The record is empty.'],
  [
    'a repeated header',
    members(MEMBERS.replace('M3', 'memberId,born,kind\nM3')),
    'members.csv,4,,"memberId,born,kind",,The row repeats the header.',
  ],
  [
    'a row of totals',
    loans(`${LOANS}Total,,,,14.50\r\n`),
    'book-loans.csv,6,,"Total,,,,14.50",,"The row has totals, and is no record."',
  ],
  [
    'a separator',
    members(MEMBERS.replaceAll(',', ';')),
    'members.csv,,,;,",",The separator of the file is changed.',
  ],
  [
    'an encoding',
    members(Buffer.from(`\ufeff${MEMBERS}`, 'utf16le')),
    'members.csv,,,UTF-16,UTF-8,The encoding of the file is changed.',
  ],
  [
    'line ends',
    members(MEMBERS.replaceAll('\n', '\r')),
    'members.csv,,,CR,LF,The line ends of the file are changed.',
  ],
  [
    'a reference in another case',
    loans(LOANS.replace(',M3', ',m3')),
    'book-loans.csv,4,memberId,m3,M3,It differs only in case',
  ],
])('%s: the copy is the clean file, and the change is listed', async (_kind, files, change) => {
  const { folder, read, changes } = await fixOnly(files)
  expect(read('members.csv').toString()).toBe(MEMBERS)
  expect(read('book-loans.csv').toString()).toBe(LOANS)
  expect(changes).toEqual([expect.stringContaining(change)])
  for (const [name, content] of Object.entries(files))
    expect(readFileSync(join(folder, name)).equals(Buffer.from(content as string)), name).toBe(true)
})

test('the corrected copies are checked: what is left decides the exit code', async () => {
  const { code, stdout, stderr, to, folder, mahi } = await fix(members(MEMBERS.replace('M1', 'M1 ')))
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^No findings in the 2 files that were checked\.$/m),
  ])
  expect(stderr).toContain(
    `1 change, listed in ${join(to, CHANGES)}:\n  members.csv, memberId: It had spaces`,
  )
  expect(stderr).toContain('This is left in them:')
  const before = await mahi.run(['check', folder, '--definition', writeDefinition()])
  expect([before.code, before.stdout]).toEqual([1, expect.stringMatching(/^1 error and no warnings/m)])
  const clean = await fix(CLEAN)
  expect(clean.stderr).toBe(`Nothing was changed. Copies of the files are in ${clean.to}.\n`)
})

test('codes lose no zeros in a column that holds other codes', () => {
  const field = SDR.resources.flatMap(({ fields }) => fields).find(({ name }) => name === 'sourceOfFunding')
  const decide = (values: readonly string[]) => {
    const evidence = new ColumnEvidence(compileTester(field as Field, () => true, '2025-12-31'))
    for (const value of values) evidence.add(value)
    return evidence.decide().codes?.get('1')
  }
  expect(decide(['1', '1', '1', '11', '11', '25'])).toBe('01')
  // Levels, under the name of another column.
  expect(decide(['1', '2', '3', '1', '6', '7'])).toBeUndefined()
  expect(decide(['1', '1', '1', '11', '11', '25', '01'])).toBeUndefined()
})

test('decimal commas, local dates and lost zeros are repaired by whole columns', async () => {
  const local = (text: string) => text.replaceAll(/(\d{4})-(\d\d)-(\d\d)/g, '$3/$2/$1')
  const { code, copy, changes } = await fix({
    'members.csv': MEMBERS.replaceAll(',0', ','),
    'book-loans.csv': local(LOANS)
      .replaceAll(/(\d)\.(\d+)/g, '"$1,$2"')
      .replaceAll('1"2', '"12'),
  })
  expect(copy('members.csv')).toBe(MEMBERS)
  expect(changes()).toHaveLength(4 + 4 + 3)
  // The days of the first column are all 1 to 12, so its order is not certain.
  expect(copy('book-loans.csv')).toContain('L2,M2,03/02/2025,2025-02-18,12.25')
  expect(code).toBe(1)
})

test('rows that are no records say nothing about their columns', async () => {
  const written = LOANS.replaceAll(/,(\d+)\.(\d+)/g, ',"$1,$2"').replace(
    'L3',
    'loanId,memberId,lent,returned,fee\nL3',
  )
  const { changes, read } = await fixOnly(
    loans(`${written}Sub-total,,,,14.50\n,,,,\nGrand total:,,,,14.50\n`),
  )
  expect(read('book-loans.csv').toString()).toBe(LOANS)
  expect(changes).toHaveLength(3 + 4)
})

test('a row that may be a record is left, and the command says so', async () => {
  const { code, stdout, stderr, to } = await fix(
    loans(`${LOANS}Total,M1,,,\nTotal,M2,,,\nTotal,,,,5\n`),
    '--json',
  )
  const { fixed } = JSON.parse(stdout) as { fixed: object }
  const why = 'The row has totals, and is no record.'
  expect(fixed).toMatchObject({ changes: 1, left: [{ file: 'book-loans.csv', line: 6, why, count: 2 }] })
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      `Left, because it is not certain: book-loans.csv:6: ${why} (2 times)\nThe corrected copies are in ${to}.`,
    ),
  ])
})

test.each([
  ['one decimal comma among points', loans(LOANS.replace('1.50', '"1,50"'))],
  ['a comma that may separate thousands', loans(LOANS.replaceAll(/\d+\.\d+/g, '"1,250"'))],
  ['dates of which none proves the order', loans(LOANS.replaceAll(/2025-0(\d)-\d\d/g, '0$1/05/2025'))],
  [
    'dates of two orders',
    loans(
      LOANS.replace('2025-01-17', '17/01/2025')
        .replace('2025-02-18', '02/18/2025')
        .replace('2025-03-19', '19/03/2025'),
    ),
  ],
  ['a code that lost its zero beside one that did not', members(MEMBERS.replace(',01', ',1'))],
  ['a reference whose case is right in no other row', loans(LOANS.replaceAll(',M', ',m'))],
  ['a value that is wrong', members(MEMBERS.replace(',02', ',9'))],
  ['a record whose key says Total', loans(`${LOANS}Total,M1,,,\n`)],
  ['a repeated header of two names', members('memberId,born\nM1,\nmemberId,born\nM2,\nM3,\nM4,\n')],
  ['a quote that is not closed', members(`${MEMBERS}M5,"x,01\n`)],
  ['bytes of no encoding', members(Buffer.from(`${MEMBERS}M5,\x81,01\n`, 'latin1'))],
])('%s is left as it is', async (_case, files) => {
  const { changes, read } = await fixOnly(files)
  expect(changes).toEqual([])
  for (const [name, content] of Object.entries(files))
    expect(read(name).equals(Buffer.from(content as string)), name).toBe(true)
})

test('gzip is unpacked, NDJSON is copied, and what cannot be read is reported from its place', async () => {
  const { copy, stdout, to } = await fix({
    'members.csv.gz': gzipSync(MEMBERS.replace('M1', 'M1 ')),
    'book-loans.ndjson': '{"loanId":"L1","memberId":"M1 "}\n',
  })
  expect(copy('members.csv')).toBe(MEMBERS)
  expect(copy('book-loans.ndjson')).toBe('{"loanId":"L1","memberId":"M1 "}\n')
  expect(stdout).toContain('memberId has spaces at its ends')
  expect(readdirSync(to)).toHaveLength(3)
  const unreadable = await fix({ ...CLEAN, 'members.csv': '%PDF-1.7' })
  expect(unreadable.stdout).toContain('members.csv cannot be read.')
  expect(readdirSync(unreadable.to).sort()).toEqual(['book-loans.csv', CHANGES])
})

test('--json names the copies, the list and the kinds of changes; --mark marks what is left', async () => {
  const files = members(MEMBERS.replace('M1', 'M1 ').replace(',02', ',9'))
  const { stdout, to, folder } = await fix(files, '--json', '--mark', join(temporaryFolder(), 'marked'))
  const { fixed, marked } = JSON.parse(stdout) as {
    fixed: { files: string[]; list: string; changes: number; groups: unknown[] }
    marked: string[]
  }
  expect(fixed).toEqual({
    files: [join(to, 'members.csv'), join(to, 'book-loans.csv')],
    list: join(to, CHANGES),
    changes: 1,
    groups: [{ file: 'members.csv', field: 'memberId', why: 'It had spaces around it.', count: 1 }],
    left: [],
  })
  const text = readFileSync(marked[0] ?? '', 'utf8')
  expect(text).toContain('\n2,,,M1,')
  expect(text).toContain('MEM-03-enum')
  expect(readdirSync(folder)).toContain('members.csv')
})

test('the folder of an input, existing files and one folder for two purposes are refused', async () => {
  const { mahi, folder, to, command } = await fix(CLEAN)
  const refusal = async (parameters: readonly string[]) => {
    const { code, stdout, stderr } = await mahi.run(parameters)
    expect([code, stdout]).toEqual([2, ''])
    return stderr
  }
  expect(await refusal(command)).toContain(
    `${to} already has book-loans.csv, members.csv, ${CHANGES}: name another`,
  )
  expect((await mahi.run([...command, '--overwrite'])).code).toBe(0)
  const base = command.slice(0, 4)
  expect(await refusal([...base, '--fix', folder])).toContain('is the folder of the files to check')
  const other = join(folder, 'other')
  expect(await refusal([...base, '--fix', other, '--mark', other])).toContain('need different folders')
})

test.skipIf(!existsSync('/proc/self'))(
  'a folder in which nothing can be created is refused, and never tried for ever',
  async () => {
    const mahi = new InstallationHere()
    const from = writeFiles(CLEAN)
    for (const to of ['/proc/xx', '/proc/xx/yy'])
      expect(await mahi.run(['check', from, '--definition', writeDefinition(), '--fix', to])).toMatchObject({
        code: 2,
        stderr: '/proc/xx cannot be written: nothing can be created in its folder. Name another folder\n',
      })
  },
)

test('files behind links are never replaced', async () => {
  const [mahi, real, folder] = [new InstallationHere(), writeFiles(CLEAN), temporaryFolder()]
  for (const name of Object.keys(CLEAN)) symlinkSync(join(real, name), join(folder, name))
  const link = join(temporaryFolder(), 'link')
  symlinkSync(real, link)
  for (const to of [real, link, folder]) {
    const command = ['check', folder, '--definition', writeDefinition(), '--fix', to, '--overwrite']
    const { code, stderr } = await mahi.run(command)
    expect([code, stderr]).toEqual([2, expect.stringContaining('is the folder of the files to check')])
  }
  expect(readFileSync(join(real, 'members.csv'), 'utf8')).toBe(MEMBERS)
})

test('a killed command leaves no copy that is not complete', async () => {
  const mahi = new InstallationHere()
  const from = writeFiles({ ...CLEAN, 'book-loans.csv': LOANS + 'L9,M1,,,1.00 \n'.repeat(20_000) })
  const to = join(temporaryFolder(), 'fixed')
  const command = ['check', from, '--definition', writeDefinition(), '--fix', to, '--overwrite']
  const running = mahi.start(command)
  while (!existsSync(to) || readdirSync(to).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 1))
  running.kill('SIGKILL')
  await running.ended
  const left = readdirSync(to).filter((name) => !name.endsWith('.new'))
  const copies = left.map((name) => readFileSync(join(to, name), 'utf8'))
  await mahi.run(command)
  for (const [index, name] of left.entries())
    expect(readFileSync(join(to, name), 'utf8') === copies[index], name).toBe(true)
  expect(readdirSync(to).sort()).toEqual(['book-loans.csv', CHANGES, 'members.csv'])
})

async function fixHere(to: string, signal?: AbortSignal) {
  const files = inputsOf(writeFiles({ ...CLEAN, 'book-loans.csv': LOANS + 'L9,M1,,,1.00\n'.repeat(50_000) }))
  const definition = loadDefinition(writeDefinition())
  return await fixFiles({ definition, files }, chooseFixFolder(to, files, { overwrite: false }), signal)
}

test('a stop in the middle leaves no file', async () => {
  const to = temporaryFolder()
  await expect(fixHere(to, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
  expect(readdirSync(to)).toEqual([])
})

test.skipIf(!hasSmallDisk)('a full disk leaves no file, and is explained', async () => {
  const disk = SmallDisk.create(8)
  disk.fill(64 * 1024)
  await expect(fixHere(disk.folder)).rejects.toThrow(/cannot be written: the disk is full/)
  expect(readdirSync(disk.folder).sort()).toEqual(['filler', 'lost+found'])
})
