import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { ask, Installation, type RunningCommand, toLines } from '../support/command.ts'

const WAITING = 'Waiting for another change to finish…\n'
const LOCKED = /locked|busy|SQLITE_|deadlock|could not obtain/

const IMPORT = ['occupations', 'import', '--json', '-']
const PUBLISH = ['results', 'publish', '--eid', '1001', '--return', 'R1', '--json', '-']

/** An import that has begun and goes on until `finish` is called. */
async function holdImport(mahi: Installation): Promise<{ command: RunningCommand; finish: () => void }> {
  const input = new PassThrough()
  input.write(toLines([{ occupationCode: 'HELD' }]))
  const command = mahi.start(IMPORT, { input })
  await mahi.untilLocked()
  return { command, finish: () => input.end() }
}

function expectNoLock({ stdout, stderr }: { stdout: string; stderr: string }): void {
  expect(stdout + stderr).not.toMatch(LOCKED)
}

test('two imports at once: the second says that it waits, and then is made on what the first has left', async () => {
  const mahi = new Installation({ inProcesses: true })
  const first = await holdImport(mahi)
  const input = toLines([{ occupationCode: 'HELD', titleEnglish: 'changed' }, { occupationCode: 'NEW' }])
  const second = mahi.start(IMPORT, { input })
  await second.output(/Waiting/)
  first.finish()
  const outcomes = await Promise.all([first.command.ended, second.ended])
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0])
  expect(second.stderr).toBe(WAITING)
  expect(outcomes.map(({ stdout }) => JSON.parse(stdout))).toMatchObject([
    { created: 1 },
    { created: 1, updated: 1 },
  ])
  const [one, two] = outcomes.map(({ stdout }) => JSON.parse(stdout).lastUpdatedDate as string)
  expect(two && one && two > one).toBe(true)
})

test('a server starts and serves the old catalogue during an import, and the new one after it', async () => {
  const mahi = await new Installation({ inProcesses: true }).fill([{ occupationCode: 'OLD' }])
  const first = await holdImport(mahi)
  const { command, url } = await mahi.serve({ OCCUPATIONS_ACCESS: 'public' })
  const codes = async () => {
    const page = (await (await ask(`${url}/v1/occupations`)).json()) as {
      data: { occupationCode: string }[]
    }
    return page.data.map(({ occupationCode }) => occupationCode)
  }
  expect(await codes()).toEqual(['OLD'])
  const exported = await mahi.run(['occupations', 'export'])
  expect(exported.stdout).toMatch(/^\{"occupationCode":"OLD"[^\n]*\n$/)

  first.finish()
  expect((await first.command.ended).code).toBe(0)
  await expect.poll(codes).toEqual(['HELD', 'OLD'])
  command.kill('SIGTERM')
  const outcome = await command.ended
  expect(outcome.code).toBe(0)
  expectNoLock(outcome)
})

test('any number of commands and servers that make one new database at once all succeed', async () => {
  const mahi = new Installation({ inProcesses: true })
  const serving = [mahi.serve(), mahi.serve()]
  const commands = [
    mahi.start(IMPORT, { input: toLines([{ occupationCode: 'A' }]) }),
    mahi.start(IMPORT, { input: toLines([{ occupationCode: 'B' }]) }),
    mahi.start(['keys', 'create', '--client', 'a', '--json']),
    mahi.start(PUBLISH, { input: toLines([{ localId: 'L1' }]) }),
    mahi.start(['migrate', '--json']),
  ]
  for (const { ended } of commands) {
    const outcome = await ended
    expectNoLock(outcome)
    expect(outcome.code).toBe(0)
    expect(() => JSON.parse(outcome.stdout)).not.toThrow()
  }
  for (const { command } of await Promise.all(serving)) {
    command.kill('SIGTERM')
    const outcome = await command.ended
    expectNoLock(outcome)
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
  }
  expect((await mahi.catalogue()).match(/(?<="occupationCode":")[^"]+/g)).toEqual(['A', 'B'])
})
