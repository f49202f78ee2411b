import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Place } from '../../bench/empty-database.ts'
import { endWithParent } from '../../bench/end-with-parent.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { buildStoredIndex } from '../../src/catalogue/search/build-stored.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { sourceOf } from '../../test/support/source.ts'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import { MahiProcess } from '../mahi-process.ts'
import type { Attack, Target } from './attack.ts'
import { call } from './attacker.ts'
import { Bystander } from './bystander.ts'
import { judge } from './promises.ts'

const MB = 2 ** 20
/** The memory limits of `mahi serve` and `mahi work` in deploy/. */
const LIMITS = { serve: 512 * MB, work: 1024 * MB }
/** The longest that another organisation may try to upload during an attack, in milliseconds. */
const UPLOAD_PATIENCE = 240_000
const REST = 300
const ATTACKERS = ['2002', '3003', '4004']
const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url))

export interface Conditions {
  /** The file to run, `bin/mahi.js` or a build. */
  readonly program: string
  /** Whether memory and times are judged; what a slow machine cannot change is judged always. */
  readonly measured: boolean
}

/** A service in processes under limits, and other callers of it. */
export class Service {
  readonly #place: Place
  readonly #conditions: Conditions
  readonly #serve: MahiProcess
  readonly #work: MahiProcess
  readonly #attacker: Target
  readonly #other: Target
  readonly #bystander: Bystander
  readonly #health: Bystander

  private constructor(
    place: Place,
    conditions: Conditions,
    [serve, work]: readonly [MahiProcess, MahiProcess],
    [attacker, other]: readonly [Target, Target],
  ) {
    this.#place = place
    this.#conditions = conditions
    this.#serve = serve
    this.#work = work
    this.#attacker = attacker
    this.#other = other
    const state = `/v1/submissions/${other.token}`
    // Fewer requests than the default limits allow.
    const paths = Array.from({ length: 9 }, (_, index) => [
      index % 2 === 0
        ? `/v1/occupations?Limit=20&Cursor=C${1100 + index}`
        : `/v1/occupations/search?q=title%20${index}`,
      state,
    ]).flat()
    this.#bystander = new Bystander(other, [...paths, `${state}/validation-results?pageSize=50`])
    this.#health = new Bystander({ ...other, key: '' }, ['/livez', '/readyz'])
  }

  /** Fills an empty database, and starts a service on it. */
  static async start(place: Place, conditions: Conditions): Promise<Service> {
    const targets = await fill(place)
    const environment = {
      DATABASE_URL: place.serverUrl,
      OCCUPATIONS_ACCESS: 'public',
      CONSOLE: 'on',
      SNAPSHOT_FOLDER: join(place.folder, 'snapshots'),
      TMPDIR: place.folder,
      CHECK_MEMORY_MB: '512',
    }
    const options = (limit: number) => ({
      environment,
      program: conditions.program,
      folder: place.folder,
      ...(conditions.measured && { limit }),
    })
    const serve = await MahiProcess.start('serve', options(LIMITS.serve))
    await whenSearchable(serve.url)
    const work = await MahiProcess.start('work', options(LIMITS.work))
    const [attacker, other] = targets.map((target) => ({ ...target, port: serve.port })) as [Target, Target]
    return new Service(place, conditions, [serve, work], [attacker, other])
  }

  get isUsable(): boolean {
    return this.#serve.alive && this.#work.alive
  }

