import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'
import { InstallationHere } from './support/command-here.ts'
import { LIBRARY, LONG_LOAN, writeDefinition } from './support/definition.ts'
import { writeFiles } from './support/temporary.ts'

const MEMBERS = 'memberId,born,kind\nM1,x,01\nM2,,9\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n'
const CLEAN = 'memberId,born,kind\nM1,,01\n'
const WARNING = { 'members.csv': CLEAN, 'book-loans.csv': LOANS }

async function checkFolder(files: Readonly<Record<string, string>>, ...options: string[]) {
  const mahi = new InstallationHere()
  const folder = writeFiles(files)
  const { code, stdout, stderr } = await mahi.run([
    'check',
    folder,
    '--definition',
    writeDefinition(),
    ...options,
  ])
  return { code, stdout, stderr, folder }
}

test('a terminal shows the causes, and the verdict as the last line', async () => {
  const { code, stdout, stderr } = await checkFolder({
    'members.csv': `${MEMBERS}M3,,9\n`,
    'book-loans.csv': LOANS,
  })
  expect([code, stderr]).toEqual([1, ''])
  const lines = stdout.trimEnd().split('\n')
  expect(lines[0]).toBe(
    '2 files with 4 records, checked against library 1 for the return 202512 as of 2025-12-31.',
  )
  expect(lines[2]).toMatch(/^severity +first +findings +learners +what to fix$/)
  expect(lines[3]).toMatch(
    /^Error +members\.csv:\d+ +2 +2 +kind is wrong in 2 of 3 records: kind must be 01 or 02/,
  )
  expect(lines.at(-1)).toBe('3 errors and 1 warning in the 2 files that were checked.')
  expect(lines.at(-3)).toBe('Every code: --all. Every record: --format html --output report.html.')
})

test('a terminal shows at most 15 causes, and fits on one screen', async () => {
  const { stdout } = await new InstallationHere().run([
    'check',
    join(import.meta.dirname, '../samples/sdr/faulty'),
  ])
  const lines = stdout.trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(32)
  expect(lines.filter((line) => /^(?:Error|Warning) /.test(line))).toHaveLength(15)
  expect(stdout).toMatch(/\nAnd \d+ more causes with \d+ findings\.\n/)
  expect(lines.every((line) => line.length < 250)).toBe(true)
})

test('--all prints one line for each code, most frequent first, and the verdict last', async () => {
  const { code, stdout, stderr } = await checkFolder(
    { 'members.csv': `${MEMBERS}M3,,9\n`, 'book-loans.csv': LOANS },
    '--all',
  )
  expect([code, stderr]).toEqual([1, ''])
  const lines = stdout.split('\n')
  expect(lines[0]).toBe(
    '2 files with 4 records, checked against library 1 for the return 202512 as of 2025-12-31.',
  )
  expect(lines.slice(-3)).toEqual(['', '3 errors and 1 warning in the 2 files that were checked.', ''])
  expect(lines.slice(3, 6).map((line) => line.split(/\s{2,}/).slice(0, 5))).toEqual([
    ['Error', 'MEM-03-enum', '2', '66.7 %', '2'],
    ['Error', 'MEM-02-type', '1', '33.3 %', '1'],
    ['Warning', 'LOA-201', '1', '100.0 %', '1'],
  ])
  expect(lines[3]).toContain('Use one of the permitted values.')
})

test('warnings alone exit 0, unless they are to fail', async () => {
  expect((await checkFolder(WARNING)).code).toBe(0)
  expect((await checkFolder(WARNING, '--fail-on', 'warning')).code).toBe(1)
  expect(
    (
      await checkFolder(
        { ...WARNING, 'book-loans.csv': LOANS.replace('03-01', '01-02') },
        '--fail-on',
        'warning',
      )
    ).code,
  ).toBe(0)
})

