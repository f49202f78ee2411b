import { existsSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Installation, MAHI, toLines } from '../support/command.ts'
import { parseLines } from '../support/lines.ts'
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
    const mahi = new Installation()
    const other = new Installation()
    await mahi.run(['occupations', 'import', '-'], { input: SAMPLE + toLines(AWKWARD) })
    const count = SAMPLE.trimEnd().split('\n').length + AWKWARD.length

    const first = await mahi.run(['occupations', 'export', '--format', format])
    expect(first.code).toBe(0)
    expect(first.stderr).toMatch(new RegExp(`^Exported ${count} records from \\S+\\.\n$`))

    const parameters = ['occupations', 'import', '--keep-dates']
    // Two of the awkward records have no title.
    const withoutTitle = { count: 2, first: [expect.any(Object), expect.any(Object)] }
    // One has a title that programs write for no value.
    const doubtful = { count: 1, first: [expect.objectContaining({ occupationCode: '0' })] }
    const created = {
      ...{ created: count, updated: 0, unchanged: 0, deleted: 0, normalised: 0 },
      ...(format === 'csv' ? { doubtful } : {}),
      withoutTitle,
    }
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
})

test('NDJSON is one record a line in the order of the codes, and CSV names its columns by the fields', async () => {
  const mahi = await new Installation().fill(AWKWARD)
  const { stdout } = await mahi.run(['occupations', 'export'])
  const records = parseLines<{ occupationCode: string }>(stdout)
  expect(records.map(({ occupationCode }) => occupationCode)).toEqual([
    ...['0', '=1+1', 'a,b', 'Ā', '\uffee', '\u{10000}'],
  ])
  // An alternative title that is a line end alone is the one text that an import tidies.
  const tidied = { ...AWKWARD[2], altJobTitlesMaori: ['a,b', '"'] }
  for (const given of [AWKWARD[0], AWKWARD[1], tidied])
    expect(records).toContainEqual({ ...given, lastUpdatedDate: expect.any(String) })
  const csv = await mahi.run(['occupations', 'export', '--format', 'csv'])
  const columns = csv.stdout.split('\n', 1)[0]?.split(',') ?? []
  expect(columns.slice(0, 3)).toEqual(['occupationCode', 'titleEnglish', 'titleMaori'])
  expect(columns).toContain('entryRequirements.entryYouMayNeedMaori')
  expect(columns.at(-1)).toBe('lastUpdatedDate')
})

testWhere(existsSync('/dev/full'), 'a full disk can be tried where there is /dev/full')(
  'a failed write to standard output is reported',
  async () => {
    const mahi = await new Installation().fill(AWKWARD)
    const script = `"${process.execPath}" "$0" occupations export > /dev/full`
    const { code, stderr } = await mahi.spawn('bash', ['--norc', '-c', script, MAHI]).ended
    expect(code).toBe(1)
    expect(stderr).toBe('Standard output has no space left on its disk; the output is incomplete\n')
  },
)

test.each([
  ['out', 'out is not a regular file. Name a file that can be replaced'],
  ['none/out', 'none/out cannot be written: its folder does not exist. Create it, or name another one'],
  ['out/file/out', 'out/file/out cannot be written: a part of its path is a file, not a folder'],
])('an export to %s is refused', async (path, message) => {
  const mahi = await new Installation().fill(AWKWARD)
  mahi.write('out/file', '')
  const { code, stdout, stderr } = await mahi.run(['occupations', 'export', '--output', path])
  expect([code, stdout, stderr]).toEqual([1, '', `${message}\n`])
})
