import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { Installation, MAHI, type RunningCommand, toLines, until } from '../support/command.ts'
import { engine } from '../support/temporary.ts'
import { testOnSqlite, testWhere } from '../support/test-where.ts'

const testSqlite = testOnSqlite('crashes while the file is written, and a full disk')

const OLD = Array.from({ length: 20 }, (_, index) => ({ occupationCode: `A${index}`, titleEnglish: 'old' }))
const IMPORT = ['occupations', 'import', '--replace', '-']
const TOKEN = 'submission-1'
const PUBLISH = ['results', 'publish', '--eid', '1001', '--return', 'R1', '--token', TOKEN, '-']

/** Enough to be read in many pieces, and to change every record that there is. */
const NEW = toLines(
  Array.from({ length: 5000 }, (_, index) => ({
    occupationCode: `A${index}`,
    titleEnglish: 'new',
    descriptionEnglish: 'x'.repeat(500),
  })),
)

/** A command that has read half of its input, and waits for the rest. */
async function startHalf(
  mahi: Installation,
  parameters: readonly string[],
  text: string,
): Promise<RunningCommand> {
  const input = new PassThrough()
  const command = mahi.start(parameters, { input })
  const half = text.slice(0, text.length / 2)
  await new Promise((resolve) => input.write(half, resolve))
  await until(() => (command.child.stdin?.writableLength === 0 ? true : undefined))
  return command
}

describe.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)('%s in the middle', (signal) => {
  test('of an import leaves the old catalogue whole, and the next one is not in its way', async () => {
    const mahi = await new Installation({ inProcesses: true }).fill(OLD)
    const before = await mahi.catalogue()
    const command = await startHalf(mahi, IMPORT, NEW)
    await mahi.untilLocked()
    command.kill(signal)
    expect(await command.ended).toMatchObject({ code: null, signal, stdout: '' })
    expect(await mahi.catalogue()).toBe(before)
    expect(await mahi.runJson(IMPORT, { input: NEW })).toMatchObject({
      created: 4980,
      updated: 20,
      deleted: 0,
    })
  })
})

test('SIGKILL in the middle of a publish leaves the old run whole, and the next one is not in its way', async () => {
  const mahi = new Installation({ inProcesses: true })
  const old = [{ localId: 'OLD' }]
  const lines = toLines(Array.from({ length: 20_000 }, (_, index) => ({ localId: `N${index}` })))
  await mahi.runJson(PUBLISH, { input: toLines(old) })
  const command = await startHalf(mahi, PUBLISH, lines)
  command.kill('SIGKILL')
  await command.ended
  expect(await mahi.results(TOKEN)).toEqual(old)
  expect(await mahi.runJson(PUBLISH, { input: lines })).toMatchObject({ totalCount: 20_000 })
  expect(await mahi.results(TOKEN)).toHaveLength(20_000)
})

testSqlite('SIGKILL while changes are being written leaves the old catalogue or the new one', async () => {
  const mahi = await new Installation({ inProcesses: true }).fill(OLD)
  const log = `${mahi.databaseUrl.slice('sqlite:'.length)}-wal`
  const old = await mahi.catalogue()
  const input = toLines(
    Array.from({ length: 4000 }, (_, index) => ({
      occupationCode: `B${index}`,
      descriptionEnglish: 'x'.repeat(4000),
    })),
  )
  // Each goes a little further than the one before: the log grows while the changes are written.
  for (const size of [1, 1_000_000, 8_000_000]) {
    const command = mahi.start(IMPORT, { input })
    await until(() => {
      const gone = command.child.exitCode !== null
      return gone || (existsSync(log) && statSync(log).size > size) ? true : undefined
    })
    command.kill('SIGKILL')
    await command.ended
    const now = await mahi.catalogue()
    if (now !== old) {
      expect(now.match(/"occupationCode":"B/g)).toHaveLength(4000)
      expect(now).not.toContain('"occupationCode":"A')
      return
    }
  }
})

const hasLimit = spawnSync('bash', ['--norc', '-c', 'ulimit -f 1000']).status === 0
testWhere(engine === 'sqlite' && hasLimit, 'a full disk: there is no bash with ulimit to try it with')(
  'an import for which the disk has no room says so, and leaves the old catalogue whole',
  async () => {
    const mahi = await new Installation({ inProcesses: true }).fill(OLD)
    const before = await mahi.catalogue()
    const file = mahi.write('new.ndjson', NEW)
    const script = `ulimit -f 1000; exec "${process.execPath}" "$0" occupations import --replace ${file}`
    const { code, stdout, stderr } = await mahi.spawn('bash', ['--norc', '-c', script, MAHI]).ended
    expect([code, stdout]).toEqual([1, ''])
    const path = mahi.databaseUrl.slice('sqlite:'.length)
    expect(stderr.replace(path, 'FILE')).toMatch(
      /^FILE (?:has no space left on its disk, or on that of temporary files \(SQLITE_TMPDIR\)\. Nothing was changed\. Free some space and run the command again|cannot be read or written: the disk reports an error)\n$/,
    )
    expect(await mahi.catalogue()).toBe(before)
  },
)

const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
describe('on a terminal', () => {
  const testTerminal = testWhere(hasScript, 'the terminal: there is no script (util-linux) to make one with')

  /** Runs a command line on a separate terminal. */
  const onTerminal = (mahi: Installation, line: string, input?: PassThrough) =>
    mahi.spawn('script', ['-qec', `"${process.execPath}" "${MAHI}" ${line}`, '/dev/null'], {
      ...(input && { input }),
      environment: { TERM: 'xterm', SHELL: '/bin/sh' },
    })

  testTerminal('an import shows a bar, and in a pipe none', async () => {
    const mahi = new Installation({ inProcesses: true })
    const file = mahi.write('new.ndjson', NEW)
    const { code, stdout } = await onTerminal(mahi, `occupations import ${file}`).ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/[█░]{2,} \d+ % · [\d,]+ records/)
    expect(stdout).toContain('5,000 created')
    const piped = await mahi.run(['occupations', 'import', file])
    expect(piped.stderr).toBe('0 created, 0 updated, 5,000 unchanged, 0 deleted.\n')
  })

  testTerminal('Ctrl+C ends an import at once, and leaves the old catalogue', async () => {
    const mahi = await new Installation({ inProcesses: true }).fill(OLD)
    const before = await mahi.catalogue()
    const pipe = `${mahi.folder}/slow.ndjson`
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
    const terminal = new PassThrough()
    const command = onTerminal(mahi, 'occupations import --replace slow.ndjson', terminal)
    // Held open, so that the import waits for more.
    const writer = mahi.spawn(
      'bash',
      ['--norc', '-c', `exec 3>slow.ndjson; echo '{"occupationCode":"X"}' >&3; read -r`],
      {
        input: new PassThrough(),
      },
    )
    await command.output(/0 records/)
    await mahi.untilLocked()
    terminal.write('\u0003')
    expect((await command.ended).code).toBe(130)
    writer.kill('SIGKILL')
    expect(await mahi.catalogue()).toBe(before)
  })
})
