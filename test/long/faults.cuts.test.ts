import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { ask, Installation, type Outcome, type RunningCommand, toLines, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { Random } from '../support/random.ts'
import { readState, type State } from '../support/state.ts'
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

/** The commands that are cut, by how often. */
const COMMANDS = { import: 4, publish: 3 }
type Command = keyof typeof COMMANDS

/** What is killed: the command, what it relies on, or both at once. */
type Victim = 'command' | 'command and server' | 'PostgreSQL'
const VICTIMS: Partial<Record<Victim, number>> =
  engine === 'sqlite' ? { command: 7, 'command and server': 3 } : { command: 7, PostgreSQL: 3 }

/** Which state a cut has left. */
type Left = 'old' | 'new'

/** A command that is about to be cut, and what may have become of the database then. */
interface Attempt {
  readonly parameters: readonly string[]
  /** Fails unless the state after is the old one or the new one, whole. Nothing else may have changed either. */
  judge(before: State, after: State, outcome: Outcome): Left
}

const testCuts = testWhere(engine === 'sqlite' || hasCluster, 'power cuts: there is no PostgreSQL to kill')

let cluster: Cluster | undefined
beforeAll(async () => {
  if (engine === 'postgres' && hasCluster) cluster = await Cluster.start()
})
afterAll(async () => {
  await cluster?.remove()
})

/** Makes attempts of each kind, one after the other, on one database. */
class Attempts {
  readonly #folder: string
  readonly #random: Random
  #count = 0

  constructor(folder: string, random: Random) {
    this.#folder = folder
    this.#random = random
  }

  make(command: Command, before: State): Attempt {
    this.#count++
    return command === 'import' ? this.#import(before) : this.#publish(before)
  }

  /** A catalogue that has lost some of the old records, changed some, kept some and gained some. */
  #import(before: State): Attempt {
    const contents = new Map<string, string>()
    for (let number = 0; number < SIZES.records; number++) {
      if (this.#random.chance(0.15)) continue
      const code = `C${String(number).padStart(5, '0')}`
      const old = before.catalogue.get(code)
      const keep = old !== undefined && this.#random.chance(0.4)
      contents.set(code, keep ? withoutDate(old) : JSON.stringify(this.#record(code)))
    }
    this.#write('next.ndjson', [...contents.values()].map((content) => `${content}\n`).join(''))
    return {
      parameters: ['occupations', 'import', '--replace', '--json', 'next.ndjson'],
      judge: (old, now, outcome) => {
        expectSame(now, old, ['keys', 'submissions'])
        if (
          isSameMap(now.catalogue, old.catalogue) &&
          now.revisions.catalogue.number === old.revisions.catalogue.number
        )
          return 'old'
        const date = [...now.catalogue.values()].map(dateOf).sort().at(-1) ?? ''
        const expected = [...contents].map(([code, content]): [string, string] => {
          const unchanged = old.catalogue.get(code)
          if (unchanged !== undefined && withoutDate(unchanged) === content) return [code, unchanged]
          return [code, `${content.slice(0, -1)},"lastUpdatedDate":"${date}"}`]
        })
        expect(isSameMap(now.catalogue, new Map(expected)), 'the catalogue is neither old nor new').toBe(true)
        expect(now.revisions.catalogue.number).toBe(old.revisions.catalogue.number + 1)
        for (const document of old.catalogue.values()) expect(dateOf(document) < date).toBe(true)
        if (isDone(outcome)) expect(JSON.parse(outcome.stdout)).toMatchObject({ lastUpdatedDate: date })
        return 'new'
      },
    }
  }

  #record(code: string) {
    const groups = Array.from({ length: this.#random.below(3) }, (_, index) => ({
      minorGroupRelationType: index === 0 ? 'Primary' : 'Secondary',
      minorGroup: {
        code: `${10 + ((this.#random.below(30) + index * 30) % 90)}`,
        majorGroups: [
          { majorGroupRelationType: 'Primary', majorGroup: { code: `${this.#random.below(9)}` } },
        ],
      },
    }))
    return {
      occupationCode: code,
      titleEnglish: `Attempt ${this.#count}`,
      descriptionEnglish: `${this.#random.fraction()} `.repeat(20).trim(),
      ...(groups.length > 0 && { minorGroups: groups }),
    }
  }

  /** A run of a submission that exists, or of a new one whose token the command chooses. */
  #publish(before: State): Attempt {
    const tokens = [...before.submissions.keys()]
    const known = this.#random.chance(0.7) ? tokens[this.#random.below(tokens.length)] : undefined
    const length = 1 + this.#random.below(SIZES.entries * 2)
    const entries = Array.from({ length }, (_, index) => ({
      localId: `L${this.#count}-${index}`,
      errorCode: `E${this.#random.below(50)}`,
      errorDescription: 'The date lies outside the period of the course.',
      errorType: 'Error',
    }))
    this.#write('run.ndjson', toLines(entries))
    const expected = { eid: '1001', returnId: 'R1', entries: entries.map((entry) => JSON.stringify(entry)) }
    const token = known === undefined ? [] : ['--token', known]
    return {
      parameters: ['results', 'publish', '--eid', '1001', '--return', 'R1', ...token, '--json', 'run.ndjson'],
      judge: (old, now, outcome) => {
        expectSame(now, old, ['keys', 'catalogue'])
        const changed = [...now.submissions.keys()].filter(
          (each) => JSON.stringify(now.submissions.get(each)) !== JSON.stringify(old.submissions.get(each)),
        )
        const gone = tokens.filter((each) => !now.submissions.has(each))
        expect(gone).toEqual([])
        if (changed.length === 0) return 'old'
        expect(changed).toEqual([known ?? expect.any(String)])
        expect(now.submissions.get(changed[0] ?? '')).toEqual(expected)
        if (isDone(outcome)) expect(JSON.parse(outcome.stdout)).toMatchObject({ submissionToken: changed[0] })
        return 'new'
      },
    }
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.#folder, name), text)
  }
}

