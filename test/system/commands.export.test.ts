import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { MAHI, toLines } from '../support/command.ts'
import { InstallationHere } from '../support/command-here.ts'
import { testWhere } from '../support/test-where.ts'

const SAMPLE = readFileSync(new URL('../../samples/occupations.ndjson', import.meta.url), 'utf8')

/** What is easily lost on the way: quotes, separators, line ends, letters beyond ASCII, empty and full records. */
const AWKWARD = [
  { occupationCode: '=1+1', titleEnglish: 'a "quoted", b; c\ttab' },
  { occupationCode: 'a,b', descriptionEnglish: 'one\ntwo\r\nthree\rfour', titleMaori: "'" },
  { occupationCode: 'Ā', titleMaori: 'Ngā kaimahi 😀', altJobTitlesMaori: ['a,b', '"', '\n'] },
  { occupationCode: '\u{10000}', renumeration: { payLowerBound: 0, payUpperBound: 1e21 } },
  { occupationCode: '\uffee', renumeration: { payLowerBound: 41000.55 }, trainingDuration: '[]' },
  { occupationCode: '0', registrationAuthority: { email: 'a@example.org' }, titleEnglish: 'null' },
]

describe.each(['ndjson', 'csv'])('%s', (format) => {
  test('the sample catalogue goes out and into another database without change', async () => {
    const mahi = new InstallationHere()
    const other = new InstallationHere()
    await mahi.run(['occupations', 'import', '-'], { input: SAMPLE + toLines(AWKWARD) })
    const count = SAMPLE.trimEnd().split('\n').length + AWKWARD.length

    const first = await mahi.run(['occupations', 'export', '--format', format])
    expect(first.code).toBe(0)
    expect(first.stderr).toMatch(new RegExp(`^Exported ${count} records from \\S+\\.\n$`))

    const parameters = ['occupations', 'import', '--keep-dates']
    // Two of the awkward records have no title.
    const withoutTitle = { count: 2, first: [expect.any(Object), expect.any(Object)] }
    const created = { created: count, updated: 0, unchanged: 0, deleted: 0, normalised: 0, withoutTitle }
    expect(await other.runJson([...parameters, '-'], { input: gzipSync(first.stdout) })).toEqual(created)
    const second = await other.run(['occupations', 'export', '--format', format])
    expect(second.stdout).toBe(first.stdout)

    const file = other.write(`again.${format}.gz`, gzipSync(first.stdout))
    expect(await other.runJson([...parameters, '--replace', file])).toEqual({
      ...created,
      created: 0,
      unchanged: count,
    })
    expect(await mahi.runJson(['occupations', 'import', '-'], { input: first.stdout })).toEqual({
      ...created,
      created: 0,
      unchanged: count,
    })
  })

  test('an empty catalogue is no record', async () => {
    const { code, stdout, stderr } = await (await new InstallationHere().migrate()).run([
      'occupations',
      'export',
      '--format',
      format,
    ])
    expect(code).toBe(0)
    expect(stdout.split('\n').filter((line) => line.startsWith('{'))).toEqual([])
    expect(stderr).toMatch(/^Exported 0 records from /)
    const imported = new InstallationHere()
    expect(await imported.runJson(['occupations', 'import', '-'], { input: stdout })).toMatchObject({
      created: 0,
    })
  })
})

test('NDJSON is one record a line, in the order of the codes', async () => {
  const mahi = await new InstallationHere().fill(AWKWARD)
  const { stdout } = await mahi.run(['occupations', 'export'])
  expect(stdout.endsWith('}\n')).toBe(true)
  const records = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(records.map(({ occupationCode }) => occupationCode)).toEqual([
    '0',
    '=1+1',
    'a,b',
    'Ā',
    '\uffee',
    '\u{10000}',
  ])
  for (const record of records) {
    const given = AWKWARD.find(({ occupationCode }) => occupationCode === record.occupationCode)
    expect(record).toEqual({ ...given, ...withoutBlanks(given), lastUpdatedDate: expect.any(String) })
  }
})

/** The one text that an import tidies: an alternative title that is a line end alone. */
function withoutBlanks(record: (typeof AWKWARD)[number] | undefined): object {
  return record?.altJobTitlesMaori === undefined ? {} : { altJobTitlesMaori: ['a,b', '"'] }
}

test('CSV names its columns by the fields of the interface', async () => {
  const { stdout } = await (await new InstallationHere().migrate()).run([
    'occupations',
    'export',
    '--format',
    'csv',
  ])
  const columns = stdout.trimEnd().split(',')
  expect(columns.slice(0, 3)).toEqual(['occupationCode', 'titleEnglish', 'titleMaori'])
  expect(columns).toContain('renumeration.payMidLowerBound')
  expect(columns).toContain('entryRequirements.entryYouMayNeedMaori')
  expect(columns.at(-1)).toBe('lastUpdatedDate')
  expect(new Set(columns).size).toBe(columns.length)
})

