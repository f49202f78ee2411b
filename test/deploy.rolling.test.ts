import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createKey } from '../src/api/access/keys.ts'
import { importOccupations } from '../src/catalogue/import/import.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { publishResults } from '../src/submissions/findings/publish.ts'
import { ask, end, hasCaddy, startCaddy } from './support/caddy.ts'
import { findFreePort } from './support/free-port.ts'
import { sourceOf } from './support/service.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

const MAHI = fileURLToPath(new URL('../bin/mahi.js', import.meta.url))

/** A caller with one connection that is kept open, as browsers and clients do. */
const CALLERS = 6

test.skipIf(!hasCaddy)(
  'three replicas behind the proxy are restarted in turn, and no request is lost',
  { timeout: 180_000 },
  async () => {
    const databaseUrl = temporaryDatabaseUrl()
    const { key, token } = await fill(databaseUrl)
    const replicas = await Promise.all([1, 2, 3].map(() => Replica.start(databaseUrl)))
    const proxy = await startCaddy(replicas.map(({ address }) => address))
    const load = new Load(proxy, [
      { path: '/v1/occupations?Limit=50', headers: { 'x-api-key': key } },
      { path: '/v1/occupations?Limit=1&Cursor=C20', headers: { authorization: `Bearer ${key}` } },
      {
        path: `/v1/submissions/${token}/validation-results?pageSize=10`,
        headers: { 'x-api-key': key, eid: '1001' },
      },
    ])

    for (const replica of replicas) {
      await load.reach(load.counts.sent + 200)
      expect(await replica.stop()).toBe(0)
      await load.reach(load.counts.sent + 200)
      await replica.start()
    }
    await load.reach(load.counts.sent + 200)
    const { sent, ok, shed, lost } = await load.stop()

    process.stdout.write(
      `rolling restart: ${sent} requests sent, ${ok} answered 200, ${shed} answered 503 for want of time, ${lost.length} otherwise\n`,
    )
    expect(lost).toEqual([])
    expect(ok + shed).toBe(sent)
    expect(ok).toBeGreaterThan(shed)
  },
)

/** A catalogue and a submission, and a key that reads both. */
async function fill(url: string): Promise<{ key: string; token: string }> {
  const database = await openDatabase(url)
  try {
    const codes = Array.from({ length: 60 }, (_, index) => `C${index + 10}`)
    await importOccupations(
      database,
      sourceOf(
        codes.map((occupationCode) => ({ occupationCode, titleEnglish: `Title of ${occupationCode}` })),
      ),
    )
    const entries = codes.map((localId) => ({ localId, errorCode: 'E1', errorType: 'Error' }))
    const { submissionToken } = await publishResults(database, sourceOf(entries), {
      eid: '1001',
      returnId: 'R1',
    })
    const { key } = await createKey(database, {
      client: 'load',
      eids: ['1001'],
      expires: Date.now() + 86_400_000,
    })
    return { key, token: submissionToken }
  } finally {
    await database.close()
  }
}

/** `mahi serve` at one address, however often it is restarted. */
class Replica {
  readonly address: string
  readonly #settings: Record<string, string>
  #process: ChildProcess | undefined

  private constructor(port: number, databaseUrl: string) {
    this.address = `127.0.0.1:${port}`
    this.#settings = {
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      METRICS_PORT: '0',
      LOG_LEVEL: 'error',
      RATE_LIMIT_OCCUPATIONS: 'off',
      RATE_LIMIT_RESULTS: 'off',
      RATE_LIMIT_ORGANISATION: 'off',
      TRUST_PROXY: '127.0.0.1',
      DRAIN_SECONDS: '3',
    }
  }

  static async start(databaseUrl: string): Promise<Replica> {
    const replica = new Replica(await findFreePort(), databaseUrl)
    await replica.start()
    return replica
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [MAHI, 'serve'], {
      env: { PATH: process.env.PATH, ...this.#settings },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    onTestFinished(() => end(child))
    this.#process = child
    await vi.waitFor(async () => expect((await ask(`http://${this.address}`, '/readyz')).status).toBe(200), {
      timeout: 30_000,
    })
  }

  /** Asks it to stop, and answers its exit status. */
  async stop(): Promise<number | null> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null) throw new Error('the replica has ended unexpectedly')
    child.kill('SIGTERM')
    await once(child, 'exit')
    return child.exitCode
  }
}

interface Question {
  readonly path: string
  readonly headers: Record<string, string>
}

/** Callers that ask one question after the other, each on its own connection, and never ask one twice. */
class Load {
  readonly counts = { sent: 0, ok: 0, shed: 0, lost: [] as string[] }
  readonly #url: string
  readonly #questions: readonly Question[]
  readonly #callers: readonly Promise<void>[]
  readonly #expected = new Map<string, string>()
  #stopping = false

  constructor(url: string, questions: readonly Question[]) {
    this.#url = url
    this.#questions = questions
    this.#callers = Array.from({ length: CALLERS }, () => this.#call())
  }

  async #call(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let index = 0; !this.#stopping; index++) {
      const question = this.#questions[index % this.#questions.length]
      if (question === undefined) throw new Error('a load needs a question')
      this.counts.sent++
      await this.#ask(question, agent).catch((error: Error) => this.counts.lost.push(String(error)))
    }
    agent.destroy()
  }

  async #ask({ path, headers }: Question, agent: Agent): Promise<void> {
    const { status, body } = await ask(this.#url, path, headers, agent)
    // On a busy machine a process turns requests away, which has nothing to do with the restart.
    if (status === 503 && body.includes('overloaded')) {
      this.counts.shed++
      return
    }
    const expected = this.#expected.get(path) ?? body
    this.#expected.set(path, expected)
    if (status === 200 && body === expected) this.counts.ok++
    else this.counts.lost.push(`${path}: ${status} ${body}`)
  }

  /** Waits until so many requests have been sent. */
  async reach(sent: number): Promise<void> {
    await vi.waitUntil(() => this.counts.sent >= sent, { timeout: 30_000 })
  }

  /** Lets what has been sent be answered. */
  async stop() {
    this.#stopping = true
    await Promise.all(this.#callers)
    return this.counts
  }
}
