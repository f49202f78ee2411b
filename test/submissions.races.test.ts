import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Database } from '../src/foundation/database/database.ts'
import { Sealer } from '../src/foundation/database/seal.ts'
import type { JobKind } from '../src/foundation/jobs/queue.ts'
import { sweep } from '../src/submissions/retention/sweep.ts'
import { parseLines } from './support/lines.ts'
import { SCALE, SEED } from './support/properties.ts'
import { age, EXPIRY, isSerial, NEW, type Observed, showAll } from './support/races/model.ts'
import { type RacingDatabase, race } from './support/races/racing-database.ts'
import {
  ask,
  DS1,
  KEY,
  REPAIRABLE,
  type Replica,
  STEPS,
  type StepName,
  type Subject,
  showSubmission,
} from './support/races/steps.ts'
import { Random } from './support/random.ts'
import { openPool, Service } from './support/service.ts'
import { makeSmallDefinition } from './support/small-definition.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'

/** SQLite has one writer, so that fewer of them meet. */
const ROUNDS = (engine === 'sqlite' ? 40 : 100) * SCALE

/** So many rounds take longer than any other test: a bound, not an expectation. */
const BOUND = { timeout: 600_000 + ROUNDS * 20_000 }

/** Rounds at once, each with its own submission. */
const LANES = 6

/** Connections of a replica: a caller may use half of them, and each lane has up to three steps at once. */
const POOL = LANES * 3 * 2

/** The steps that make the states in which races begin. */
const BEGINNINGS: readonly (readonly (StepName | 'time passes')[])[] = [
  [],
  ['putSubmissionFile'],
  ['putSubmissionFile', 'requestValidationRun'],
  ['putSubmissionFile', 'requestValidationRun', 'job run'],
  ['putSubmissionFile', 'requestValidationRun', 'job run', 'time passes'],
  ['putSubmissionFile', 'requestValidationRun', 'job run', 'putSubmissionFile, faulty'],
  [
    'putSubmissionFile, faulty',
    'requestValidationRun',
    'job run',
    'putSubmissionFile',
    'requestValidationRun',
  ],
  ['addSubmissionRecords', 'requestValidationRun', 'job run'],
  ['addSubmissionRecords', 'requestValidationRun', 'job run', 'addSubmissionRecords', 'requestValidationRun'],
  ['putSubmissionFile, repairable'],
  ['putSubmissionFile, repairable', 'repairFiles'],
  ['putSubmissionFile, repairable', 'requestValidationRun', 'job run', 'repairFiles', 'time passes'],
  ['putSubmissionFile, repairable', 'repairFiles', 'requestValidationRun', 'job run'],
  ['putSubmissionFile', 'results publish, none'],
  ['putSubmissionFile', 'requestValidationRun', 'job run', 'submitSubmission'],
  ['putSubmissionFile', 'requestValidationRun', 'job run', 'deleteSubmission'],
]

const NAMES = Object.keys(STEPS) as StepName[]

/** All pairs of steps, those of a step with itself included. */
const PAIRS = NAMES.flatMap((one, index) => NAMES.slice(index).map((other) => [one, other] as const))

class Arena {
  readonly replicas: readonly Replica[]
  readonly random: Random
  readonly #definition: string
  readonly #key: string
  #names = 0

  private constructor(replicas: readonly Replica[], random: Random, definition: string, key: string) {
    this.replicas = replicas
    this.random = random
    this.#definition = definition
    this.#key = key
  }

  /** Two replicas on PostgreSQL; on SQLite, one, whose transactions wait for each other in any case. */
  static async open(random: Random): Promise<Arena> {
    const definition = makeSmallDefinition()
    const url = temporaryDatabaseUrl()
    const encode = ({ id, key }: typeof KEY) => `${id}:${Buffer.from(key).toString('base64')}`
    const environment = {
      DEFINITIONS: definition,
      RATE_LIMIT_SUBMISSIONS: 'off',
      ENCRYPTION_KEYS: encode(KEY),
    }
    const replicas: Replica[] = []
    for (let count = engine === 'postgres' ? 2 : 1; count > 0; count--) {
      let racing: RacingDatabase | undefined
      const open = async (url: string): Promise<Database> => {
        racing = race(await openPool(url, POOL), random)
        return racing
      }
      const service = await Service.start(environment, url, { open })
      if (racing === undefined) throw new Error('the service did not open its database')
      replicas.push({ service, database: racing, sealer: new Sealer([KEY]) })
    }
    const eids = Array.from({ length: LANES }, (_, lane) => String(2000 + lane))
    const scopes = ['validation-results:read', 'submissions:write', 'operate'] as const
    const { key } = await (replicas[0] as Replica).service.createKey({ scopes, eids })
    return new Arena(replicas, random, definition, key)
  }

