import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from '../../bench/empty-database.ts'
import { median } from '../../bench/measure.ts'
import { createKey } from '../../src/api/access/keys.ts'
import type { Scope } from '../../src/api/access/principal.ts'
import { importOccupations } from '../../src/catalogue/import/import.ts'
import { buildStoredIndex } from '../../src/catalogue/search/build-stored.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { sourceOf } from '../../test/support/source.ts'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import type { Attack } from './attack.ts'
import { Attacker } from './attacker-process.ts'
import { Bystander } from './bystander.ts'
import { judge } from './promises.ts'
import { type AttackResult, SERVE_LIMIT, WORK_LIMIT } from './result.ts'
import { Watched } from './watched.ts'
import { call, type Target } from './wire.ts'

/** How long another organisation may try to upload during an attack, in milliseconds. */
const UPLOAD_PATIENCE = 15_000
/** How long the service rests before an attack, in milliseconds. */
const REST = 500

/** The organisations of the attacker's key. */
const ATTACKERS = ['2002', '3003', '4004']

const SCOPES: readonly Scope[] = ['occupations:read', 'validation-results:read', 'submissions:write']

/** A service in processes under limits, and other callers of it. */
export class Service {
  readonly #place: Place
  readonly #program: string
  readonly #allowance: number
  readonly #slack: number
  #target: Target = { port: 0, key: '', eid: '2002', eids: ATTACKERS, token: '', alone: true }
  #key = ''
  #token = ''
  #serve: Watched | undefined
  #work: Watched | undefined
  #bystander: Bystander | undefined
  #health: Bystander | undefined
  #idle = Number.NaN

  constructor(place: Place, program: string, allowance: number, slack: number) {
    this.#place = place
    this.#program = program
    this.#allowance = allowance
    this.#slack = slack
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
      this.#health = new Bystander(this.#target.port, ['/livez', '/readyz'], {})
      await sleep(1_000)
      this.#bystander.take()
      await sleep(2_000)
      this.#idle = median(this.#bystander.take())
    }
    for (const each of [this.#bystander, this.#health]) if (each !== undefined) each.port = this.#target.port
  }

  /** Attacks, and says what others noticed. With several attacks at once, only what holds during each is judged. */
  async suffer(name: string, attacks: readonly Attack[], length: number): Promise<AttackResult> {
    await this.start()
    const [bystander, health] = [this.#bystander, this.#health]
    if (bystander === undefined || health === undefined) throw new Error('nobody stands by')
    await sleep(REST)
    bystander.take()
    health.take()
    this.#serve?.takeSockets()
    const before = {
      responses: bystander.responses,
      unavailable: bystander.unavailable,
      wrong: bystander.wrong.length,
      strange: health.wrong.length,
      database: (await this.#place.measure()).database,
    }
    const [only] = attacks.length === 1 ? attacks : []
    const target = { ...this.#target, alone: only !== undefined }
    const attackers = attacks.map((attack) => new Attacker(attack, target))
    await Promise.all(attackers.map(({ begun }) => begun))
    const end = performance.now() + length
    while (performance.now() < end && this.#serve?.alive === true && this.#work?.alive === true)
      await sleep(50)
    const began = performance.now()
    const barred = this.#serve?.alive === true ? await this.#upload() : []
    const upload = performance.now() - began
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
    const unavailable = bystander.unavailable - before.unavailable
    const noticed = {
      health: health.slowest,
      response: bystander.slowest,
      upload,
      unavailable,
      sockets: this.#serve?.takeSockets(),
      growth: (await this.#place.measure()).database - before.database,
    }
    // What callers of a process that is gone see is no other fault.
    if (faults.length === 0) {
      faults.push(...bystander.wrong.slice(before.wrong), ...barred)
      faults.push(...health.wrong.slice(before.strange))
      if (only !== undefined) faults.push(...judge(only.promise, only.limits, noticed, this.#slack))
    } else await this.start()
    return {
      name,
      serve,
      work,
      sockets: noticed.sockets,
      health: noticed.health,
      response: noticed.response,
      ratio: median(bystander.take()) / this.#idle,
      responses: bystander.responses - before.responses,
      unavailable,
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
    await Promise.all([this.#bystander?.stop(), this.#health?.stop()])
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
