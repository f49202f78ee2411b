import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { expect, onTestFinished } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import { createMemoryLimiter, rateLimitsOf } from '../../src/api/access/limits.ts'
import type { Scope } from '../../src/api/access/principal.ts'
import { UNDECLARED } from '../../src/api/contract/errors.ts'
import { createLog } from '../../src/api/telemetry/log.ts'
import { Metrics } from '../../src/api/telemetry/metrics.ts'
import { type AppOptions, buildApp } from '../../src/app.ts'
import { type ImportOptions, importOccupations } from '../../src/catalogue/import/import.ts'
import { buildStoredIndex } from '../../src/catalogue/search/build-stored.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { RevisionWatch } from '../../src/foundation/database/revision-watch.ts'
import { Sealer } from '../../src/foundation/database/seal.ts'
import { Lifecycle } from '../../src/foundation/lifecycle.ts'
import { readSettings } from '../../src/settings.ts'
import { checkLimitsOf } from '../../src/submissions/check-limits.ts'
import { type Publication, publishResults } from '../../src/submissions/findings/publish.ts'
import { Definitions } from '../../src/submissions/rules/definitions.ts'
import { assertDescribed } from './contract.ts'
import { FileWorker } from './file-worker.ts'
import { takeDatabaseUrl } from './reused-schemas.ts'
import { sourceOf } from './source.ts'
import { temporaryFolder } from './temporary.ts'

/**
 * Opens a database with as many connections as a service has, of which a caller may use half: with fewer, requests of a
 * slow machine get 503, because they wait for a connection for two seconds at most.
 */
export async function openPool(url: string, poolSize = 10): Promise<Database> {
  return await openDatabase(url, { poolSize })
}

/** The URLs of what a worker does while the request waits. */
const WORK = /\/(?:files|marked-files|corrected-files|repairs)\b/

/** A service with its own database, for one test. Every response is checked against openapi.json. */
export class Service {
  readonly app!: FastifyInstance
  readonly database!: Database
  readonly revisions!: RevisionWatch
  readonly metrics!: Metrics
  readonly lifecycle!: Lifecycle
  /** Lines that the service has logged. */
  readonly log!: string[]
  /** A key for everything and the organisation 1001. */
  readonly key!: string
  /** Reads uploads for requests that wait for it; those of `request` do. */
  readonly files!: FileWorker

  private constructor(
    parts: Pick<
      Service,
      'app' | 'database' | 'revisions' | 'metrics' | 'lifecycle' | 'log' | 'key' | 'files'
    >,
  ) {
    Object.assign(this, parts)
  }

  static async start(
    environment: Record<string, string> = {},
    given?: string,
    {
      open = openPool,
      ...options
    }: Pick<AppOptions, 'demo'> & { readonly open?: (url: string) => Promise<Database> } = {},
  ): Promise<Service> {
    const url = given ?? (await takeDatabaseUrl())
    const settings = readSettings({
      RATE_LIMIT_OCCUPATIONS: 'off',
      RATE_LIMIT_RESULTS: 'off',
      RATE_LIMIT_ORGANISATION: 'off',
      RATE_LIMIT_FAILED_CREDENTIALS: 'off',
      SNAPSHOT_FOLDER: temporaryFolder(),
      ...environment,
      DATABASE_URL: url,
    })
    const log: string[] = []
    const lifecycle = new Lifecycle()
    const database = lifecycle.own(await open(url), (opened) => opened.close())
    const revisions = lifecycle.own(await RevisionWatch.start(database), (watch) => watch.stop())
    const metrics = new Metrics()
    const { app } = await buildApp({
      ...options,
      settings,
      database,
      revisions,
      consume: createMemoryLimiter(rateLimitsOf(settings)),
      metrics,
      lifecycle,
      log: createLog('trace', { write: (line: string) => void log.push(line) }),
    })
    onTestFinished(async () => {
      await lifecycle.end()
      const undeclared = log.find((line) => line.includes(UNDECLARED))
      if (undeclared !== undefined) throw new Error(undeclared)
    })
    const { key } = await createKey(database, {
      client: 'tests',
      eids: ['1001'],
      expires: Date.now() + 86_400_000,
    })
    await revisions.refresh()
    const files = new FileWorker(database, {
      sealer: new Sealer(settings.ENCRYPTION_KEYS),
      definitions: new Definitions(settings.DEFINITIONS),
      limits: checkLimitsOf(settings),
      maxBytes: settings.UPLOAD_MAX_MB * 2 ** 20,
    })
    return new Service({ app, database, revisions, metrics, lifecycle, log, key, files })
  }

  /** Asks for an address with the service's key; `headers` add to it or, as `undefined`, take away. */
  async get(url: string, headers: Record<string, string | undefined> = {}): Promise<LightMyRequestResponse> {
    return await this.request({ url, headers: { 'x-api-key': this.key, ...headers } })
  }

  async request(options: InjectOptions): Promise<LightMyRequestResponse> {
    const headers = Object.fromEntries(
      Object.entries(options.headers ?? {}).filter(([, value]) => value !== undefined),
    )
    const sent = this.app.inject({ ...options, headers })
    const response = await (WORK.test(String(options.url)) ? this.files.during(sent) : sent)
    assertDescribed(options, response)
    // On a slow machine, work may outlast the time for which a request waits; its result is then ready.
    const isRead = (options.method ?? 'GET') === 'GET' && headers.prefer === undefined
    if (response.statusCode === 202 && isRead) return await this.request(options)
    return response
  }

  /** Imports records as the command does, and waits until the service shows them. */
  async import(records: readonly unknown[], options: ImportOptions = {}) {
    // Random texts of tests may differ in a macron only.
    const summary = await importOccupations(this.database, sourceOf(records), {
      acceptDamaged: true,
      ...options,
    })
    await this.revisions.refresh()
    return summary
  }

  /** Builds the search index, in this process. */
  async index(): Promise<void> {
    await buildStoredIndex((use) => use(this.database))
    await this.revisions.refresh()
  }

  /** Publishes entries as the command does. */
  async publish(entries: readonly unknown[], publication: Partial<Publication> = {}) {
    return await publishResults(this.database, sourceOf(entries), {
      eid: '1001',
      returnId: 'R1',
      ...publication,
    })
  }

  /** Creates a submission over HTTP for the return 202512; `headers` name its organisation and the credential. */
  async createSubmission(headers: Record<string, string>): Promise<string> {
    const created = await this.request({
      method: 'POST',
      url: '/v1/submissions',
      headers: { ...headers, 'content-type': 'application/json' },
      payload: '{"returnId":"202512"}',
    })
    expect(created.statusCode).toBe(201)
    return (created.json() as { submissionToken: string }).submissionToken
  }

  async createKey(options: {
    client?: string
    scopes?: readonly Scope[]
    eids?: readonly string[]
    expires?: number
  }) {
    const key = await createKey(this.database, {
      client: 'other',
      expires: Date.now() + 86_400_000,
      ...options,
    })
    await this.revisions.refresh()
    return key
  }
}

export { sourceOf }
