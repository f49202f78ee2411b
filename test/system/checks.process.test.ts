import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadDefinition } from '../../src/engines/checking/definition/load.ts'
import { CheckFailed, checkFiles } from '../../src/engines/checking/engine/check-files.ts'
import { checkApart, places, toInputs } from '../support/checking.ts'
import { Installation, MAHI, until } from '../support/command.ts'
import { define, LIBRARY, LONG_LOAN, writeDefinition } from '../support/definition.ts'
import { requireProgram } from '../support/require-program.ts'
import { hasSmallDisk, SmallDisk } from '../support/small-disk.ts'
import { temporaryFolder, writeFiles } from '../support/temporary.ts'

const MEMBERS = 'memberId,born,kind\nM1,x,01\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A rule that never ends. */
const ENDLESS = LONG_LOAN.replace('LOA-201', 'LOA-202').replace(
  /select row[\s\S]*/,
  `with recursive numbers (n) as (select 1 union all select n + 1 from numbers)
select row, 1 as days from book_loans where (select count(*) from numbers) = 0`,
)
const withEndless = () =>
  writeDefinition(LIBRARY, { 'rules/LOA-201.sql': LONG_LOAN, 'rules/LOA-202.sql': ENDLESS })

/** The processes that check files for this test. */
function listChildren(): number[] {
  const text = execFileSync('ps', ['--ppid', String(process.pid), '-o', 'pid=,args='], { encoding: 'utf8' })
  return text
    .split('\n')
    .filter((line) => line.includes('checking/engine/child'))
    .map((line) => Number.parseInt(line, 10))
}

test('by npm, the paths of a command mean those of the folder where it was called', () => {
  const folder = temporaryFolder()
  const npm = ['--prefix', ROOT, 'run', '--silent', 'mahi', '--']
  execFileSync('npm', [...npm, 'check', '--sample', 'mine'], { cwd: folder, stdio: 'ignore' })
  expect(readdirSync(join(folder, 'mine'))).toContain('learners.csv')
})

test('a check in a process of its own finds the same as one in this process, and leaves nothing behind', async () => {
  const temporary = temporaryFolder()
  const result = await checkFiles(
    {
      definition: loadDefinition(writeDefinition()),
      files: toInputs({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS }),
    },
    { temporary },
  )
  expect(places(await Array.fromAsync(result.findings()))).toEqual([
    'MEM-02-type members.csv:2',
    'LOA-201 book-loans.csv:2',
  ])
  expect(readFileSync(result.path, 'utf8').split('\n')).toHaveLength(3)
  await result.dispose()
  expect(readdirSync(temporary)).toEqual([])
})

test('a rule that never ends is stopped and listed as not run; the others are run', async () => {
  const { summary, findings } = await checkApart(
    { 'members.csv': MEMBERS, 'book-loans.csv': LOANS },
    { definition: withEndless() },
    { limits: { ruleSeconds: 4 } },
  )
  expect(summary.notRun).toEqual([
    { code: 'LOA-202', reason: 'The rule was stopped: it took more than 4 seconds.' },
  ])
  expect(places(findings)).toEqual(['MEM-02-type members.csv:2', 'LOA-201 book-loans.csv:2'])
})

test.each([
  ['time', { seconds: 1 }, /^The check was stopped: it took more than 1 second\.$/],
  ['memory', { memoryBytes: 40 * 1024 ** 2 }, /needed more than \d+ MB of memory\.$/],
])('a check that exceeds its %s fails, and leaves nothing behind', async (_case, limits, message) => {
  const temporary = temporaryFolder()
  const checking = checkApart(
    { 'book-loans.csv': LOANS },
    { definition: withEndless() },
    { limits, temporary },
  )
  await expect(checking).rejects.toThrow(CheckFailed)
  await expect(checking).rejects.toThrow(message)
  expect(readdirSync(temporary)).toEqual([])
})

test('a check whose process is killed fails with a reason, and leaves nothing behind', async () => {
  const temporary = temporaryFolder()
  let running = false
  const checking = checkApart(
    { 'book-loans.csv': LOANS },
    { definition: withEndless() },
    { temporary, onProgress: ({ phase }) => (running = phase === 'rule') },
  )
  const ended = expect(checking).rejects.toThrow(
    /^The check was ended by SIGKILL before it was complete\. Run it again\.$/,
  )
  const pid = await until(() => (running ? listChildren()[0] : undefined))
  process.kill(pid, 'SIGKILL')
  await ended
  expect(readdirSync(temporary)).toEqual([])
})

