import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Cluster } from '../support/cluster.ts'
import { ask, Installation, type Outcome, type RunningCommand, until } from '../support/command.ts'
import { Attempts, CUT_COMMANDS, type CutCommand, type Left } from '../support/cut-commands.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { Random } from '../support/random.ts'
import { readState, type State } from '../support/state.ts'
import { Tally } from '../support/tally.ts'
import { engine, temporaryFolder } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const KILLS = Number(process.env.MAHI_TEST_KILLS ?? '6')
const SEED = Number(process.env.MAHI_TEST_SEED ?? '1')
const SIZES = KILLS < 50 ? { records: 400, entries: 2000 } : { records: 2500, entries: 15_000 }
const LONG = { timeout: 600_000 + KILLS * 60_000 }
if (KILLS < 200)
  process.stderr.write(
    `REDUCED: ${KILLS} power cuts instead of 200: npm run test:long -- cuts makes them all\n`,
  )

/** What is killed: the command, what it relies on, or both at once. */
type Victim = 'command' | 'command and server' | 'PostgreSQL'
const VICTIMS: Partial<Record<Victim, number>> =
  engine === 'sqlite' ? { command: 7, 'command and server': 3 } : { command: 7, PostgreSQL: 3 }

/** The latest moment of a cut: a part of the time that the command took when nobody cut it. */
const LATEST = 1.1

/** The same where the work is, which a machine with more to do gets to later. */
const LATEST_WORK = 1.8

/** When a command begins to work: a part of the time that one takes which has nothing to do. */
const EARLIEST_WORK = 0.8

const { Cluster: Servers, hasCluster } =
  engine === 'postgres' ? await import('../support/cluster.ts') : { Cluster: undefined, hasCluster: false }
const testCuts = testWhere(engine === 'sqlite' || hasCluster, 'power cuts: there is no PostgreSQL to kill')

let cluster: Cluster | undefined
beforeAll(async () => {
  if (hasCluster) cluster = await Servers?.start()
})
afterAll(async () => {
  await cluster?.remove()
})

/** One database that is cut again and again, the commands that change it, and a server over it. */
class World {
  readonly mahi = new Installation({ inProcesses: true })
  readonly random = new Random(SEED)
  readonly attempts = new Attempts(this.mahi.folder, this.random, SIZES)
  readonly tally = new Tally(`${engine}, seed ${SEED}`)
  readonly url: string
  readonly environment: Record<string, string>
  state: State
  readonly #headers: Readonly<Record<string, string>>
  #start = 0
  #server: { command: RunningCommand; url: string } | undefined

  private constructor(url: string, state: State, headers: Readonly<Record<string, string>>) {
    this.url = url
    this.state = state
    this.#headers = headers
    this.environment = { DATABASE_URL: url, SQLITE_TMPDIR: this.mahi.folder }
  }

  static async create(url: string): Promise<World> {
    const { headers } = await fillDatabase(url, SIZES.records)
    return new World(url, await withDatabase(url, readState), headers)
  }

  /** How long a command takes that starts, reads and does nothing, in milliseconds. */
  async measureStart(): Promise<void> {
    const begun = performance.now()
    await this.mahi.runJson(['keys', 'list'], { environment: this.environment })
    this.#start = performance.now() - begun
  }

  /** A moment of a command: one half of them anywhere in it, the other where its work is. */
  chooseMoment(duration: number): number {
    if (this.random.chance(0.5)) return this.random.fraction() * LATEST * duration
    const from = Math.min(this.#start, duration) * EARLIEST_WORK
    return from + this.random.fraction() * (LATEST_WORK * duration - from)
  }

  /** How long each command takes when nobody cuts it, in milliseconds. */
  async measure(rounds: number): Promise<Map<CutCommand, number>> {
    const durations = new Map<CutCommand, number>()
    for (const command of CUT_COMMANDS) {
      const took: number[] = []
      for (let round = 0; round < rounds; round++) {
        const attempt = this.attempts.make(command, this.state)
        const begun = performance.now()
        const outcome = await this.mahi.run(attempt.parameters, { environment: this.environment })
        took.push(performance.now() - begun)
        expect([outcome.code, attempt.acknowledged(outcome)]).toEqual([0, true])
        await this.#judge(attempt, outcome)
      }
      durations.set(command, took.sort((a, b) => a - b)[rounds >> 1] ?? 0)
    }
    return durations
  }

  /** Cuts a command at a moment, starts the next server and looks at what is left. */
  async cut(command: CutCommand, duration: number): Promise<void> {
    const drawn = this.random.pick(VICTIMS as Record<Victim, number>)
    // A small number is to hold each of them as well.
    const victim = (Object.keys(VICTIMS) as Victim[])[this.tally.kills] ?? drawn
    if (victim === 'command and server') await this.serve()
    else if (this.random.chance(0.5)) await this.stopServer()
    const attempt = this.attempts.make(command, this.state)
    const moment = this.chooseMoment(duration)
    const running = this.mahi.start(attempt.parameters, { environment: this.environment })
    await sleep(moment)
    const killed = await this.#kill(victim, running)
    const outcome = await running.ended
    if (victim === 'PostgreSQL') expectExplained(outcome)
    if (!killed) expect([outcome.code, outcome.stderr.includes('not have happened')]).toEqual([0, false])

    let url = await this.serve()
    const before = this.state
    let left = await this.#judge(attempt, outcome)
    if (engine === 'sqlite' && killed && left === 'old') {
      // A commit may be in the log without any process that has the file open noticing it: then it is visible
      // once all of them have ended, if nothing was written meanwhile.
      await this.stopServer()
      this.state = before
      url = await this.serve()
      left = await this.#judge(attempt, outcome)
      if (left === 'new') this.tally.late++
    }
    if (killed) this.tally.count(command, victim, left, attempt.acknowledged(outcome))
    await this.#askServer(url)
    this.#checkFiles()
  }

  /** Starts a server where there is none, and waits until it is ready. */
  async serve(): Promise<string> {
    this.#server ??= await this.mahi.serve({ ...this.environment, ...UNLIMITED, LOG_LEVEL: 'info' })
    const { url } = this.#server
    expect((await ask(`${url}/readyz`)).status).toBe(200)
    return url
  }

  async stopServer(): Promise<void> {
    this.#server?.command.kill('SIGKILL')
    await this.#server?.command.ended
    this.#server = undefined
  }

  /** Kills and answers whether there was something to kill. */
  async #kill(victim: Victim, running: RunningCommand): Promise<boolean> {
    if (victim === 'PostgreSQL') {
      await cluster?.kill()
      await running.ended
      await cluster?.start()
      return true
    }
    if (running.child.exitCode !== null) return false
    running.kill('SIGKILL')
    if (victim !== 'command') await this.stopServer()
    return true
  }