test.each([
  ['no path', [], 'Name a folder with the files to check, or the files.'],
  [
    'a folder after --only',
    ['--only', 'LOA-001', '.'],
    'Name . before --only, which takes every word after it as a code.',
  ],
  [
    'a folder after --file',
    ['--file', 'members=members.csv', '.'],
    '--file .: must have the form NAME=FILE. Name a folder, or other files, before --file',
  ],
  ['an option that does not exist', ['--bogus', '.'], "error: unknown option '--bogus'"],
  ['a path that does not exist', ['/nowhere'], '/nowhere: does not exist'],
  [
    'a folder without files',
    ['.'],
    'has none of the files of the definition library: members.csv, book-loans.csv',
  ],
  [
    'a file that the definition does not know',
    ['member.csv'],
    /member\.csv: is not a file of the definition library \(did you mean "members\.csv"\?\)/,
  ],
  ['a file that is named twice', ['members.csv', 'members.csv'], 'members.csv: is named twice'],
  [
    'one file in two forms',
    ['members.csv', 'members.ndjson'],
    'members.ndjson: is members, and so is members.csv; name one of them',
  ],
  ['an unknown code', ['members.csv', '--only', 'MEM-02'], /The definition library has no code MEM-02/],
  ['an as-of date that is none', ['members.csv', '--as-of', '2025'], 'the as-of date must be a date'],
  ['new findings without a baseline', ['members.csv', '--fail-on', 'new'], '--fail-on new needs --baseline'],
  [
    'a baseline that is something else',
    ['members.csv', '--baseline', 'members.csv'],
    'members.csv:1: is not a finding of an earlier run',
  ],
])('%s exits 2 and is explained', async (_case, parameters, message) => {
  const mahi = new InstallationHere()
  for (const name of ['member.csv', 'members.csv', 'members.ndjson']) {
    if (parameters.includes(name)) mahi.write(name, MEMBERS)
  }
  const { code, stdout, stderr } = await mahi.run(['check', ...parameters, '--definition', writeDefinition()])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(message)
})

test.skipIf(process.platform === 'win32')(
  'a file that this user may not read exits 2 with what to do',
  async () => {
    const mahi = new Installation()
    const definition = writeDefinition()
    const folder = writeFiles({ 'members.csv': MEMBERS })
    for (const path of [mahi.folder, definition, folder]) chmodSync(path, 0o755)
    const closed = join(folder, 'members.csv')
    const gone = join(folder, 'book-loans.csv')
    chmodSync(closed, 0)
    // Nothing keeps root from reading a file.
    const user = process.getuid?.() === 0 ? { user: 65534 } : {}
    const check = async (...paths: string[]) =>
      await mahi.run(['check', ...paths, '--definition', definition], user)
    const advice = 'Give it read permission for the file and its folder'
    const sentence = `${closed}: cannot be read: this user has no permission. ${advice}\n`
    expect(await check(closed)).toMatchObject({ code: 2, stdout: '', stderr: sentence })
    symlinkSync('nowhere.csv', gone)
    expect((await check(folder)).stderr).toBe(sentence)
    chmodSync(folder, 0o311)
    expect((await check(folder)).stderr).toBe(sentence.replace(closed, folder))
  },
)

test('a faulty definition exits 2, with every fault', async () => {
  const mahi = new InstallationHere()
  const folder = writeFiles({ 'members.csv': MEMBERS, 'definition/datapackage.json': '{"name": 1}' })
  const { code, stderr } = await mahi.run(['check', folder, '--definition', join(folder, 'definition')])
  expect(code).toBe(2)
  expect(stderr).toMatch(/datapackage\.json: name: must be text, not 1\n/)
  expect(stderr).toMatch(/datapackage\.json: resources: is missing\n/)
})

test.each([
  ['broken SQL', 'book_loan', /rules\/LOA-201\.sql: SQLite refuses the query: no such table: book_loan\./],
  ['an unknown parameter', 'book_loans, (select :now as now)', /Missing named parameter "now"/],
])('a rule with %s exits 2, and nothing is said of the files', async (_case, changed, message) => {
  const definition = writeDefinition(LIBRARY, {
    'rules/LOA-201.sql': LONG_LOAN.replace('from book_loans', `from ${changed}`),
  })
  const mahi = new InstallationHere()
  const folder = writeFiles({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })
  const { code, stdout, stderr } = await mahi.run(['check', folder, '--definition', definition])
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(message)])
})

test('a check that fails listens to signals no longer than it runs', async () => {
  const before = process.listenerCount('SIGINT')
  expect((await new InstallationHere().run(['check', '/nowhere'])).code).toBe(2)
  expect(process.listenerCount('SIGINT')).toBe(before)
})

test('named files are checked alone; what needs the others is listed as not run', async () => {
  const mahi = new InstallationHere()
  mahi.write('book-loans.csv', LOANS)
  const { code, stdout } = await mahi.run(['check', 'book-loans.csv', '--definition', writeDefinition()])
  expect(code).toBe(0)
  expect(stdout).toContain('The file members.csv is missing. Not run: LOA-00-reference1, MEM-00-key.')
})