test('reading only the beginning causes no error', async () => {
  const records = Array.from({ length: 3000 }, (_, index) => ({
    occupationCode: `A${index}`,
    descriptionEnglish: 'x'.repeat(500),
  }))
  const mahi = await new InstallationHere().fill(records)
  const pipe = `set -o pipefail; "${process.execPath}" "$0" occupations export | head -n 1`
  const { code, stdout, stderr } = await mahi.spawn('bash', ['--norc', '-c', pipe, MAHI]).ended
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ occupationCode: 'A0' })
})

testWhere(existsSync('/dev/full'), 'a full disk can be tried where there is /dev/full')(
  'a failed write to standard output is reported',
  async () => {
    const mahi = await new InstallationHere().fill(AWKWARD)
    const script = `"${process.execPath}" "$0" occupations export > /dev/full`
    const { code, stderr } = await mahi.spawn('bash', ['--norc', '-c', script, MAHI]).ended
    expect(code).toBe(1)
    expect(stderr).toBe('Standard output has no space left on its disk; the output is incomplete\n')
  },
)

test('a file that is named is replaced by the whole catalogue, and nothing is left beside it', async () => {
  const mahi = await new InstallationHere().fill(AWKWARD)
  mahi.write('out/catalogue.csv', 'an older and longer one\n'.repeat(1000))
  mahi.write('out/catalogue.csv.new', 'left by a run that was killed')
  const parameters = ['occupations', 'export', '--format', 'csv']
  const { stdout } = await mahi.run(parameters)
  const { code, stdout: none, stderr } = await mahi.run([...parameters, '--output', 'out/catalogue.csv'])
  expect([code, none]).toEqual([0, ''])
  expect(stderr).toMatch(/^Exported 6 records from /)
  expect(mahi.read('out/catalogue.csv')).toBe(stdout)
  expect(readdirSync(join(mahi.folder, 'out'))).toEqual(['catalogue.csv'])
})

test.each([
  ['a folder', 'out', 'out is not a regular file. Name a file that can be replaced'],
  [
    'in no folder',
    'none/out',
    'none/out cannot be written: its folder does not exist. Create it, or name another one',
  ],
  [
    'below a file',
    'out/file/out',
    'out/file/out cannot be written: a part of its path is a file, not a folder',
  ],
])('a file that is %s is refused', async (_, path, message) => {
  const mahi = await new InstallationHere().fill(AWKWARD)
  mahi.write('out/file', '')
  const { code, stdout, stderr } = await mahi.run(['occupations', 'export', '--output', path])
  expect([code, stdout, stderr]).toEqual([1, '', `${message}\n`])
})

test('an unknown format is refused, and the available ones are listed', async () => {
  const { code, stdout, stderr } = await new InstallationHere().run([
    'occupations',
    'export',
    '--format',
    'xml',
  ])
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('Allowed choices are ndjson, csv, flat-csv, tables.')
})

test('long tables have every value once, and a Data Package that mahi check accepts', async () => {
  const mahi = await new InstallationHere().fill([
    ...AWKWARD,
    {
      occupationCode: '0110',
      titleEnglish: 'Teacher',
      altJobTitlesEnglish: ['Educator', 'Schoolteacher'],
      detailedWorkActivitiesEnglish: ['Plan lessons'],
      renumeration: { payLowerBound: 50_000, payUpperBound: 90_000 },
      minorGroups: [
        {
          minorGroupRelationType: 'Primary',
          minorGroup: {
            code: '011',
            majorGroups: [
              { majorGroupRelationType: 'Primary', majorGroup: { code: '0' } },
              { majorGroupRelationType: 'Secondary', majorGroup: { code: '1' } },
            ],
          },
        },
      ],
    },
  ])
  const refused = await mahi.run(['occupations', 'export', '--format', 'tables'])
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('give a folder with --output')])
  const { code, stderr } = await mahi.run([
    'occupations',
    'export',
    '--format',
    'tables',
    '--output',
    'tables',
  ])
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^Exported 7 records from /)])
  const rowsOf = (name: string) =>
    readFileSync(join(mahi.folder, 'tables', `${name}.csv`), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('0110,'))
  expect(rowsOf('names')).toEqual([
    '0110,en,title,1,Teacher',
    '0110,en,alternative,1,Educator',
    '0110,en,alternative,2,Schoolteacher',
  ])
  expect(rowsOf('tasks')).toEqual(['0110,en,1,Plan lessons'])
  expect(rowsOf('groups')).toEqual(['0110,1,Primary,011,,Primary,0,', '0110,2,Primary,011,,Secondary,1,'])
  expect(rowsOf('pay')).toEqual(['0110,10,50000', '0110,90,90000'])
  const checked = await mahi.run(['check', 'tables'])
  expect(checked.stdout + checked.stderr).toContain('No findings in the 5 files that were checked.')
})