  /** Attacks for so many milliseconds, and reports what others noticed. */
  async suffer(attack: Attack, length: number) {
    const [bystander, health] = [this.#bystander, this.#health]
    await sleep(REST)
    bystander.takeSlowest()
    health.takeSlowest()
    this.#serve.takeSockets()
    const before = {
      responses: bystander.responses,
      unavailable: bystander.unavailable,
      wrong: bystander.wrong.length,
      strange: health.wrong.length,
      database: (await this.#place.measure()).database,
    }
    const attacker = startAttacker(attack, this.#attacker)
    await attacker.begun
    const end = performance.now() + length
    while (performance.now() < end && this.isUsable) await sleep(50)
    const began = performance.now()
    const barred = this.isUsable ? await this.#upload() : []
    const upload = performance.now() - began
    const fault = await attacker.stop()
    await sleep(REST)
    const noticed = {
      health: health.takeSlowest(),
      response: bystander.takeSlowest(),
      upload,
      sockets: this.#serve.takeSockets(),
      growth: (await this.#place.measure()).database - before.database,
    }
    const faults = [this.#serve.fault, this.#work.fault, fault].filter((each) => each !== '')
    // What callers of a process that is gone see is no other fault.
    if (this.isUsable) {
      faults.push(...bystander.wrong.slice(before.wrong), ...health.wrong.slice(before.strange), ...barred)
      if (this.#conditions.measured) faults.push(...judge(attack, noticed))
    }
    return {
      name: attack.name,
      serve: this.#serve.peak,
      work: this.#work.peak,
      sockets: noticed.sockets,
      health: noticed.health,
      response: noticed.response,
      responses: bystander.responses - before.responses,
      unavailable: bystander.unavailable - before.unavailable,
      faults,
    }
  }

  /** What is wrong where another organisation uploads a file during the attack. */
  async #upload(): Promise<string[]> {
    let last = ''
    for (const end = performance.now() + UPLOAD_PATIENCE; performance.now() < end; await sleep(200)) {
      const created = await call(this.#other, {
        method: 'POST',
        path: '/v1/submissions',
        headers: { 'content-type': 'application/json' },
        body: '{"returnId":"202512"}',
      })
      const [, token = ''] = /"submissionToken":"([^"]+)"/.exec(created.body) ?? []
      const stored = await call(this.#other, {
        method: 'PUT',
        path: `/v1/submissions/${token}/files/learners`,
        headers: { 'content-type': 'text/csv' },
        body: 'learner_id\n1\n',
      })
      if (stored.status === 200) return []
      last = `create ${created.status}, upload ${stored.status}`
    }
    return [`another organisation could not upload: ${last}`]
  }

  async stop(): Promise<void> {
    await Promise.all([this.#bystander.stop(), this.#health.stop()])
    await Promise.all([this.#serve.stop(), this.#work.stop()])
  }
}

/** Starts a process that attacks until it is stopped; that returns why it ended before. */
function startAttacker({ name, promise }: Attack, target: Target) {
  const child = fork(ATTACKER, [name, JSON.stringify(target)], {
    execArgv: ['--max-old-space-size=1024'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  endWithParent(child)
  // Attackers stand for other machines: they take only what the service leaves of the processor of this one.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-1_000)
  })
  const closed = once(child, 'close')
  return {
    begun: Promise.race([once(child, 'message'), closed]),
    async stop(): Promise<string> {
      const ended = child.exitCode !== null
      child.kill('SIGKILL')
      await closed
      return ended ? `promised: ${promise}; the attack ${name} ended: ${complaint}` : ''
    },
  }
}

/** Fills the database with a catalogue of 8 MB, and findings of an attacker and of another caller. */
async function fill(place: Place): Promise<readonly [Target, Target]> {
  const database = await openDatabase(place.commandUrl)
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
    const make = async (client: string, eids: readonly string[], count: number): Promise<Target> => {
      const [eid = ''] = eids
      const entries = Array.from({ length: count }, (_, index) => ({
        localId: String(index),
        errorCode: `E${index % 50}`,
        errorType: 'Error',
        recordText: text(index).slice(0, 2_000),
      }))
      const published = await publishResults(database, sourceOf(entries), { eid, returnId: '202512' })
      const { key } = await createKey(database, {
        client,
        eids,
        scopes: ['occupations:read', 'validation-results:read', 'submissions:write'],
        expires: Date.now() + 86_400_000,
      })
      return { port: 0, key, eid, eids, token: published.submissionToken }
    }
    const targets = [await make('attacker', ATTACKERS, 10_000), await make('other', ['1001'], 2_000)] as const
    await buildStoredIndex((use) => use(database))
    return targets
  } finally {
    await database.close()
  }
}