test('NDJSON is the findings, which a publish accepts, and the same on every run', async () => {
  const { stdout, stderr, code } = await checkFolder(
    { 'members.csv': MEMBERS, 'book-loans.csv': LOANS },
    '--format',
    'ndjson',
  )
  expect(code).toBe(1)
  expect(stderr).toBe('2 errors and 1 warning in the 2 files that were checked.\n')
  const again = await checkFolder({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS }, '--format', 'ndjson')
  expect(again.stdout).toBe(stdout)
  const mahi = new InstallationHere()
  const published = await mahi.run(
    ['results', 'publish', '--eid', '1001', '--return', '202512', '--token', 'submission-1', '-'],
    { input: stdout },
  )
  expect([published.code, published.stderr]).toEqual([0, 'Published run 1: 3 entries.\n'])
  const own = ['file', 'line', 'field', 'value', 'findingKey', 'cause']
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => Object.entries(JSON.parse(line)).filter(([name]) => !own.includes(name)))
  expect(await mahi.results('submission-1')).toEqual(entries.map((entry) => Object.fromEntries(entry)))
})

test('with a baseline, findings are new, open or fixed', async () => {
  const { stdout } = await checkFolder(
    { 'members.csv': MEMBERS, 'book-loans.csv': LOANS },
    '--format',
    'ndjson',
  )
  const run = join(writeFiles({ 'run.ndjson': stdout }), 'run.ndjson')
  const changed = { 'members.csv': 'kind,memberId,born\n8,M2,\n,M1,x\n', 'book-loans.csv': LOANS }
  const table = await checkFolder(changed, '--baseline', run, '--fail-on', 'new')
  expect(table.code).toBe(1)
  expect(table.stdout).toContain('Since the earlier run: 1 new, 1 fixed, 2 still open.')
  const csv = await checkFolder(changed, '--baseline', run, '--format', 'csv')
  const rows = csv.stdout
    .replace('\ufeff', '')
    .trim()
    .split('\n')
    .map((line) => line.split(',').slice(0, 3).join())
  expect(rows).toEqual([
    'standing,errorType,errorCode',
    'new,Error,MEM-03-enum',
    'open,Error,MEM-02-type',
    'open,Warning,LOA-201',
  ])
  const same = await checkFolder(
    { 'members.csv': MEMBERS, 'book-loans.csv': LOANS },
    '--baseline',
    run,
    '--fail-on',
    'new',
  )
  expect(same.code).toBe(0)
})

test('CSV opens in a spreadsheet, where no cell is a formula', async () => {
  const { stdout } = await checkFolder(
    { 'members.csv': 'memberId,born,kind\n"=1+1",,9\n', 'book-loans.csv': LOANS },
    '--format',
    'csv',
  )
  expect(stdout.startsWith('\ufefferrorType,errorCode,')).toBe(true)
  expect(stdout).toContain("'=1+1")
})

test('a report replaces its file only when it is complete', async () => {
  const folder = writeFiles({ 'report.html': 'the old one' })
  const { code, stdout, stderr } = await checkFolder(
    { 'members.csv': MEMBERS },
    '--format',
    'html',
    '--output',
    join(folder, 'report.html'),
  )
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(
    /^3 errors and no warnings\. 1 file was checked; book-loans\.csv is missing, so 4 checks did not run\. The report is in .*report\.html\.\n/,
  )
  expect(readFileSync(join(folder, 'report.html'), 'utf8')).toMatch(/^<!doctype html>/)
  // It names students: nobody else may read it.
  if (process.platform !== 'win32') expect(statSync(join(folder, 'report.html')).mode & 0o777).toBe(0o600)
  mkdirSync(join(folder, 'taken'))
  const failed = await checkFolder(
    { 'members.csv': MEMBERS },
    '--format',
    'html',
    '--output',
    join(folder, 'taken'),
  )
  expect(failed.code).toBe(2)
  expect(readdirSync(folder).sort()).toEqual(['report.html', 'taken'])
})

test('a report never takes the place of a file to check', async () => {
  const folder = writeFiles({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })
  const place = join(folder, 'members.csv')
  const mahi = new InstallationHere()
  const run = (...args: string[]) => mahi.run(['check', ...args, '--definition', writeDefinition()])
  for (const args of [[folder], [place], [join(folder, 'book-loans.csv'), '--file', `members=${place}`]]) {
    const { code, stderr } = await run(...args, '--format', 'csv', '--output', place)
    expect([code, stderr]).toEqual([
      2,
      `${place} is one of the files to check: name another file for --output\n`,
    ])
  }
  expect(readFileSync(place, 'utf8')).toBe(MEMBERS)
  expect((await run(folder, '--output', join(folder, 'report.txt'))).code).toBe(1)
})

test('SARIF names the checked files where they are', async () => {
  const { stdout, folder } = await checkFolder({ 'members.csv': MEMBERS }, '--format', 'sarif')
  for (const name of ['members.csv', 'book-loans.csv'])
    expect(stdout).toContain(`"uri":"${pathToFileURL(join(folder, name)).href}"`)
})

