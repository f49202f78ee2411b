import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createKey } from '../../src/api/access/keys.ts'
import type { Scope } from '../../src/api/access/principal.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { buildStoredIndex } from '../../src/catalogue/search/build-stored.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { sourceOf } from '../../test/support/source.ts'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import { type Engine, makePlace, type Place } from '../soak/place.ts'
import { ANONYMOUS } from './anonymous.ts'
import type { Attack } from './attack.ts'
import { Bystander } from './bystander.ts'
import { KEYED } from './keyed.ts'
import { Watched } from './watched.ts'
import { call, type Target } from './wire.ts'

export const ATTACKS: readonly Attack[] = [...ANONYMOUS, ...KEYED]

const MB = 2 ** 20
/** The limits of deploy/. */
const SERVE_LIMIT = 512 * MB
const WORK_LIMIT = 1024 * MB
/**
 * What a process may use more if it runs from its sources instead of a build: 24 MB at rest, and garbage that a machine
 * busy with other tests has not collected yet.
 */
const SOURCES = 80 * MB
/** How long another organisation may try to upload during an attack, in milliseconds. */
const UPLOAD_PATIENCE = 15_000
/** How long the service rests before an attack, in milliseconds. */
const REST = 500

export interface AttackOptions {
  readonly engine: Engine
  readonly postgres: string | undefined
  readonly attacks: readonly Attack[]
  /** Of one attack alone, in milliseconds. */
  readonly length: number
  /** Of all attacks of a caller at once, in milliseconds; 0 for none. */
  readonly together: number
  /** How often a server starts whose catalogue is large and not indexed; 0 to leave that out. */
  readonly restarts: number
  /** The file to run, `bin/mahi.js` or a build. */
  readonly program: string
  /** Whether the program runs from its sources. */
  readonly sources: boolean
  readonly onResult?: (result: AttackResult) => void
}

export interface AttackResult {
  readonly name: string
  /** The most bytes of the process since its start. */
  readonly serve: number
  readonly work: number
  /** Median of the well-behaved caller's response times, divided by that without an attack. */
  readonly ratio: number
  readonly responses: number
  readonly unavailable: number
  readonly faults: readonly string[]
}

/** Attacks a service, and reports what came of it. */
export async function runAttacks(options: AttackOptions): Promise<readonly AttackResult[]> {
  const place = await makePlace(options.engine, options.postgres)
  const service = new Service(place, options.program, options.sources ? SOURCES : 0)
  try {
    await service.fill()
    await service.start()
    const results: AttackResult[] = []
    const record = (result: AttackResult) => {
      results.push(result)
      options.onResult?.(result)
    }
    for (const attack of options.attacks) record(await service.suffer(attack.name, [attack], options.length))
    if (options.together > 0) {
      for (const caller of ['anonymous', 'key'] as const) {
        const all = options.attacks.filter((each) => each.caller === caller)
        if (all.length > 1) record(await service.suffer(`all of ${caller}`, all, options.together))
      }
    }
    await service.stop()
    if (options.restarts > 0) record(await restartLargeCatalogue(place, options))
    return results
  } finally {
    await service.stop()
    await place.remove()
  }
}

/** The organisations of the attacker's key. */
const ATTACKERS = ['2002', '3003', '4004']

/**
 * Starts a server and its worker on a catalogue of 8,000 long records without an index, several times. The process must
 * stay within its limit, and search must work.
 */
async function restartLargeCatalogue(
  place: Place,
  { program, sources, restarts }: AttackOptions,
): Promise<AttackResult> {
  const database = await openDatabase(place.commandUrl)
  const faults: string[] = []
  let serve = 0
  try {
    const records = Array.from({ length: 8_000 }, (_, index) => ({
      occupationCode: `L${index}`,
      titleEnglish: `Title ${index.toString(36)}`,
      descriptionEnglish: String(index * 7919)
        .padStart(30, '7')
        .repeat(120),
    }))
    await importOccupations(database, sourceOf(records))
    for (let start = 0; start < restarts && faults.length === 0; start++) {
      await database.write('search', (writer) => writer.run('delete from search_index'))
      const { process, match } = await Watched.start(
        [program, 'serve'],
        {
          DATABASE_URL: place.serverUrl,
          PORT: '0',
          METRICS_PORT: '0',
          OCCUPATIONS_ACCESS: 'public',
          LOG_LEVEL: 'info',
          SNAPSHOT_FOLDER: join(place.folder, 'snapshots'),
          TMPDIR: place.folder,
        },
        // The worker and the process that builds also run from their sources.
        { limit: SERVE_LIMIT + (sources ? 2 * SOURCES : 0), memory: SERVE_LIMIT },
        /http:\/\/127\.0\.0\.1:\d+/,
        place.folder,
      )
      try {
        await whenSearchable(match[0])
      } catch (error) {
        faults.push(process.fault === '' ? String(error) : process.fault)
      }
      serve = Math.max(serve, process.peak)
      await process.stop()
    }
  } finally {
    await database.close()
  }
  return {
    name: 'restarts without index',
    serve,
    work: 0,
    ratio: 1,
    responses: restarts,
    unavailable: 0,
    faults,
  }
}

