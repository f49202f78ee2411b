import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Client, createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { SDR_FILES } from '../../test/support/sdr/file-types.ts'
import { endWithParent } from '../end-with-parent.ts'
import { ENVIRONMENT, script, startMahi } from '../mahi.ts'
import { type Contender, childrenOf, ownMemory } from '../measure.ts'

/** A run that has been requested. */
export interface Requested {
  readonly client: Client
  readonly token: string
  readonly runId: number
}

/** A server without a worker, on a separate database, and a client for each organisation. */
export class Place {
  readonly server: Contender
  readonly url: string
  readonly key: string
  readonly clients: readonly Client[]
  #workers: ChildProcess[] = []

  private constructor(server: Contender, url: string, key: string, eids: readonly string[]) {
    this.server = server
    this.url = url
    this.key = key
    this.clients = eids.map((eid) =>
      createClient({ baseUrl: server.url, apiKey: key, eid, deadline: 600_000 }),
    )
  }

  /** @param more settings of the server */
  static async start(
    url: string,
    organisations: number,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Place> {
    const eids = Array.from({ length: organisations }, (_, index) => String(7000 + index))
    const scopes = ['occupations:read', 'validation-results:read', 'submissions:write'] as const
    const database = await openDatabase(url)
    const expires = Date.now() + 86_400_000
    const { key } = await createKey(database, { client: 'bench', scopes, eids, expires })
    await database.close()
    // Without kept pages, each response is read from the database.
    const settings = {
      WORKERS: '0',
      PAGE_CACHE_MB: '0',
      RATE_LIMIT_SUBMISSIONS: 'off',
      RATE_LIMIT_ORGANISATION: 'off',
      ...more,
    }
    return new Place(await startMahi(url, 'Mahi', settings), url, key, eids)
  }

  /** Starts workers, each a process that checks one run at a time, and waits until they are ready. */
  async startWorkers(count: number): Promise<void> {
    this.#workers = await Promise.all(Array.from({ length: count }, () => this.#startWorker()))
  }

  async #startWorker(): Promise<ChildProcess> {
    const worker = spawn(process.execPath, [script('../dist/src/start.js'), 'work'], {
      env: { ...process.env, ...ENVIRONMENT, DATABASE_URL: this.url, WORKERS: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    endWithParent(worker)
    const lines = createInterface({ input: worker.stdout })
    await new Promise<void>((resolve) => {
      lines.on('line', (line) => line.includes('ready for jobs') && resolve())
    })
    return worker
  }

  /** Kills the first worker, without a chance to release its job, and starts another in its place. */
  async replaceWorker(): Promise<void> {
    const killed = this.#workers.shift()
    if (killed === undefined) throw new Error('there is no worker')
    const ended = once(killed, 'exit')
    killed.kill('SIGKILL')
    await ended
    this.#workers.push(await this.#startWorker())
  }

  /** The process ids of the workers. */
  get workers(): number[] {
    return this.#workers.map(({ pid }) => pid ?? 0)
  }

  /** The memory of the workers and the processes of their checks, in MB. */
  workersMemory(): number {
    const all = this.workers.flatMap((pid) => [pid, ...childrenOf(pid)])
    return all.reduce((sum, pid) => sum + ownMemory(pid), 0)
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(
      this.#workers.map(async (worker) => {
        const ended = once(worker, 'exit')
        worker.kill('SIGTERM')
        await ended
      }),
    )
    this.#workers = []
  }

  /** Uploads the files of a folder for an organisation, and returns the token of its submission. */
  async upload(client: Client, folder: string): Promise<string> {
    const { submissionToken = '' } = await client.submissions.create({ returnId: '202512' })
    for (const name of SDR_FILES)
      await client.submissions.putFile(submissionToken, name, readFileSync(join(folder, `${name}.csv`)))
    return submissionToken
  }

  async request(client: Client, token: string): Promise<Requested> {
    const { runId = 0 } = await client.submissions.validate(token)
    return { client, token, runId }
  }

  async stop(): Promise<void> {
    await this.stopWorkers()
    await this.server.stop()
  }
}

/**
 * Waits for a run, and returns the seconds from its request to its end.
 *
 * @throws {Error} unless the run was processed
 */
export async function waitFor({ client, token, runId }: Requested): Promise<number> {
  const run = await client.submissions.waitForRun(token, runId)
  if (run.status !== 'Processed') throw new Error(`a run ended as ${run.status}: ${run.reason}`)
  return (Date.parse(run.dateCompleted ?? '') - Date.parse(run.dateReceived ?? '')) / 1000
}
