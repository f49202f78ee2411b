import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ArchiveLimits, Containers } from '../src/engines/checking/engine/unpack.ts'
import { listGaps } from '../src/engines/checking/report/report.ts'
import { checkPaths } from './support/checking.ts'
import { LIBRARY, writeDefinition } from './support/definition.ts'
import { pack } from './support/pack.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'
import { makeXlsx, type XlsxCell } from './support/xlsx.ts'

const MEMBERS = 'memberId,born,kind\nM1,,01\nM2,x,02\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-01-17,1.50\n'
const toRows = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','))
const SHEETS = { members: toRows(MEMBERS), book_loans: toRows(LOANS) }

function open(limits: Partial<ArchiveLimits> = {}): Containers {
  const containers = new Containers(limits)
  onTestFinished(() => containers.remove())
  return containers
}

/** What is found in paths, and what is said of what was not read. */
async function look(...parameters: Parameters<typeof checkPaths>) {
  const { summary, findings, notes } = await checkPaths(...parameters)
  return {
    notes,
    gaps: listGaps(summary),
    messages: findings.map(({ errorDescription }) => errorDescription),
    found: findings.map(({ file, line, errorCode, value = '' }) => `${file}:${line} ${errorCode} ${value}`),
  }
}

/** The same of one file of this name. */
const lookAt = (name: string, content: string | Uint8Array) =>
  look([join(writeFiles({ [name]: content }), name)])

describe('a ZIP archive', () => {
  test.each(['', 'my return/'])(
    'is checked like its files, in the folder "%s", whatever a system added',
    async (prefix) => {
      const junk = { '__MACOSX/._members.csv': 'x', [`${prefix}.DS_Store`]: 'x' }
      const files = { [`${prefix}members.csv`]: MEMBERS, [`${prefix}book-loans.csv`]: LOANS }
      expect(await lookAt('return.zip', await pack({ ...files, ...junk }))).toMatchObject({
        found: ['return.zip/members.csv:3 MEM-02-type x'],
        notes: [],
        gaps: [],
      })
    },
  )

  test('with a Data Package is checked against its own descriptor', async () => {
    const schema = { fields: [{ name: 'people', type: 'integer' }] }
    const files = {
      'p/datapackage.json': JSON.stringify({
        resources: [{ name: 'towns', path: 'data/towns.csv', schema }],
      }),
      'p/data/towns.csv': 'people\n12\nmany\n',
    }
    const path = join(writeFiles({ 'package.zip': await pack(files) }), 'package.zip')
    const { found } = await look([path], ([folder = '']) => folder)
    expect(found).toEqual(['package.zip/data/towns.csv:3 towns-01-type many'])
  })

  test.each([
    ['damaged bytes', async () => Buffer.from('PK\u0003\u0004 and no more'), /return\.zip: is not a ZIP/],
    [
      'a cut end',
      async () => (await pack({ 'members.csv': MEMBERS })).subarray(0, 60),
      /return\.zip: is not a ZIP/,
    ],
    ['a path outside', async () => await pack({ '../outside.csv': 'x' }), /outside of the archive/],
    // The folder for its files may be called 1.
    [
      'a path to a folder beside',
      async () => await pack({ '../1b/outside.csv': 'x' }),
      /outside of the archive/,
    ],
    ['one file twice', async () => await pack({ 'a.csv': 'x', './a.csv': 'y' }), /is twice/],
    ['no file of a return', async () => await pack({ 'a.csv': 'x' }), /^return\.zip: has none of the files/],
    ['nothing', async () => await pack({}), /empty ZIP|is not a ZIP/],
  ] as const)('with %s is refused in a sentence', async (_, make, reason) => {
    await expect(lookAt('return.zip', await make())).rejects.toThrow(reason)
  })

  test('that was cut off anywhere is refused without waiting for its rest', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const noise = Array.from({ length: 20_000 }, (_, at) => `${(at * 7919) % 10_007}`).join()
    const whole = await pack({ 'a.csv': 'x', 'members.csv': noise })
    const lengths = [0.01, 0.1, 0.5, 0.9, 0.99].map((share) => whole.length * share)
    for (const length of [...lengths, whole.length - 1])
      await expect(lookAt('return.zip', whole.subarray(0, length))).rejects.toThrow(
        'return.zip: is not a ZIP archive, or is damaged',
      )
  })

  test.each([
    ['one file', [1000], true],
    ['one file of a byte more', [1001], false],
    ['two files together', [600, 400], true],
    ['two files together of a byte more', [600, 401], false],
    ['a bomb', [5e7], false],
  ] as const)('may unpack to 1,000 bytes in all: %s', async (_case, sizes, isOpened) => {
    const files = sizes.map((size, at) => [`${at}.csv`, new Uint8Array(size)] as const)
    const path = join(writeFiles({ 'a.zip': await pack(Object.fromEntries(files)) }), 'a.zip')
    const opened = open({ unpackedBytes: 1000 }).openArchives([path])
    if (isOpened) expect(await opened).toHaveLength(1)
    else await expect(opened).rejects.toThrow('a.zip: unpacks to more than 1000 bytes')
  })

  test('may have so many files', async () => {
    const path = join(writeFiles({ 'a.zip': await pack({ a: 'a', b: 'b', c: 'c' }) }), 'a.zip')
    expect(await open({ files: 3 }).openArchives([path])).toHaveLength(1)
    await expect(open({ files: 2 }).openArchives([path])).rejects.toThrow('has more than 2 files and folders')
    const many = Array.from({ length: 300 }, (_, at) => [`${at}${'x'.repeat(4_000)}`, ''])
    const large = join(writeFiles({ 'a.zip': await pack(Object.fromEntries(many)) }), 'a.zip')
    await expect(open({ files: 2 }).openArchives([large])).rejects.toThrow('has more than 2 files')
  })

  /** Replaces bytes of an archive with one file, which begin so many behind each signature. */
  const replaceAt = (archive: Uint8Array, places: Record<string, number>, bytes: number[]) => {
    const changed = Buffer.from(archive)
    for (const [signature, at] of Object.entries(places))
      changed.set(bytes, changed.indexOf(signature, 0, 'latin1') + at)
    return changed
  }

  test.each([
    [
      'folders count',
      async () => await pack(Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`${at}/`, '']))),
      'has more than 1000 files and folders',
    ],
    [
      'nor is one too deep',
      async () => await pack({ [`${'a/'.repeat(20)}members.csv`]: MEMBERS }),
      'has folders in more than 19 folders',
    ],
    [
      'a wrong checksum is damage',
      async () => replaceAt(await pack({ 'members.csv': MEMBERS }), { 'PK\u0001\u0002': 16 }, [1, 2, 3, 4]),
      'members.csv: is damaged: its checksum is wrong',
    ],
    [
      'a method that nobody knows is named',
      async () => replaceAt(await pack({ 'members.csv': MEMBERS }), { 'PK\u0001\u0002': 10 }, [12, 0]),
      'members.csv: is compressed in a way',
    ],
  ] as const)('is refused: %s', async (_, make, reason) => {
    const path = join(writeFiles({ 'a.zip': await make() }), 'a.zip')
    await expect(open().openArchives([path])).rejects.toThrow(reason)
  })
})

