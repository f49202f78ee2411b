import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { Installation } from '../support/command.ts'

const RECORDS = [
  { occupationCode: 'A1', titleEnglish: 'Early Childhood Teacher', titleMaori: 'Kaiako kōhungahunga' },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver' },
]

async function start() {
  const mahi = await new Installation().fill(RECORDS)
  const run = (...parameters: string[]) => mahi.run(['occupations', ...parameters])
  const findFirst = async (...words: string[]) => {
    const found = await mahi.runJson(['occupations', 'find', ...words])
    return (found as { results: { occupationCode: string }[] }).results[0]?.occupationCode
  }
  return { mahi, run, findFirst }
}

test('mahi occupations find prints the results, and with --json the response of the service', async () => {
  const { run, findFirst } = await start()
  const { code, stdout, stderr } = await run('find', 'kohungahunga')
  expect([code, stderr]).toEqual([0, '1 occupation matches.\n'])
  expect(stdout).toMatch(/^0\.\d{3} {2}A1 {2}Early Childhood Teacher {2}\(Kaiako kōhungahunga\)\n$/)
  expect(await findFirst('truk', 'driver')).toBe('B2')
})

test('mahi occupations import-synonyms unpacks gzip, and replaces no list by what is none', async () => {
  const { mahi, run, findFirst } = await start()
  const packed = gzipSync('# British\nlorry = truck\n')
  mahi.write('synonyms.txt.gz', packed)
  const stored = await mahi.runJson(['occupations', 'import-synonyms', 'synonyms.txt.gz'])
  expect(stored).toEqual({ lines: 1, changed: true })
  for (const [content, message] of [
    ['lorry\n', 'wrong.txt:1: must have at least two phrases'],
    [packed.subarray(0, 20), 'gzip'],
    [Buffer.from('lorry = truck\n', 'utf16le'), 'The file is UTF-16. Save it as UTF-8'],
    [Buffer.from('ka\xefako = teacher\n', 'latin1'), 'is not UTF-8. Save the file as UTF-8'],
    ['lorry = truck\0\n', 'has NUL characters, so it is no text file'],
    ['', 'The file is empty'],
  ] as const) {
    mahi.write('wrong.txt', content)
    const { code, stderr } = await run('import-synonyms', 'wrong.txt')
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  }
  const none = 'none.txt: does not exist\nNothing was stored: 1 fault.\n'
  expect(await run('import-synonyms', 'none.txt')).toMatchObject({ code: 1, stderr: none })
  const same = await mahi.run(['occupations', 'import-synonyms', '-'], { input: 'lorry = truck\n' })
  expect(same.stderr).toBe('The synonyms are unchanged.\n')
  expect(await findFirst('lorry', 'driver')).toBe('B2')
})

test('mahi occupations code adds code, certainty and candidates to the rows of each form of CSV', async () => {
  const { mahi, run } = await start()
  mahi.write('jobs.csv', 'person,title\n1,truck driver\n2,"teacher, early childhood"\n3,\n')
  const { code, stdout, stderr } = await run('code', 'jobs.csv')
  expect([code, stderr]).toEqual([0, '2 of 3 titles have a code; 1 has none.\n'])
  const [header, ...rows] = stdout.trim().split('\n')
  expect(header).toMatch(/^person,title,code,certainty,group,candidate1,candidate1Title,candidate1Certainty,/)
  expect(rows[0]).toMatch(/^1,truck driver,B2,(?:0\.9\d*|1),,B2,Truck Driver,/)
  expect(rows[1]).toContain(',A1,')
  expect(rows[2]).toMatch(/^3,,,0,,/)

  mahi.write('spreadsheet.csv', '\ufeffperson;title\n1;kaiako kōhungahunga\n')
  expect((await run('code', 'spreadsheet.csv')).stdout).toContain('1,kaiako kōhungahunga,A1,')
  const input = 'title\ntruck driver\n'
  const read = await mahi.run(['occupations', 'code', '-'], { input })
  expect(read).toMatchObject({ code: 0, stdout: expect.stringMatching(/\ntruck driver,B2,/) })
  mahi.write('jobs.csv.gz', gzipSync(input))
  expect((await run('code', 'jobs.csv.gz')).stdout).toBe(read.stdout)
  mahi.write('header.csv', 'person,title\n')
  expect(await run('code', 'header.csv')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\ufeffperson,title,code,certainty,[\w,]+\n$/),
    stderr: '0 of 0 titles have a code.\n',
  })
})

test('mahi occupations code explains what it cannot read, repeats no column and keeps its input', async () => {
  const { mahi, run } = await start()
  mahi.write('jobs.csv', 'title\ntruck driver\n')
  mahi.write('latin.csv', Buffer.from('person,title\n1,truck driver\n2,café manager\n', 'latin1'))
  mahi.write('empty.csv', '')
  mahi.write('untitled.csv', 'job\ntruck driver\n')
  await run('code', 'jobs.csv', '--output', 'coded.csv')
  for (const [file, message] of [
    ['latin.csv', /^latin\.csv:3: .*is not valid UTF-8/],
    ['empty.csv', /^empty\.csv: The file is empty\. The first line must name the columns/],
    ['untitled.csv', /^untitled\.csv:1: has no column "title"/],
    ['none.csv', /^none\.csv: does not exist\n/],
    ['coded.csv', /^coded\.csv:1: has a column "code", which the result adds: rename or remove it/],
  ] as const) {
    const { code, stdout, stderr } = await run('code', file, '--output', 'result.csv')
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(message)])
    expect(() => mahi.read('result.csv')).toThrow('ENOENT')
  }
  expect(await run('code', 'jobs.csv', '--output', './jobs.csv')).toMatchObject({
    code: 1,
    stderr: './jobs.csv is one of the files to read: name another file for --output\n',
  })
  expect(mahi.read('jobs.csv')).toBe('title\ntruck driver\n')
})