  /** Waits until PostgreSQL is up and has noticed that the killed client is gone. */
  async #untilQuiet(): Promise<void> {
    await until(async () => {
      const rows = await cluster
        ?.query<{ count: string }>(
          `select count(*) as count from pg_stat_activity
           where application_name = 'mahi' and (state <> 'idle' or xact_start is not null)`,
        )
        .catch(() => undefined)
      return rows?.[0]?.count === '0' ? true : undefined
    })
  }

  async #judge(attempt: ReturnType<Attempts['make']>, outcome: Outcome): Promise<Left> {
    if (cluster !== undefined) await this.#untilQuiet()
    const now = await withDatabase(this.url, async (database) => {
      // Nobody is to wait for a lock of somebody who is gone.
      for (const lock of ['schema', 'catalogue', 'keys', 'run'] as const)
        await database.write(lock, async () => undefined)
      return await readState(database)
    })
    const left = attempt.judge(this.state, now, outcome)
    // What has been told to be done stays done.
    if (attempt.acknowledged(outcome)) expect(left).toBe('new')
    this.state = now
    return left
  }

  /** The server shows what is stored. */
  async #askServer(url: string): Promise<void> {
    const page = async (query: string) => {
      const response = await ask(`${url}/v1/occupations?Limit=1${query}`, { ...this.#headers })
      expect(response.status).toBe(200)
      return (await response.json()) as { totalCount: number }
    }
    await expect.poll(async () => (await page('')).totalCount).toBe(this.state.catalogue.size)
    const major = String(this.random.below(9))
    const inMajor = [...this.state.catalogue.values()].filter((document) =>
      document.includes(`"majorGroup":{"code":"${major}"}`),
    )
    await expect
      .poll(async () => (await page(`&Filter.MajorGroupCode=${major}`)).totalCount)
      .toBe(inMajor.length)
  }

  /** Nothing is left lying about but what the documents name. */
  #checkFiles(): void {
    // The last is for snapshots of the catalogue.
    const named = ['catalogue.ndjson', 'catalogue.ndjson.new', 'next.ndjson', 'run.ndjson', 'new', 'var']
    const database = ['mahi.db', 'mahi.db-wal', 'mahi.db-shm']
    const others = readdirSync(this.mahi.folder).filter((name) => ![...named, ...database].includes(name))
    expect(others).toEqual([])
  }
}

/** A command whose database goes away ends with an error that says so, or is done already. */
function expectExplained({ code, stdout, stderr }: Outcome): void {
  expect(stdout + stderr).not.toContain('internal error')
  if (code !== 0)
    expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(/127\.0\.0\.1:\d+\/\w+ /)])
}

testCuts(
  `${KILLS} kills at random moments each leave the old state or the new one, whole`,
  LONG,
  async () => {
    const folder = temporaryFolder()
    const url =
      cluster === undefined ? `sqlite:${join(folder, 'mahi.db')}` : await cluster.createDatabase('mahi')
    const world = await World.create(url)
    const durations = await world.measure(KILLS < 50 ? 1 : 3)
    await world.measureStart()
    const weights = { import: 40, publish: 30, key: 15, export: 15 }
    try {
      while (world.tally.kills < KILLS) {
        // A small number is to hold each of them as well.
        const command =
          world.tally.kills < CUT_COMMANDS.length
            ? CUT_COMMANDS[world.tally.kills]
            : world.random.pick(weights)
        if (command !== undefined) await world.cut(command, durations.get(command) ?? 0)
      }
    } finally {
      world.tally.print()
    }
    // After all of it every command runs to its end.
    await world.measure(1)
    expect(readdirSync(world.mahi.folder)).not.toContain('catalogue.ndjson.new')
    await world.stopServer()
  },
)