describe('a workbook', () => {
  test('with a sheet for each file is checked like the files', async () => {
    const book = makeXlsx({ Notes: [['Prepared on Monday']], ...SHEETS })
    expect(await lookAt('Return 2025.xlsx', book)).toMatchObject({
      found: ['Return 2025.xlsx/members:3 MEM-02-type x'],
      notes: ['The file Return 2025.xlsx/book_loans was read as book-loans.csv.'],
      gaps: ['Return 2025.xlsx/Notes was not read: the definition has no such file.'],
    })
  })

  test('has sheets that are recognised by a title of the definition, or named with --file', async () => {
    const library = structuredClone(LIBRARY)
    Object.assign(library.resources[1] ?? {}, { title: 'Loans of books' })
    const definition = writeDefinition(library)
    const book = makeXlsx({ 'Loans of books': SHEETS.book_loans, 'People 2': SHEETS.members })
    const path = join(writeFiles({ 'return.xlsx': book }), 'return.xlsx')
    const named = await look([path], definition, ['members=return.xlsx/People 2'])
    expect(named).toMatchObject({
      found: ['return.xlsx/People 2:3 MEM-02-type x'],
      notes: [
        'The file return.xlsx/Loans of books was read as book-loans.csv, because its name is the title Loans of books.',
      ],
    })
    const { notes } = await look([path], definition)
    expect(notes).toContain(
      'The file return.xlsx/People 2 was read as members.csv, because it has its columns.',
    )
  })

  test('may be one for each file, in a folder beside other files', async () => {
    const folder = join(temporaryFolder(), 'mine')
    mkdirSync(folder)
    writeFileSync(join(folder, 'members.xlsx'), makeXlsx({ Sheet1: SHEETS.members }))
    writeFileSync(join(folder, 'book-loans.csv'), LOANS)
    expect((await look([folder])).found).toEqual(['members.xlsx/members:3 MEM-02-type x'])
  })

  test('has cells as a person would type them: codes, numbers, and dates in whatever form', async () => {
    const serial = (date: string) => Math.round(Date.parse(date) / 86_400_000) + 25_569
    const loan = (...cells: XlsxCell[]) => ['L', 'M1', ...cells]
    const members: XlsxCell[][] = [
      ['memberId', 'born', 'kind'],
      ['M1', { date: serial('1990-01-31') }, { number: 1, format: '00' }],
    ]
    const head = toRows(LOANS)[0] ?? []
    const day = { date: serial('2025-01-01') }
    const good = makeXlsx({
      members,
      book_loans: [head, loan(day, day, { xml: '<c><v>0.15000000000000002</v></c>' })],
    })
    expect((await lookAt('return.xlsx', good)).found).toEqual([])
    // What the cells do not show is not there.
    const bad = makeXlsx({
      members: [...members, ['M2', day, 1]],
      book_loans: [head, loan(day, day, { xml: '<c t="e"><v>#N/A</v></c>' })],
    })
    expect((await lookAt('return.xlsx', bad)).found).toEqual([
      'return.xlsx/members:3 MEM-03-enum 1',
      'return.xlsx/book_loans:2 LOA-05-type #N/A',
    ])
  })

  test('has findings that name the row of the sheet, below blank rows and line ends within cells', async () => {
    const [head = [], first = [], second = []] = SHEETS.members
    const broken = [...first.slice(0, 2), 'Two\nlines\nhere']
    const { found } = await lookAt(
      'members.xlsx',
      makeXlsx({ Sheet1: [[], head, broken, [], second, [], []] }),
    )
    expect(found.map((each) => each.split(' ').slice(0, 2).join(' '))).toEqual([
      'members.xlsx/members:3 MEM-03-enum',
      'members.xlsx/members:5 MEM-02-type',
    ])
  })

  test('that has a formula without a stored result has a finding, and no empty cell', async () => {
    const formula = (xml: string) => ({ xml: `<c><f>1+1</f>${xml}</c>` })
    const { found, messages } = await lookAt(
      'members.xlsx',
      makeXlsx({
        Sheet1: [
          ['memberId', 'born', 'kind'],
          ...['', '<v></v>', '<v>2025</v>'].map((xml, at) => [`M${at}`, '', formula(xml)]),
        ],
      }),
    )
    expect(found.map((each) => each.replace('members.xlsx/members:', ''))).toEqual([
      '1 MEM-00-file ',
      '2 MEM-03-enum =1+1',
      '3 MEM-03-enum =1+1',
      '4 MEM-03-enum 2025',
    ])
    expect(messages[0]).toBe(
      'The file has a formula without a stored result in C2 and 1 other cell: open the workbook in a spreadsheet program, which recalculates it, and save it.',
    )
  })
})