test('--json prints the summary', async () => {
  const { stdout, code } = await checkFolder({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS }, '--json')
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    errors: 2,
    warnings: 1,
    notRun: [],
    codes: [{ code: 'MEM-02-type', count: 1 }, {}, {}],
  })
})

test('a code is explained, also by the official number', async () => {
  const mahi = new InstallationHere()
  const { stdout, code } = await mahi.run([
    'check',
    '--explain',
    'LOA-201',
    '--definition',
    writeDefinition(),
  ])
  expect(code).toBe(0)
  expect(stdout).toBe(
    'LOA-201 (Warning): The loan lasted … days, until returned.\n\nFile:            book-loans (book-loans.csv)\nFields:          returned\nWhy:             Others wait.\nFix:             Check the dates.\n',
  )
  // One of the two numbers of the check that replaces both.
  for (const number of ['362', '363'])
    expect((await mahi.run(['check', '--explain', number])).stdout).toMatch(/^ENR-203 /)
  const official = await mahi.run(['check', '--explain', '002'])
  expect(official.stdout).toMatch(/Official number: +002\n/)
  expect(official.stdout).toMatch(/not the official rule set/)
})

test('the sample files are as a spreadsheet program left them, and are not written over others', async () => {
  const mahi = new InstallationHere()
  const { stdout, code } = await mahi.run(['check', '--sample', 'mine'])
  expect([code, stdout]).toEqual([0, 'mahi check mine\n'])
  expect(readdirSync(join(mahi.folder, 'mine'))).toEqual([
    'course-completions.csv',
    'courses.csv',
    'enrolments.csv',
    'learners.csv',
    'quals completed FINAL.csv',
  ])
  expect((await mahi.run(['check', 'mine'])).code).toBe(1)
  writeFileSync(join(mahi.folder, 'mine', 'learners.csv'), '')
  const again = await mahi.run(['check', '--sample', 'mine'])
  expect(again.code).toBe(2)
  expect(again.stderr).toMatch(/mine already has course-completions\.csv/)
})

test('the surest of several files for one is read, and the others are listed with what to do', async () => {
  const mahi = new InstallationHere()
  const copy = (name: string, as: string) => {
    mkdirSync(join(mahi.folder, 'mine'), { recursive: true })
    copyFileSync(join(import.meta.dirname, '../samples/sdr/clean', name), join(mahi.folder, 'mine', as))
  }
  for (const name of readdirSync(join(import.meta.dirname, '../samples/sdr/clean'))) copy(name, name)
  copy('learners.csv', 'Learners 2025.csv')
  writeFileSync(join(mahi.folder, 'mine/mahi-changes.csv'), 'file,line,field,before,after,why\n')
  const { code, stdout, stderr } = await mahi.run(['check', 'mine'])
  expect(code).toBe(1)
  expect(stdout).toContain(
    'Learners 2025.csv was not read: learners.csv was read in its place. Remove it, or use --file learners="Learners 2025.csv".',
  )
  expect(stdout + stderr).not.toContain('mahi-changes')
  rmSync(join(mahi.folder, 'mine/learners.csv'))
  const alone = await mahi.run(['check', 'mine'])
  expect(alone.stdout).toMatch(/No findings in the 5 files that were checked\.\n$/)
  expect(alone.stderr).toContain(
    'The file Learners 2025.csv was read as learners.csv, because its name matches LEAR*.',
  )
})

test('the README shows what a check of the sample files prints, on one screen, and docs/checks.md parts of it', async () => {
  const root = join(import.meta.dirname, '..')
  const { stdout } = await new InstallationHere().run(['check', join(root, 'samples/sdr/as-exported')])
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  expect(readme).toContain(`mahi check my-files\n\`\`\`\n\n\`\`\`text\n${stdout}\`\`\`\n`)
  const printed = stdout.split('\n')
  expect(printed.length).toBeLessThanOrEqual(30)
  const page = readFileSync(join(root, 'docs/checks.md'), 'utf8')
  const [, shown = ''] = /\$ mahi check samples\/sdr\/as-exported\n(.*?)\n```/s.exec(page) ?? []
  // Lines are left out, and shown as an ellipsis.
  const lines = shown.split('\n').filter((line) => line !== '…')
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.filter((line) => !printed.includes(line))).toEqual([])
})

test('the sample files with faults of every kind are written by --sample with --all', async () => {
  const mahi = new InstallationHere()
  expect((await mahi.run(['check', '--sample', 'mine', '--all'])).code).toBe(0)
  expect(readdirSync(join(mahi.folder, 'mine'))).toContain('qualification-completions.csv')
  const { stdout } = await mahi.run(['check', 'mine', '--all'])
  for (const code of ['LEA-00-header', 'ENR-203', 'QCO-206']) expect(stdout).toContain(code)
})