const SCOPES: readonly Scope[] = ['occupations:read', 'validation-results:read', 'submissions:write']

class Service {
  readonly #place: Place
  readonly #program: string
  readonly #allowance: number
  #target: Target = { port: 0, key: '', eid: '2002', eids: ATTACKERS, token: '' }
  #key = ''
  #token = ''
  #serve: Watched | undefined
  #work: Watched | undefined
  #bystander: Bystander | undefined
  #idle = Number.NaN

  constructor(place: Place, program: string, allowance: number) {
    this.#place = place
    this.#program = program
    this.#allowance = allowance
  }

  /** Fills the database: a catalogue of 8 MB, and findings of both organisations. */
  async fill(): Promise<void> {
    const database = await openDatabase(this.#place.commandUrl)
    try {
      const words = Array.from({ length: 2_003 }, (_, index) => `word${(index * 7919) % 2_003}`)
      const text = (index: number) =>
        Array.from({ length: 600 }, (_, at) => words[(index * 31 + at * at) % 2_003]).join(' ')
      const records = Array.from({ length: 2_000 }, (_, index) => ({
        occupationCode: `C${1000 + index}`,
        titleEnglish: `Title ${index.toString(36)}`,
        descriptionEnglish: text(index),
      }))
      await importOccupations(database, sourceOf(records))
      const publish = async (eid: string, count: number, size: number) => {
        const entries = Array.from({ length: count }, (_, index) => ({
          localId: String(index),
          errorCode: `E${index % 50}`,
          errorType: 'Error',
          recordText: text(index).slice(0, size),
        }))
        return (await publishResults(database, sourceOf(entries), { eid, returnId: '202512' }))
          .submissionToken
      }
      const expires = Date.now() + 86_400_000
      const makeKey = async (client: string, eids: readonly string[]) =>
        (await createKey(database, { client, eids, scopes: SCOPES, expires })).key
      this.#token = await publish('1001', 2_000, 300)
      this.#key = await makeKey('bystander', ['1001'])
      const token = await publish('2002', 20_000, 2_000)
      this.#target = { ...this.#target, token, key: await makeKey('attacker', ATTACKERS) }
      await buildStoredIndex((use) => use(database))
    } finally {
      await database.close()
    }
  }

  async start(): Promise<void> {
    const environment = {
      DATABASE_URL: this.#place.serverUrl,
      DATABASE_POOL_SIZE: '10',
      PORT: '0',
      METRICS_PORT: '0',
      WORKERS: '0',
      OCCUPATIONS_ACCESS: 'public',
      CONSOLE: 'on',
      LOG_LEVEL: 'warn',
      SNAPSHOT_FOLDER: join(this.#place.folder, 'snapshots'),
      TMPDIR: this.#place.folder,
    }
    if (this.#serve?.alive !== true) {
      const listening = /http:\/\/127\.0\.0\.1:(\d+)/
      // Its URL is logged at level info.
      const { process, match } = await Watched.start(
        [this.#program, 'serve'],
        { ...environment, LOG_LEVEL: 'info' },
        { limit: SERVE_LIMIT + this.#allowance, memory: SERVE_LIMIT },
        listening,
        this.#place.folder,
      )
      this.#serve = process
      this.#target = { ...this.#target, port: Number(match[1]) }
      await whenSearchable(`http://127.0.0.1:${this.#target.port}`)
    }
    if (this.#work?.alive !== true) {
      const { process } = await Watched.start(
        [this.#program, 'work'],
        { ...environment, WORKERS: '1', CHECK_MEMORY_MB: '512', LOG_LEVEL: 'info' },
        { limit: WORK_LIMIT + this.#allowance, memory: WORK_LIMIT },
        /ready for jobs/,
        this.#place.folder,
      )
      this.#work = process
    }
    if (this.#bystander === undefined) {
      this.#bystander = new Bystander(this.#target.port, this.#paths(), {
        'x-api-key': this.#key,
        eid: '1001',
      })
      await sleep(1_000)
      this.#bystander.take()
      await sleep(2_000)
      this.#idle = median(this.#bystander.take())
    } else this.#bystander.port = this.#target.port
  }

  /** Waits until the search index is loaded. */
  async suffer(name: string, attacks: readonly Attack[], length: number): Promise<AttackResult> {
    await this.start()
    const bystander = this.#bystander
    if (bystander === undefined) throw new Error('nobody stands by')
    await sleep(REST)
    bystander.take()
    const { responses, unavailable } = bystander
    const wrong = bystander.wrong.length
    const attackers = attacks.map((attack) => new Attacker(attack, this.#target))
    const end = performance.now() + length
    while (performance.now() < end && this.#serve?.alive === true && this.#work?.alive === true)
      await sleep(50)
    const barred = this.#serve?.alive === true ? await this.#upload() : []
    await Promise.all(attackers.map((attacker) => attacker.stop()))
    await sleep(REST)
    const faults = [
      ...[this.#serve, this.#work].flatMap((process, index) =>
        process === undefined || process.fault === ''
          ? []
          : [`mahi ${['serve', 'work'][index]} ${process.fault}`],
      ),
      ...attackers.flatMap(({ fault }) => (fault === '' ? [] : [fault])),
    ]
    const [serve, work] = [this.#serve?.peak ?? 0, this.#work?.peak ?? 0]
    // What a caller of a process that is gone sees is no other fault.
    if (faults.length === 0) faults.push(...bystander.wrong.slice(wrong), ...barred)
    else await this.start()
    return {
      name,
      serve,
      work,
      ratio: median(bystander.take()) / this.#idle,
      responses: bystander.responses - responses,
      unavailable: bystander.unavailable - unavailable,
      faults,
    }
  }

  /** What is wrong where another organisation uploads a file during the attack, and where a balancer asks. */
  async #upload(): Promise<string[]> {
    const caller = { ...this.#target, key: this.#key, eid: '1001' }
    const json = { 'content-type': 'application/json' }
    let last = ''
    for (const end = performance.now() + UPLOAD_PATIENCE; performance.now() < end; await sleep(500)) {
      const created = await call(caller, 'POST', '/v1/submissions', '{"returnId":"202512"}', json)
      const { submissionToken = '' } = (
        created.status < 300 && created.body !== '' ? JSON.parse(created.body) : {}
      ) as {
        submissionToken?: string
      }
      const path = `/v1/submissions/${submissionToken}/files/learners`
      const stored = await call(caller, 'PUT', path, 'learner_id\n1\n', { 'content-type': 'text/csv' })
      const ready = await call(caller, 'GET', '/readyz')
      last = `create ${created.status}, upload ${stored.status}, /readyz ${ready.status}`
      if (stored.status === 200 && ready.status === 200) return []
    }
    return [`another organisation could not upload: ${last}`]
  }

  async stop(): Promise<void> {
    await this.#bystander?.stop()
    await Promise.all([this.#serve?.stop(), this.#work?.stop()])
  }

  /** In 20 requests, 9 of the catalogue, 9 of submissions and 2 of findings: fewer than the default limits allow. */
  #paths(): string[] {
    const state = `/v1/submissions/${this.#token}`
    const of = (index: number) =>
      index % 2 === 0
        ? `/v1/occupations?Limit=20&Cursor=C${1100 + index}`
        : `/v1/occupations/search?q=title%20${index}`
    const paths = Array.from({ length: 9 }, (_, index) => [of(index), state]).flat()
    const findings = (page: number) => `${state}/validation-results?pageSize=50&page=${page}`
    return [findings(1), ...paths, findings(2)]
  }
}

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url))

class Attacker {
  readonly #child: ChildProcess
  fault = ''
  #stopping = false

  constructor({ name }: Attack, target: Target) {
    this.#child = fork(ATTACKER, [name, JSON.stringify(target)], {
      execArgv: ['--max-old-space-size=1024'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    // Attackers stand for other machines: they take only what the service leaves of the processor of this one.
    if (this.#child.pid !== undefined) setPriority(this.#child.pid, constants.priority.PRIORITY_LOW)
    let complaint = ''
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-500)
    })
    this.#child.once('exit', (code, by) => {
      if (!this.#stopping) this.fault = `the attack ${name} ended unexpectedly (${code ?? by}): ${complaint}`
    })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

function median(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
