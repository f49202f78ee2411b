import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Installation } from '../support/command.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Early Childhood Teacher', titleMaori: 'Kaiako kōhungahunga' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]

interface Found {
  totalCount: number
  results: { occupationCode: string; matchedField: string }[]
}

async function find(mahi: Installation, words: string): Promise<Found> {
  return (await mahi.runJson(['occupations', 'find', ...words.split(' ')])) as Found
}

describe('mahi occupations find', () => {
  test('prints the results, and with --json the response of the service', async () => {
    const mahi = await new Installation().fill(RECORDS)
    const { code, stdout, stderr } = await mahi.run(['occupations', 'find', 'kohungahunga'])
    expect([code, stderr]).toEqual([0, '1 occupation matches.\n'])
    expect(stdout).toMatch(/^0\.\d{3} {2}A1 {2}Early Childhood Teacher {2}\(Kaiako kōhungahunga\)\n$/)
    expect((await find(mahi, 'truk driver')).results[0]?.occupationCode).toBe('B2')
  })
})

test('mahi occupations import-synonyms stores a list of synonyms', async () => {
  const mahi = await new Installation().fill(RECORDS)
  mahi.write('synonyms.txt', '# British\nlorry = truck\n')
  expect(await mahi.runJson(['occupations', 'import-synonyms', 'synonyms.txt'])).toEqual({
    lines: 1,
    changed: true,
  })
  expect((await find(mahi, 'lorry driver')).results[0]?.occupationCode).toBe('B2')
  mahi.write('wrong.txt', 'lorry\n')
  const { code, stderr } = await mahi.run(['occupations', 'import-synonyms', 'wrong.txt'])
  expect([code, stderr]).toEqual([1, expect.stringContaining('wrong.txt:1: must have at least two phrases')])
  expect(await mahi.run(['occupations', 'import-synonyms', 'none.txt'])).toMatchObject({
    code: 1,
    stderr: 'none.txt: does not exist\nNothing was stored: 1 fault.\n',
  })
})

test('mahi occupations import-synonyms unpacks gzip, and replaces no list by what is no text', async () => {
  const mahi = await new Installation().fill(RECORDS)
  const packed = gzipSync('lorry = truck\n')
  mahi.write('synonyms.txt.gz', packed)
  const imported = ['occupations', 'import-synonyms']
  expect(await mahi.runJson([...imported, 'synonyms.txt.gz'])).toEqual({ lines: 1, changed: true })
  for (const [content, message] of [
    [packed.subarray(0, 20), 'gzip'],
    [Buffer.from('lorry = truck\n', 'utf16le'), 'The file is UTF-16. Save it as UTF-8'],
    [Buffer.from('ka\xefako = teacher\n', 'latin1'), 'is not UTF-8. Save the file as UTF-8'],
    ['lorry = truck\0\n', 'has NUL characters, so it is no text file'],
    ['', 'The file is empty'],
  ] as const) {
    mahi.write('wrong.txt', content)
    const { code, stderr } = await mahi.run([...imported, 'wrong.txt'])
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  }
  const input = 'lorry = truck\n'
  expect((await mahi.run([...imported, '-'], { input })).stderr).toBe('The synonyms are unchanged.\n')
})

describe('mahi occupations code', () => {
  test('adds code, certainty and candidates to the rows of a CSV file', async () => {
    const mahi = await new Installation().fill(RECORDS)
    mahi.write('jobs.csv', 'person,title\n1,truck driver\n2,"teacher, early childhood"\n3,\n')
    const { code, stdout, stderr } = await mahi.run(['occupations', 'code', 'jobs.csv'])
    expect([code, stderr]).toEqual([0, '2 of 3 titles have a code; 1 has none.\n'])
    const [header, ...rows] = stdout.trim().split('\n')
    expect(header).toMatch(
      /^person,title,code,certainty,group,candidate1,candidate1Title,candidate1Certainty,/,
    )
    expect(rows[0]).toMatch(/^1,truck driver,B2,(?:0\.9\d*|1),,B2,Truck Driver,/)
    expect(rows[1]).toContain(',A1,')
    expect(rows[2]).toMatch(/^3,,,0,,/)
  })

  test('reads the separator of a spreadsheet, and refuses text that is not UTF-8 by its line', async () => {
    const mahi = await new Installation().fill(RECORDS)
    mahi.write('jobs.csv', '\ufeffperson;title\n1;kaiako kōhungahunga\n')
    const { stdout } = await mahi.run(['occupations', 'code', 'jobs.csv'])
    expect(stdout).toContain('1,kaiako kōhungahunga,A1,')
    mahi.write('jobs.csv', Buffer.from('person,title\n1,truck driver\n2,café manager\n', 'latin1'))
    const { code, stderr } = await mahi.run(['occupations', 'code', 'jobs.csv', '--output', 'coded.csv'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('jobs.csv:3: ')])
    expect(stderr).toContain('is not valid UTF-8')
    expect(() => mahi.read('coded.csv')).toThrow('ENOENT')
  })

  test('reads standard input and gzip', async () => {
    const mahi = await new Installation().fill(RECORDS)
    const titles = 'title\ntruck driver\n'
    const { code, stdout } = await mahi.run(['occupations', 'code', '-'], { input: titles })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\ntruck driver,B2,/)])
    mahi.write('jobs.csv.gz', gzipSync(titles))
    expect((await mahi.run(['occupations', 'code', 'jobs.csv.gz'])).stdout).toBe(stdout)
  })

  test('writes the header for a file without rows', async () => {
    const mahi = await new Installation().fill(RECORDS)
    mahi.write('jobs.csv', 'person,title\n')
    const { code, stdout, stderr } = await mahi.run(['occupations', 'code', 'jobs.csv'])
    expect([code, stderr]).toEqual([0, '0 of 0 titles have a code.\n'])
    expect(stdout).toMatch(/^\ufeffperson,title,code,certainty,[\w,]+\n$/)
  })

  test('neither repeats a column nor takes the place of its input', async () => {
    const mahi = await new Installation().fill(RECORDS)
    mahi.write('jobs.csv', 'title\ntruck driver\n')
    const code = ['occupations', 'code']
    expect(await mahi.run([...code, 'jobs.csv', '--output', './jobs.csv'])).toMatchObject({
      code: 1,
      stderr: './jobs.csv is one of the files to read: name another file for --output\n',
    })
    expect(mahi.read('jobs.csv')).toBe('title\ntruck driver\n')
    await mahi.run([...code, 'jobs.csv', '--output', 'coded.csv'])
    expect(await mahi.run([...code, 'coded.csv'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        'coded.csv:1: has a column "code", which the result adds: rename or remove it',
      ),
    })
  })

  test('explains a file without titles, or that cannot be read', async () => {
    const mahi = await new Installation().fill(RECORDS)
    mahi.write('empty.csv', '')
    mahi.write('jobs.csv', 'job\ntruck driver\n')
    for (const [file, message] of [
      ['empty.csv', 'empty.csv: The file is empty. The first line must name the columns'],
      ['jobs.csv', 'jobs.csv:1: has no column "title"'],
      ['none.csv', 'none.csv: does not exist\n'],
    ] as const)
      expect(await mahi.run(['occupations', 'code', file])).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(message),
      })
  })
})
