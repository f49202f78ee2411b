import { spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { describe, expect } from 'vitest'
import { Installation, MAHI, toLines } from '../support/command.ts'
import { testWhere } from '../support/test-where.ts'

const OLD = Array.from({ length: 20 }, (_, index) => ({ occupationCode: `A${index}`, titleEnglish: 'old' }))

/** Enough to be read in many pieces, and to change every record that there is. */
const NEW = toLines(
  Array.from({ length: 5000 }, (_, index) => ({
    occupationCode: `A${index}`,
    titleEnglish: 'new',
    descriptionEnglish: 'x'.repeat(500),
  })),
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

  testTerminal('an import shows its progress, and in a pipe none', async () => {
    const mahi = new Installation({ inProcesses: true })
    const file = mahi.write('new.ndjson', NEW)
    const { code, stdout } = await onTerminal(mahi, `occupations import ${file}`).ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/\d+ % · [\d,]+ records/)
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
