import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, inject, onTestFinished, test } from 'vitest'
import { soak } from '../../tools/soak/run.ts'
import { grow, judgeAlways, judgeTrends, type Window } from '../../tools/soak/verdict.ts'
import { Installation, until } from '../support/command.ts'
import { engine } from '../support/temporary.ts'
import { testOnSqlite } from '../support/test-where.ts'

// `npm run soak` runs for as long as one likes, and judges trends as well.
test('a mixed load with imports, publishes, returns, sessions and new keys leaves nothing behind', {
  timeout: 180_000,
}, async () => {
  const run = await soak({
    engine,
    postgres: engine === 'postgres' ? inject('postgresUrl') : undefined,
    minutes: 0.15,
    callers: 8,
    rate: 100,
    sizes: { records: 300, submissions: 3, findings: 1_000 },
  })
  expect(judgeAlways(run).filter(({ holds }) => !holds)).toEqual([])
  expect(run.answered - run.turnedAway).toBeGreaterThan(50)
  expect(run.commands.import).toBeGreaterThan(0)
  expect(run.commands.return).toBeGreaterThan(0)
  expect(run.commands.session).toBeGreaterThan(0)
})

testOnSqlite('a soak ends its processes')('the server and the worker of a soak end with it', async () => {
  const urlOf = (file: string) => JSON.stringify(new URL(`../../tools/soak/${file}.ts`, import.meta.url).href)
  const soak = new Installation().spawn(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { SoakedServer } from ${urlOf('server')}
     import { SoakedWorker } from ${urlOf('worker')}
     const { DATABASE_URL } = process.env
     await SoakedServer.start({ DATABASE_URL })
     new SoakedWorker({ DATABASE_URL })
     console.log('started')`,
  ])
  await soak.output(/started/)
  const { stdout } = spawnSync('ps', ['--ppid', `${soak.child.pid}`, '-o', 'pid='], { encoding: 'utf8' })
  const pids = stdout.trim().split('\n').map(Number)
  onTestFinished(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  expect(pids).toHaveLength(2)
  const exited = once(soak.child, 'exit')
  soak.kill('SIGTERM')
  expect(await exited).toEqual([null, 'SIGTERM'])
  await until(() => (pids.some(isAlive) ? undefined : true))
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Windows of a run in which nothing changes, but for what is given. */
function makeWindows(change: (index: number) => Partial<Window>): Window[] {
  return Array.from({ length: 24 }, (_, index) => ({
    minute: index,
    requests: 1000,
    p50: 1,
    p99: 10 + (index % 3),
    memory: 200e6 + (index % 5) * 1e6,
    resident: 300e6,
    heap: 25e6,
    pages: 10e6,
    handles: 50 + (index % 2),
    worker: 80e6,
    connections: 11,
    database: 50e6,
    log: 4e6,
    ...change(index),
  }))
}

function failing(change: (index: number) => Partial<Window>): string[] {
  const run = {
    engine,
    minutes: 24,
    poolSize: 10,
    windows: makeWindows(change),
    answered: 24_000,
    turnedAway: 0,
  }
  const rest = {
    unexpected: [],
    commands: {},
    commandFailures: [],
    logFaults: [],
    handlesBefore: 20,
    handlesAfter: 20,
  }
  const findings = judgeTrends({ ...run, ...rest, exitCodes: [0, 0] })
  return findings.filter(({ holds }) => !holds).map(({ rule }) => rule.split(/ levels| of the/)[0] ?? '')
}

test('a stable run is distinguished from one that leaks or slows down', () => {
  expect(failing(() => ({}))).toEqual([])
  // At the start caches fill and code is compiled.
  expect(failing((index) => ({ memory: index < 8 ? 100e6 + index * 12e6 : 200e6 }))).toEqual([])
  expect(failing((index) => (index === 20 ? { memory: 400e6, p99: 500 } : {}))).toEqual([])
  expect(failing((index) => ({ memory: 200e6 + index * 3e6 }))).toEqual(['memory'])
  expect(failing((index) => ({ worker: 80e6 + index * 2e6 }))).toEqual(["the worker's memory"])
  expect(failing((index) => ({ heap: 25e6 + index * 1e6 }))).toEqual(['heap'])
  expect(failing((index) => ({ handles: 50 + index }))).toEqual(['the number of handles'])
  expect(failing((index) => ({ database: 50e6 + index * 2e6 }))).toEqual(['the database'])
  expect(failing((index) => ({ log: 4e6 + index * 2e6 }))).toEqual(['the database'])
  expect(failing((index) => ({ p99: 10 + index }))).toEqual(['the 99th percentile'])
})

test('growth is that of most pairs, not that of the last value', () => {
  expect(grow([5, 5, 5, 5, 50])).toBe(0)
  expect(grow([0, 1, 2, 3, 4])).toBe(4)
  expect(grow([7])).toBe(0)
})
