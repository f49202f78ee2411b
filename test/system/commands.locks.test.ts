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

test('during an import another one waits, and a server starts with the old catalogue, then with both changes', async () => {
  const mahi = await new Installation({ inProcesses: true }).fill([{ occupationCode: 'OLD' }])
  const first = await holdImport(mahi)
  const input = toLines([{ occupationCode: 'HELD', titleEnglish: 'changed' }, { occupationCode: 'NEW' }])
  const second = mahi.start(IMPORT, { input })
  await second.output(/Waiting/)
  const { command, url } = await mahi.serve({ OCCUPATIONS_ACCESS: 'public' })
  const codes = async () => {
    const page = (await (await ask(`${url}/v1/occupations`)).json()) as {
      data: { occupationCode: string }[]
    }
    return page.data.map(({ occupationCode }) => occupationCode)
  }
  expect(await codes()).toEqual(['OLD'])
  expect((await mahi.run(['occupations', 'export'])).stdout).toMatch(/^\{"occupationCode":"OLD"[^\n]*\n$/)

  first.finish()
  const outcomes = await Promise.all([first.command.ended, second.ended])
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0])
  expect(second.stderr).toBe(WAITING)
  const summaries = outcomes.map(({ stdout }) => JSON.parse(stdout))
  expect(summaries).toMatchObject([{ created: 1 }, { created: 1, updated: 1 }])
  expect(summaries[1].lastUpdatedDate > summaries[0].lastUpdatedDate).toBe(true)
  await expect.poll(codes).toEqual(['HELD', 'NEW', 'OLD'])
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