/** Whether a command has told that it is done, whatever its exit status. */
function isDone({ stdout }: Outcome): boolean {
  return stdout.endsWith('}\n') && !stdout.startsWith('{"faults"')
}

function withoutDate(document: string): string {
  return document.replace(/,"lastUpdatedDate":"[^"]*"\}$/, '}')
}

function dateOf(document: string): string {
  return /"lastUpdatedDate":"([^"]*)"\}$/.exec(document)?.[1] ?? ''
}

/** Fails with few words where many would say no more. */
function expectSame(now: State, old: State, parts: readonly ('keys' | 'submissions' | 'catalogue')[]): void {
  expect(now.tables).toEqual(old.tables)
  for (const part of parts) {
    const same = JSON.stringify([...now[part]]) === JSON.stringify([...old[part]])
    expect(same, `the ${part} should have stayed as they were`).toBe(true)
  }
}

function isSameMap(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value)
}

/** One database that is cut again and again, the commands that change it, and a server over it. */
class World {
  readonly mahi = new Installation({ inProcesses: true })
  readonly random = new Random(SEED)
  readonly attempts = new Attempts(this.mahi.folder, this.random)
  kills = 0
  readonly url: string
  readonly environment: Record<string, string>
  state: State
  readonly #headers: Readonly<Record<string, string>>
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

  /** How long each command takes when nobody cuts it, in milliseconds. */
  async measure(): Promise<Record<string, number>> {
    const durations: Record<string, number> = {}
    for (const command of Object.keys(COMMANDS) as Command[]) {
      const attempt = this.attempts.make(command, this.state)
      const begun = performance.now()
      const outcome = await this.mahi.run(attempt.parameters, { environment: this.environment })
      durations[command] = performance.now() - begun
      expect([outcome.code, isDone(outcome)]).toEqual([0, true])
      await this.#judge(attempt, outcome)
    }
    return durations
  }

  /** Cuts a command while it works, starts the next server and looks at what is left. */
  async cut(command: Command, duration: number): Promise<void> {
    const drawn = this.random.pick(VICTIMS as Record<Victim, number>)
    // A small number is to hold each of them as well.
    const victim = (Object.keys(VICTIMS) as Victim[])[this.kills] ?? drawn
    if (victim === 'command and server') await this.serve()
    else if (this.random.chance(0.5)) await this.stopServer()
    const attempt = this.attempts.make(command, this.state)
    const running = this.mahi.start(attempt.parameters, { environment: this.environment })
    // The first half of a short command is the start of its process; a busy machine gets to the work later.
    await sleep((0.5 + this.random.fraction()) * duration)
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
    }
    if (killed) this.kills++
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
      return rows?.[0]?.count === '0'
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
    if (isDone(outcome)) expect(left).toBe('new')
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
    const named = ['next.ndjson', 'run.ndjson', 'new', 'var']
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
    const durations = await world.measure()
    while (world.kills < KILLS) {
      // A small number is to hold each of them as well.
      const command = (Object.keys(COMMANDS) as Command[])[world.kills] ?? world.random.pick(COMMANDS)
      await world.cut(command, durations[command] ?? 0)
    }
    // After all of it every command runs to its end.
    await world.measure()
    await world.stopServer()
  },
)