test('text with the name of a workbook is said to be text, and is checked', async () => {
  const { found, messages } = await look([writeFiles({ 'members.xlsx': MEMBERS, 'book-loans.csv': LOANS })])
  expect(found).toEqual(['members.xlsx:1 MEM-00-file ', 'members.xlsx:3 MEM-02-type x'])
  expect(messages[0]).toBe(
    'The file is text, not a spreadsheet in the XLSX format: give it a name that ends with .csv.',
  )
})

const PASSWORD = Buffer.concat([
  Buffer.from('d0cf11e0a1b11ae1', 'hex'),
  Buffer.alloc(512),
  Buffer.from('EncryptedPackage', 'utf16le'),
])

test.each<[string, Uint8Array, RegExp]>([
  ['protected', PASSWORD, /protected with a password/],
  ['damaged', Buffer.from('PK\u0003\u0004 and no more'), /is damaged/],
  ['too large', Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(21 * 2 ** 20)]), /20971520/],
  ['empty', makeXlsx({ Sheet1: [] }), /no sheet with data/],
  [
    'an HTML page',
    Buffer.from('<html><table><tr><td>memberId</td></tr></table></html>'),
    /is an HTML page, not a spreadsheet in the XLSX format: export it as CSV/,
  ],
])(
  'a workbook that is %s is refused alone, a finding in its place, and a line elsewhere',
  async (_, book, reason) => {
    await expect(lookAt('return.xlsx', book)).rejects.toThrow(/return\.xlsx: /)
    const own = await look([writeFiles({ 'members.xlsx': book, 'book-loans.csv': LOANS })])
    expect([own.found, own.messages[0]]).toEqual([
      ['members.xlsx:1 MEM-00-file '],
      expect.stringMatching(reason),
    ])
    const files = { 'members.csv': MEMBERS, 'book-loans.csv': LOANS, 'notes.xlsx': book }
    const other = await look([writeFiles(files)])
    expect(other.found).toEqual(['members.csv:3 MEM-02-type x'])
    expect(other.notes[0]).toMatch(/^notes\.xlsx was not read\. The file /)
    expect(other.notes[0]).toMatch(reason)
  },
)