test('a check ends with its parent, also in the middle of a rule, and leaves nothing behind', async () => {
  const temporary = temporaryFolder()
  const folder = writeFiles({ 'book-loans.csv': LOANS })
  const parent = spawn(process.execPath, [MAHI, 'check', folder, '--definition', withEndless()], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: 'ignore',
  })
  const list = () =>
    execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes('checking/engine/child'))
      .map((line) => line.trim().split(/\s+/).map(Number))
  const pid = await until(() => list().find(([, ppid]) => ppid === parent.pid)?.[0])
  // The tables of the rules are complete once the rules run.
  await until(() =>
    readdirSync(temporary, { recursive: true }).some((name) => String(name).endsWith('rules.db')),
  )
  parent.kill('SIGKILL')
  await until(() => (list().some(([each]) => each === pid) ? undefined : true))
  const left = readdirSync(temporary, { recursive: true, encoding: 'utf8' })
  expect(left.filter((name) => name.includes('work'))).toEqual([])
})

test('an aborted check ends at once with the reason of the signal, and its process is gone', async () => {
  const temporary = temporaryFolder()
  const abort = new AbortController()
  const reason = new Error('not needed any more')
  const checking = checkApart(
    { 'book-loans.csv': LOANS },
    { definition: withEndless() },
    { temporary, signal: abort.signal, onProgress: ({ phase }) => phase === 'rule' && abort.abort(reason) },
  )
  await expect(checking).rejects.toBe(reason)
  expect(readdirSync(temporary)).toEqual([])
  await until(() => listChildren().length === 0)
})

const canFill = requireProgram(hasSmallDisk, 'checks on a full disk', 'no file system can be mounted')

test.skipIf(!canFill)('a full disk leaves nothing behind', async () => {
  const disk = SmallDisk.create(16)
  disk.fill(2e6)
  const lines = Array.from({ length: 120_000 }, (_, index) => `M${index},x,9`).join('\n')
  const checking = checkApart(
    { 'members.csv': `memberId,born,kind\n${lines}\n` },
    {},
    { temporary: disk.folder },
  )
  await expect(checking).rejects.toThrow(
    'The disk has no room left for the check. Free some, and run it again.',
  )
  expect(readdirSync(disk.folder).filter((name) => name.startsWith('mahi-check-'))).toEqual([])
})

test('a file that this user may not read exits 2 with what to do', async () => {
  const mahi = new Installation({ inProcesses: true })
  const definition = writeDefinition()
  const folder = writeFiles({ 'members.csv': MEMBERS })
  for (const path of [mahi.folder, definition, folder]) chmodSync(path, 0o755)
  const closed = join(folder, 'members.csv')
  chmodSync(closed, 0)
  // Nothing keeps root from reading a file.
  const user = process.getuid?.() === 0 ? { user: 65534 } : {}
  const run = async (...paths: string[]) =>
    await mahi.run(['check', ...paths, '--definition', definition], user)
  const advice = 'Give it read permission for the file and its folder'
  const sentence = `${closed}: cannot be read: this user has no permission. ${advice}\n`
  expect(await run(closed)).toMatchObject({ code: 2, stdout: '', stderr: sentence })
  symlinkSync('nowhere.csv', join(folder, 'book-loans.csv'))
  expect((await run(folder)).stderr).toBe(`Note: book-loans.csv was not read: it is no file.\n${sentence}`)
  chmodSync(folder, 0o311)
  expect((await run(folder)).stderr).toBe(sentence.replace(closed, folder))
})

test('an interrupted --fix ends in the middle of a slow pattern, and leaves nothing behind', async () => {
  const temporary = temporaryFolder()
  const things = { fields: [{ name: 'value', constraints: { pattern: 'a*a*a*a*a*a*b' } }, { name: 'note' }] }
  const from = writeFiles({ 'things.csv': `value,note\n${'a'.repeat(2000)},x\n` })
  const to = join(temporary, 'fixed')
  const command = ['check', from, '--definition', define({ things }), '--fix', to]
  const mahi = new Installation({ inProcesses: true })
  const running = mahi.start(command, { environment: { TMPDIR: temporary } })
  const isFixing = () => readdirSync(temporary).some((name) => /^mahi-(?!check)/.test(name))
  await until(() => isFixing() || undefined)
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('was stopped') })
  expect(readdirSync(temporary).filter((name) => /^mahi-|^fixed$/.test(name))).toEqual([])
})

test('a killed --fix leaves no copy that is not complete', async () => {
  const mahi = new Installation({ inProcesses: true })
  const from = writeFiles({
    'members.csv': MEMBERS,
    'book-loans.csv': LOANS + 'L9,M1,,,1.00 \n'.repeat(20_000),
  })
  const to = join(temporaryFolder(), 'fixed')
  const command = ['check', from, '--definition', writeDefinition(), '--fix', to, '--overwrite']
  const running = mahi.start(command)
  await until(() => existsSync(to) && readdirSync(to).length > 0)
  running.kill('SIGKILL')
  await running.ended
  const left = readdirSync(to).filter((name) => !name.endsWith('.new'))
  const copies = left.map((name) => readFileSync(join(to, name), 'utf8'))
  await mahi.run(command)
  for (const [index, name] of left.entries())
    expect(readFileSync(join(to, name), 'utf8') === copies[index], name).toBe(true)
  expect(readdirSync(to).sort()).toEqual(['book-loans.csv', 'mahi-changes.csv', 'members.csv'])
})
