import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'
import { LIBRARY, LONG_LOAN, writeDefinition } from './support/definition.ts'
import { writeFiles } from './support/temporary.ts'

const MEMBERS = 'memberId,born,kind\nM1,x,01\nM2,,9\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n'
const FILES = { 'members.csv': MEMBERS, 'book-loans.csv': LOANS }
const WARNING = { 'members.csv': 'memberId,born,kind\nM1,,01\n', 'book-loans.csv': LOANS }
const SAMPLES = join(import.meta.dirname, '../samples/sdr')

/** Checks against the definition of a library, unless the parameters name another one. */
async function runCheck(...parameters: string[]) {
  return await new Installation().run(['check', '--definition', writeDefinition(), ...parameters])
}

async function checkFolder(files: Readonly<Record<string, string>>, ...options: string[]) {
  return await runCheck(writeFiles(files), ...options)
}

test('a terminal shows the causes, and the verdict as the last line', async () => {
  const { code, stdout, stderr } = await checkFolder({ ...FILES, 'members.csv': `${MEMBERS}M3,,9\n` })
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
  expect(lines.at(-3)).toBe(
    'Every code: --all. Every record: --format html --output report.html. Corrected copies, where only one repair is possible: --fix FOLDER.',
  )
})

test('corrected copies are recommended only if a file can be read', async () => {
  const { stdout } = await checkFolder({ 'members.csv': '%PDF-1.7', 'book-loans.csv': '%PDF-1.7' })
  expect(stdout).toContain('Every code: --all.')
  expect(stdout).not.toContain('--fix')
})

test('nothing of a file or a definition moves the cursor of a terminal', async () => {
  const evil = '\u001b]0;owned\u0007\u001b[31m\u009b31m\u202egnp\u2066\b\u007f'
  const files = {
    [`x${evil.replaceAll('\u0007', '')}.csv`]: 'a\n1\n',
    'members.csv': `memberId,born,kind,${evil}\nM1,${evil},${evil},x\n${evil},,01,x\n`,
    'book-loans.ndjson': `${JSON.stringify({ loanId: evil, memberId: evil, [evil]: 1 })}\n{"loanId":"${evil}\n`,
  }
  for (const options of [[], ['--all']]) {
    const { stdout, stderr } = await checkFolder(files, ...options)
    expect(stdout).toContain('members.csv')
    expect(`${stdout}${stderr}`).not.toMatch(/[\p{Cc}\p{Cf}](?<!\n)/u)
  }
  for (const typed of [[evil], ['check', `--${evil}`]]) {
    const { stderr } = await new Installation().run(typed)
    expect(stderr).toMatch(/^error: unknown (?:command|option) [^\p{Cc}\p{Cf}]*\n/u)
  }
})

test('a line end in a name of data begins no line', async () => {
  const files = { 'members\n2.csv': 'memberId,"bo\r\nrn",kind,"ot\nher"\nM1 ,,01,\n', 'x\ny.pdf': '%PDF-1.4' }
  const { stdout, stderr } = await checkFolder(files)
  expect(stderr.split('\n').filter((line) => !/^Note: |^$/.test(line))).toEqual([])
  expect(stdout).toMatch(/^Error +members\\u000a2\.csv:1 .* ot\\u000aher/m)
})

test('warnings alone exit 0, unless they are to fail', async () => {
  expect((await checkFolder(WARNING)).code).toBe(0)
  const { code, stdout } = await checkFolder(WARNING, '--fail-on', 'warning', '--all')
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^Warning +LOA-201 +1 /m)])
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
  [
    'an unknown code',
    ['members.csv', '--only', 'MEM-02'],
    / no code MEM-02.*\. mahi definitions show \/\S+ lists its codes\./,
  ],
  ['new findings without a baseline', ['members.csv', '--fail-on', 'new'], '--fail-on new needs --baseline'],
  [
    'a baseline that is something else',
    ['members.csv', '--baseline', 'members.csv'],
    'members.csv:1: is not a finding of an earlier run',
  ],
  [
    'one folder for two purposes',
    ['members.csv', '--fix', 'x', '--mark', 'x'],
    '--fix and --mark need different folders',
  ],
  ['a workbook without a folder for it', ['.', '--format', 'xlsx'], '--format xlsx needs --mark'],
])(
  '%s exits 2 and is explained, and nothing listens to signals afterwards',
  async (_case, parameters, message) => {
    const mahi = new Installation()
    const before = process.listenerCount('SIGINT')
    mahi.write('members.csv', MEMBERS)
    const command = ['check', ...parameters, '--definition', writeDefinition()]
    const { code, stdout, stderr } = await mahi.run(command)
    expect([code, stdout, process.listenerCount('SIGINT')]).toEqual([2, '', before])
    expect(stderr).toMatch(message)
  },
)