  get #replica(): Replica {
    return this.replicas[this.random.below(this.replicas.length)] as Replica
  }

  /** Begins a submission, and takes it to a state one step after the other. */
  async begin(lane: number, round: number, beginning: (typeof BEGINNINGS)[number]): Promise<Subject> {
    const replica = this.#replica
    const eid = String(2000 + lane)
    const returnId = String(200_000 + round)
    const created = await ask(replica, { eid, key: this.#key }, 'POST', '', { payload: { returnId } })
    const { submissionToken: token } = created.json()
    let subject: Subject = {
      token,
      eid,
      returnId,
      key: this.#key,
      definition: this.#definition,
      etag: undefined,
      state: NEW,
    }
    for (const name of beginning) {
      if (name === 'time passes') await this.#age(replica, token)
      const { atoms, run } =
        name === 'time passes' ? { atoms: [age], run: async () => undefined } : this.#make(name, subject)
      const response = await run(replica, subject)
      let { state } = subject
      for (const atom of atoms) {
        const outcome = atom(state, -1)
        expect(outcome.response, `${name} before the race`).toBe(response)
        state = outcome.state
      }
      subject = { ...subject, state: { ...state, held: new Map() } }
    }
    if (subject.state.records === undefined || subject.state.ended === 'Cancelled') return subject
    const file = await ask(replica, subject, 'GET', `/${token}/files/people`)
    return file.statusCode === 200 ? { ...subject, etag: String(file.headers.etag) } : subject
  }

  #make(name: StepName, subject: Pick<Subject, 'state'>) {
    return STEPS[name](subject, String(this.#names++))
  }

  /** Takes steps at once, and judges their responses and what is left. Returns what is wrong. */
  async race(names: readonly StepName[], subject: Subject): Promise<string[]> {
    const steps = names.map((name) => ({ name, ...this.#make(name, subject) }))
    const responses = await Promise.all(
      steps.map(async ({ run }) => {
        const replica = this.#replica
        await replica.database.pause(8)
        return await run(replica, subject)
      }),
    )
    const observed = steps.map(({ atoms, changesFile, needsFiles, optional = false }, index): Observed => {
      const response = responses[index]
      const isBusy = response === DS1 && (changesFile ?? needsFiles) === true
      const others = steps.filter((each, other) => other !== index && each.changesFile === true)
      return { atoms: isBusy && others.length > 0 ? [] : atoms, optional, response }
    })
    // The sweeps of other rounds expire it as well.
    const { isOld, runs } = subject.state
    if (isOld || runs.some((run) => run.isOld))
      observed.push({ atoms: EXPIRY, optional: true, response: undefined })
    const end = await this.#look(subject)
    const faults: string[] = []
    if (!isSerial(subject.state, observed, end))
      faults.push(
        `no serial order gives ${names.map((name, index) => `${name}: ${responses[index]}`).join('; ')}; then ${end}`,
      )
    faults.push(...(await this.#findUncovered(subject)))
    faults.push(...(await this.#findLeft(subject)))
    return faults
  }

  /** Everything that its owner sees of a submission, once it is the same twice: sweeps of other rounds may still expire it. */
  async #look(subject: Subject, before?: string): Promise<string> {
    const seen = await this.#lookOnce(subject)
    return seen === before ? seen : await this.#look(subject, seen)
  }

  async #lookOnce(subject: Subject): Promise<string> {
    const read = (path: string, headers: Record<string, string> = {}) =>
      ask(this.#replica, subject, 'GET', `/${subject.token}${path}`, { headers })
    const shown = showSubmission((await read('')).json())
    if (shown === 'Cancelled') return shown
    const file = await read('/files/people', { accept: 'application/x-ndjson' })
    if (![200, 404].includes(file.statusCode)) return `${shown}; ${file.body}`
    const records = file.statusCode === 404 ? [] : parseLines<Record<string, string>>(file.body)
    const { totalCount } = (await read('/validation-results')).json()
    const listed = records.map(({ id, ...record }) => `${record.localId ?? record[REPAIRABLE]}=${id}`).sort()
    return `${shown}; ${listed.join(' ')}; ${totalCount} findings`
  }

  /** A submitted submission whose current run read other files, unless a command published its results. */
  async #findUncovered({ token }: Subject): Promise<string[]> {
    const { database } = this.#replica
    const found = await database.get<{ files: string | null; errors: number | null }>(
      `select r.files, r.errors from submission s left join submission_run r on r.run = s.run
       where s.token = $1 and s.ended = 'Submitted' and s.run > 0`,
      [token],
    )
    if (found === undefined || found.files === '[]') return []
    const current = await database.all<{ version: string; chunks: number }>(
      `select v.version, v.chunks from submission_file f join file_version v on v.version = f.version
       where f.token = $1`,
      [token],
    )
    if (current.length === 0) return []
    const read = JSON.parse(found.files ?? '[]') as { version: string; chunks: number }[]
    const isCovered =
      found.errors === 0 &&
      current.every(({ version, chunks }) =>
        read.some((file) => file.version === version && file.chunks === chunks),
      )
    return isCovered ? [] : ['it was submitted with files that its run did not read']
  }

  /** Cancels the submission, unless the race did, and returns what is left of it once it is purged. */
  async #findLeft(subject: Subject): Promise<string[]> {
    const replica = this.#replica
    const { database } = replica
    await ask(replica, subject, 'DELETE', `/${subject.token}`)
    const purged = 'select token from submission where token = $1 and purged is not null'
    while ((await database.get(purged, [subject.token])) === undefined) {
      await sweep(database)
      await database.pause()
    }
    const tables = ['submission_file', 'submission_run', 'file_version']
    const left: string[] = []
    for (const table of tables)
      if ((await database.get(`select token from ${table} where token = $1`, [subject.token])) !== undefined)
        left.push(`rows in ${table} are left of a purged submission`)
    return left
  }

  /** As if the time had passed for which files and results are kept. */
  async #age({ service }: Replica, token: string): Promise<void> {
    await service.database.write(`submission:${token}`, async (writer) => {
      await writer.run('update submission set ended_at = 1 where token = $1 and ended is not null', [token])
      await writer.run('update file_version set received = 1 where token = $1', [token])
      await writer.run('update submission_run set completed = 1 where token = $1', [token])
    })
  }

  /** Rows without an owner, and deletions that nobody has finished, after all rounds. */
  async findOrphans(): Promise<unknown[]> {
    const { database } = this.#replica
    return await database.all(
      `select owner as what from deletion
       union all select distinct 'chunk' as what from file_chunk where version not in (select version from file_version)
       union all select distinct 'record' from file_record where version not in (select version from file_version)
       union all select distinct 'block' from result_block where run not in (select run from submission_run)
       union all select distinct 'posting' from result_posting where run not in (select run from submission_run)`,
    )
  }
}

const SERIAL = `whatever changes a submission at once has the effect of some serial order: ${ROUNDS} rounds, seed ${SEED}`
test(SERIAL, BOUND, async () => {
  const random = new Random(SEED)
  const arena = await Arena.open(random)
  const faults: string[] = []
  let pairs: (readonly [StepName, StepName])[] = []
  let round = 0
  const states = new Set<string>()
  const lane = async (number: number) => {
    while (round < ROUNDS && faults.length < 5) {
      const own = round++
      if (pairs.length === 0) pairs = random.shuffle(PAIRS)
      const names: StepName[] = [...(pairs.pop() ?? [])]
      if (random.chance(1 / 3)) names.push(NAMES[random.below(NAMES.length)] as StepName)
      const beginning = BEGINNINGS[random.below(BEGINNINGS.length)] ?? []
      const subject = await arena.begin(number, own, beginning)
      states.add(showAll(subject.state))
      const found = await arena.race(names, subject)
      for (const fault of found) faults.push(`after ${showAll(subject.state)}: ${fault}`)
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)))
  expect(faults).toEqual([])
  expect(states.size).toBeGreaterThan(5)
  expect(await arena.findOrphans()).toEqual([])
  expect(arena.replicas.flatMap(({ database }) => [...database.unlocked])).toEqual([])
})

/** Operations that change no submission, no file of it, or a file in the way of another one. */
const OTHERS = [
  ...['codeTitles', 'confirmCodings', 'withdrawCoding', 'resumeOrganisation', 'putReturn'],
  ...['putExplanation', 'deleteExplanation', 'putSubmissionFiles'],
]

test('every operation and job that changes a submission takes part in the races', () => {
  const root = new URL('../', import.meta.url)
  const { paths } = JSON.parse(readFileSync(new URL('openapi.json', root), 'utf8')) as {
    paths: Record<string, Record<string, { operationId?: string }>>
  }
  const declared = Object.values(paths).flatMap((path) =>
    Object.entries(path).flatMap(([method, { operationId }]) =>
      method !== 'get' && operationId !== undefined ? [operationId] : [],
    ),
  )
  const raced = new Set(NAMES.map((name) => name.split(',')[0]))
  // Uploads and copies are read for the requests that wait for them.
  const jobs = { run: true, purge: true, retention: true } satisfies Record<
    Exclude<JobKind, 'index' | 'upload' | 'copies'>,
    true
  >
  const wanted = [...declared, ...Object.keys(jobs).map((kind) => `job ${kind}`)]
  expect(wanted.filter((name) => !raced.has(name) && !OTHERS.includes(name))).toEqual([])
})
