import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { type Client, createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import type { Cluster } from '../support/cluster.ts'
import { Installation, type RunningCommand } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { Random } from '../support/random.ts'
import { makePeople, makeSmallDefinition } from '../support/small-definition.ts'
import { engine } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const ORGANISATIONS = Number(process.env.MAHI_TEST_ORGANISATIONS ?? '4')
const ROUNDS = Number(process.env.MAHI_TEST_ROUNDS ?? '1')
const SEED = Number(process.env.MAHI_TEST_SEED ?? '1')
const TIMEOUT = 240_000 + ORGANISATIONS * 15_000

const { Cluster: Servers, hasCluster } =
  engine === 'postgres' ? await import('../support/cluster.ts') : { Cluster: undefined, hasCluster: false }
const testFault = testWhere(engine === 'sqlite' || hasCluster, 'faults: there is no PostgreSQL to kill')

let cluster: Cluster | undefined
beforeAll(async () => {
  if (hasCluster) cluster = await Servers?.start()
})
afterAll(async () => {
  await cluster?.remove()
})

/** An upload that was acknowledged, and the runs that were requested of it. */
interface Work {
  readonly token: string
  readonly csv: string
  readonly findings: readonly string[]
  readonly runs: number[]
}

/** An organisation that uploads and validates one submission after the other. */
class Organisation {
  readonly work: Work[] = []
  readonly client: Client
  readonly eid: string
  #stopping = false
  readonly ended: Promise<void>
  readonly #random: Random

  constructor(eid: string, seed: number, connect: (eid: string) => Client) {
    this.eid = eid
    this.#random = new Random(seed)
    this.client = connect(eid)
    this.ended = this.#run()
    // The test awaits it later.
    this.ended.catch(() => undefined)
  }

  /** Lets the submission in progress end. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.ended
  }

  async #run(): Promise<void> {
    const { submissions } = this.client
    for (let round = 0; !this.#stopping; round++) {
      const created = await submissions.create({ returnId: String(202_500 + round) })
      const token = created.submissionToken ?? ''
      const count = 200 + this.#random.below(200)
      // The second upload replaces the first.
      for (const part of ['a', 'b']) {
        const { csv, findings } = makePeople(`${this.eid}${part}${round}`, count, this.#random.below(100))
        expect(await submissions.putFile(token, 'people', csv)).toMatchObject({ records: count })
        this.work[round] = { token, csv, findings, runs: [] }
      }
      const work = this.work[round]
      const { runId = 0 } = await submissions.validate(token)
      work?.runs.push(runId)
      const run = await submissions.waitForRun(token, runId)
      expect(run).toMatchObject({ status: 'Processed', errorCount: work?.findings.length })
    }
  }
}

/** Two replicas and two workers on one database, and organisations that use them. */
class Place {
  readonly mahi: Installation
  readonly url: string
  /** Of the replicas; a replica that is started again has another one. */
  readonly urls: string[] = []
  readonly replicas: RunningCommand[] = []
  readonly workers: RunningCommand[] = []
  readonly organisations: Organisation[] = []
  readonly #environment: Record<string, string>
  readonly #keys = new Map<string, string>()

  private constructor(mahi: Installation, url: string) {
    this.mahi = mahi
    this.url = url
    this.#environment = {
      DATABASE_URL: url,
      DEFINITIONS: makeSmallDefinition(),
      RATE_LIMIT_SUBMISSIONS: 'off',
      RATE_LIMIT_RESULTS: 'off',
      DRAIN_SECONDS: '0',
    }
  }

  /** @param url the database on PostgreSQL */
  static async start(url?: string): Promise<Place> {
    const mahi = new Installation()
    const place = new Place(mahi, url ?? mahi.databaseUrl)
    const scopes = ['occupations:read', 'validation-results:read', 'submissions:write'] as const
    await withDatabase(place.url, async (database) => {
      for (let index = 0; index < ORGANISATIONS; index++) {
        const eid = String(7000 + index)
        const options = { client: `client-${eid}`, scopes, eids: [eid], expires: Date.now() + 86_400_000 }
        place.#keys.set(eid, (await createKey(database, options)).key)
      }
    })
    for (const index of [0, 1]) await Promise.all([place.serve(index), place.work(index)])
    for (const [index, eid] of [...place.#keys.keys()].entries())
      place.organisations.push(new Organisation(eid, SEED + index, (each) => place.connect(each)))
    return place
  }

  async serve(index: number): Promise<void> {
    const { command, url } = await this.mahi.serve(this.#environment)
    this.replicas[index] = command
    this.urls[index] = url
  }

  async work(index: number): Promise<void> {
    const worker = this.mahi.start(['work'], { environment: this.#environment })
    await worker.output(/ready for jobs/)
    this.workers[index] = worker
  }

  /** A client that turns to the other replica when it loses one, as behind a load balancer. */
  connect(eid: string): Client {
    let replica = Number(eid)
    return createClient({
      baseUrl: 'http://replica',
      apiKey: this.#keys.get(eid) ?? '',
      eid,
      deadline: 60_000,
      fetch: async (input, init) => {
        const origin = this.urls[replica % this.urls.length] ?? ''
        return await fetch(String(input).replace('http://replica', origin), init).catch((error: unknown) => {
          replica++
          throw error
        })
      },
    })
  }

  /** Waits until the organisations have completed so many more submissions. */
  async untilMore(count: number): Promise<void> {
    const done = () => this.organisations.reduce((sum, { work }) => sum + Math.max(0, work.length - 1), 0)
    const goal = done() + count
    // An organisation that fails ends the wait.
    while (done() < goal) await Promise.race([sleep(50), ...this.organisations.map(({ ended }) => ended)])
  }

  /** Everything that was acknowledged is there, and nothing of another organisation. */
  async check(): Promise<string> {
    await Promise.all(this.organisations.map((each) => each.stop()))
    let runs = 0
    for (const [index, { eid, work, client }] of this.organisations.entries()) {
      const { submissions } = client
      const { totalCount, results = [] } = await submissions.list({ pageSize: 100 })
      expect(totalCount).toBe(work.length)
      expect(results.map(({ submissionToken }) => submissionToken).sort()).toEqual(
        work.map(({ token }) => token).sort(),
      )
      for (const { token, csv, findings, runs: requested } of work) {
        expect((await new Response(await submissions.getFile(token, 'people')).text()) === csv).toBe(true)
        const { results: stored = [] } = await submissions.runs(token)
        expect(stored.map(({ runId }) => runId)).toEqual(expect.arrayContaining(requested))
        for (const run of stored)
          expect(run).toMatchObject({ status: 'Processed', errorCount: findings.length })
        const found: (string | undefined)[] = []
        for await (const { localId } of client.validationResults.all(token)) found.push(localId)
        expect(found).toEqual(findings)
        runs += stored.length
        const other = this.organisations[(index + 1) % this.organisations.length]
        if (other?.eid === eid) continue
        await expect(other?.client.submissions.get(token)).rejects.toMatchObject({ status: 401 })
      }
    }
    const left = await withDatabase(this.url, (database) =>
      database.all(`select id from job where kind = 'run'`),
    )
    expect(left).toEqual([])
    const uploads = this.organisations.reduce((sum, { work }) => sum + 2 * work.length, 0)
    return `${ORGANISATIONS} organisations, ${uploads} uploads acknowledged, ${runs} runs`
  }
}

/** Kills or stops the processes of a place, and starts them again. */
const FAULTS: Record<string, (place: Place) => Promise<void>> = {
  'killed worker': async (place) => {
    place.workers[0]?.kill('SIGKILL')
    await place.workers[0]?.ended
    await place.work(0)
  },
  'killed replica': async (place) => {
    place.replicas[0]?.kill('SIGKILL')
    await place.replicas[0]?.ended
    await place.untilMore(2)
    await place.serve(0)
  },
  'rolling restart': async (place) => {
    for (const index of [0, 1]) {
      for (const [processes, start] of [
        [place.replicas, () => place.serve(index)],
        [place.workers, () => place.work(index)],
      ] as const) {
        processes[index]?.kill('SIGTERM')
        expect(await processes[index]?.ended).toMatchObject({ code: 0 })
        await start()
      }
    }
  },
  ...(engine === 'postgres' && {
    'killed PostgreSQL': async () => {
      await cluster?.kill()
      await cluster?.start()
    },
  }),
}

testFault.for(Object.keys(FAULTS))(
  'a %s during uploads and runs costs nothing acknowledged, and mixes no organisations',
  { timeout: TIMEOUT },
  async (name) => {
    const place = await Place.start(await cluster?.createDatabase(name.replaceAll(' ', '_').toLowerCase()))
    for (let round = 0; round < ROUNDS; round++) {
      await place.untilMore(ORGANISATIONS)
      await FAULTS[name]?.(place)
    }
    await place.untilMore(ORGANISATIONS)
    process.stdout.write(`${name}, ${ROUNDS} times, on ${engine}: ${await place.check()}\n`)
  },
)