test.each<[string, string, RegExp]>([
  [
    'without resources',
    '{"mahi:notice": 1}',
    /^datapackage\.json: resources: is missing\ndatapackage\.json: \["mahi:notice"\]: must be text, not 1\n/,
  ],
  [
    'with broken SQL',
    LONG_LOAN.replace('from book_loans', 'from book_loan'),
    /rules\/LOA-201\.sql: SQLite refuses the query: no such table: book_loan\./,
  ],
])(
  'a definition %s exits 2, with every fault, and nothing is said of the files',
  async (_case, text, message) => {
    const folder = writeFiles(FILES)
    const definition = text.startsWith('{')
      ? writeFiles({ 'datapackage.json': text })
      : writeDefinition(LIBRARY, { 'rules/LOA-201.sql': text })
    const { code, stdout, stderr } = await runCheck(folder, '--definition', definition)
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(message)])
  },
)

test('NDJSON is the findings, which a publish and a later check accept', async () => {
  const { stdout, stderr, code } = await checkFolder(FILES, '--format', 'ndjson')
  expect([code, stderr]).toEqual([1, '2 errors and 1 warning in the 2 files that were checked.\n'])
  const mahi = new Installation()
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

  const run = join(writeFiles({ 'run.ndjson': stdout }), 'run.ndjson')
  const baseline = ['--baseline', run, '--fail-on', 'new']
  // Records and columns may have moved.
  const changed = { ...FILES, 'members.csv': 'kind,memberId,born\n8,M2,\n,M1,x\n' }
  const csv = await checkFolder(changed, ...baseline, '--format', 'csv')
  const rows = csv.stdout.replace('\ufeff', '').trim().split('\n')
  expect([csv.code, ...rows.map((line) => line.split(',').slice(0, 3).join())]).toEqual([
    1,
    'standing,errorType,errorCode',
    'new,Error,MEM-03-enum',
    'open,Error,MEM-02-type',
    'open,Warning,LOA-201',
  ])
  const same = await checkFolder(FILES, ...baseline)
  expect([same.code, same.stdout]).toEqual([
    0,
    expect.stringContaining('Since the earlier run: 0 new, 0 fixed, 3 still open.'),
  ])
})

test('a report replaces its file only when it is complete', async () => {
  const folder = writeFiles({ 'report.html': 'the old one' })
  const report = join(folder, 'report.html')
  const files = { 'members.csv': MEMBERS }
  const { code, stdout, stderr } = await checkFolder(files, '--format', 'html', '--output', report)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(
    /^3 errors and no warnings\. 1 file was checked; book-loans\.csv is missing, so 4 checks did not run\. The report is in .*report\.html\.\n/,
  )
  expect(readFileSync(report, 'utf8')).toMatch(/^<!doctype html>/)
  // It names students: nobody else may read it.
  if (process.platform !== 'win32') expect(statSync(report).mode & 0o777).toBe(0o600)
  mkdirSync(join(folder, 'taken'))
  expect((await checkFolder(files, '--output', join(folder, 'taken'))).code).toBe(2)
  expect(readdirSync(folder).sort()).toEqual(['report.html', 'taken'])
})

test('a report never takes the place of a file to check', async () => {
  const folder = writeFiles(FILES)
  const place = join(folder, 'members.csv')
  for (const args of [[folder], [place], [join(folder, 'book-loans.csv'), '--file', `members=${place}`]]) {
    const { code, stderr } = await runCheck(...args, '--format', 'csv', '--output', place)
    expect([code, stderr]).toEqual([
      2,
      `${place} is one of the files to check: name another file for --output\n`,
    ])
  }
  expect(readFileSync(place, 'utf8')).toBe(MEMBERS)
})

test('a code is explained, also by the official number', async () => {
  const explain = async (code: string, ...parameters: string[]) =>
    (await runCheck('--explain', code, ...parameters)).stdout
  expect(await explain('LOA-201')).toBe(
    'LOA-201 (Warning): The loan lasted … days, until returned.\n\nFile:            book-loans (book-loans.csv)\nFields:          returned\nWhy:             Others wait.\nFix:             Check the dates.\n',
  )
  // One of the two numbers of the check that replaces both.
  for (const number of ['362', '363'])
    expect(await explain(number, '--definition', 'sdr')).toMatch(/^ENR-203 /)
  expect(await explain('002', '--definition', 'sdr')).toMatch(
    /Official number: +002\n[\s\S]*not the official rule set/,
  )
})

test('the sample files are as a spreadsheet program left them or, with --all, have faults of every kind', async () => {
  const mahi = new Installation()
  const { stdout, code } = await mahi.run(['check', '--sample', 'mine'])
  expect([code, stdout]).toEqual([0, 'mahi check mine\n'])
  const names = readdirSync(join(SAMPLES, 'as-exported'))
  expect(readdirSync(join(mahi.folder, 'mine'))).toEqual(names)
  // They are not written over others.
  writeFileSync(join(mahi.folder, 'mine', 'learners.csv'), '')
  const again = await mahi.run(['check', '--sample', 'mine'])
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringMatching(/mine already has course-completions\.csv/),
  ])
  await mahi.run(['check', '--sample', 'all', '--all'])
  const all = readFileSync(join(mahi.folder, 'all/learners.csv'))
  expect(all.equals(readFileSync(join(SAMPLES, 'faulty/learners.csv')))).toBe(true)
})

test('the README shows what a check of the sample files prints, on one screen, and docs/checks.md parts of it', async () => {
  const root = join(import.meta.dirname, '..')
  const { stdout } = await new Installation().run(['check', join(SAMPLES, 'as-exported')])
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
