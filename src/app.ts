import type { IncomingMessage } from 'node:http'
import underPressure from '@fastify/under-pressure'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Access } from './access/admit.ts'
import { Audit } from './access/audit.ts'
import { Delegations } from './access/delegation.ts'
import { createJwtVerifier, createKeyedHash, type JwtOptions, type KeyedHash } from './access/jwt.ts'
import { KeyUse } from './access/key-use.ts'
import { KeyWatch } from './access/key-watch.ts'
import { KeyVerifier } from './access/keys.ts'
import { type ConsumeLimit, describeLimits, type RateLimits } from './access/rate-limit.ts'
import { createBearerVerifier } from './access/verify.ts'
import { assertWellFormed, BrokenRequests } from './connection/broken-requests.ts'
import { endResponse } from './connection/last-response.ts'
import { registerConsole } from './console/console.ts'
import { Oidc } from './console/oidc.ts'
import { Sessions } from './console/sessions.ts'
import type { Database, Reader } from './database/database.ts'
import { readHashKey } from './database/instance.ts'
import type { RevisionWatch } from './database/revision-watch.ts'
import { createSealer } from './database/seal-keys.ts'
import { registerOpenApi } from './documentation/openapi.ts'
import { registerProblemPages } from './documentation/problem-pages.ts'
import { type DemoCredentials, registerReference } from './documentation/reference.ts'
import { registerRoot } from './documentation/root.ts'
import { CommonHeaders, IDLE_TIMEOUT } from './http/common-headers.ts'
import { Cors } from './http/cors.ts'
import { answerError } from './http/errors.ts'
import { type Life, registerHealth } from './http/health.ts'
import { PROBLEMS, Problem } from './http/problems.ts'
import { createRequestId } from './http/request-ids.ts'

import { Unrouted } from './http/routing.ts'
import { assertVersion, VERSIONS, VersionRouter } from './http/versions.ts'
import { Catalogue } from './occupations/catalogue.ts'
import { ChangeFeed } from './occupations/history/change-feed.ts'
import { historyOperations } from './occupations/history/operations.ts'
import { SnapshotStore } from './occupations/history/snapshot-store.ts'
import { occupationOperations } from './occupations/operations.ts'
import { prepareOperations, registerOperation, SCHEMA_CONTROLLER } from './operation.ts'
import type { Page } from './pages/page.ts'
import { PageCache } from './pages/page-cache.ts'
import { UnreadResponses } from './pages/unread-responses.ts'
import { sendsPreparedHead } from './pages/write-head.ts'
import { CodingThread } from './search/coding-thread.ts'
import { LiveIndex } from './search/live-index.ts'
import { searchOperations } from './search/operations.ts'
import type { Settings } from './settings.ts'
import { Definitions } from './submissions/definitions.ts'
import { fileOperations } from './submissions/file-operations.ts'
import { describeCaller } from './submissions/me-operation.ts'
import { submissionOperations } from './submissions/operations.ts'
import type { SubmissionOptions } from './submissions/options.ts'
import { ruleOperations } from './submissions/rule-operations.ts'
import { runOperations } from './submissions/run-operations.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'
import { ResponseLog } from './telemetry/response-log.ts'
import type { Traces } from './telemetry/traces.ts'
import { resultsOperations } from './validation-results/operations.ts'

export interface AppOptions {
  readonly settings: Settings
  /** The database of keys and revisions. */
  readonly database: Database
  /** The database of all other data, or standbys of it. */
  readonly reads: Reader
  /** Notifies of changes to the catalogue and the keys by other processes. */
  readonly revisions: RevisionWatch
  readonly consume: ConsumeLimit
  readonly metrics: Metrics
  readonly life: Life
  readonly log: Log
  /** Absent if traces are off. */
  readonly traces?: Traces | undefined
  /** Filled in on the reference page, for browsers on this machine. */
  readonly demo?: DemoCredentials | undefined
}

/** The longest URL, in characters: several times as long as any sensible query needs. */
const MAX_URL_LENGTH = 8192

/** How long an upload may take, in milliseconds. */
const UPLOAD_TIMEOUT = 3_600_000

const NO_QUERY = {}

/**
 * Measures the event loop delay; the returned function says whether it exceeds a limit in milliseconds, or never if
 * the limit is 0. The plugin's hook, which looks up route options at every request, is kept in a scope without
 * routes.
 */
async function watchPressure(app: FastifyInstance, maxEventLoopDelay: number): Promise<() => boolean> {
  let isUnderPressure = () => false
  await app.register(async (scope) => {
    // A window without a sample, because of the start or one long task, counts as infinite delay.
    await scope.register(underPressure, { maxEventLoopDelay, sampleInterval: 1000 })
    isUnderPressure = () => scope.isUnderPressure()
  })
  return isUnderPressure
}

/** Rejects a request at once instead of slowing all of them down; health checks still succeed. */
function shedLoad(request: FastifyRequest): void {
  if (request.routeOptions.config.operation === 'livez') return
  throw new Problem('unavailable', 'The service is overloaded.', {
    headers: { 'retry-after': '1' },
  })
}

/** The rate limits from the settings. */
export function rateLimitsOf(settings: Settings): RateLimits {
  return {
    occupations: settings.RATE_LIMIT_OCCUPATIONS,
    'validation-results': settings.RATE_LIMIT_RESULTS,
    submissions: settings.RATE_LIMIT_SUBMISSIONS,
    codings: settings.RATE_LIMIT_CODINGS,
    'failed-credentials': settings.RATE_LIMIT_FAILED_CREDENTIALS,
  }
}

/** The requirements for JWTs; `undefined` if JWTs are not accepted. */
function jwtOptionsOf(settings: Settings): JwtOptions | undefined {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: jwksUrl } = settings
  if (issuer === undefined || audience === undefined || jwksUrl === undefined) return undefined
  return { issuer, audience, jwksUrl, eidClaim: settings.JWT_EID_CLAIM }
}

/** Console sign-in with an identity provider; `undefined` if none is configured. */
function oidcOf(settings: Settings, keyedHash: KeyedHash): Oidc | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = settings
  const publicUrl = settings.PUBLIC_URL
  if (issuer === undefined || clientId === undefined || publicUrl === undefined) return undefined
  return new Oidc({ issuer, clientId, clientSecret, publicUrl, eidClaim: settings.JWT_EID_CLAIM, keyedHash })
}

/** Builds the service without listening: registers everything that it serves, in order. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { settings, database, reads, revisions, consume, metrics, life, log, traces } = options
  const logger = log.logger as FastifyBaseLogger
  /** Runs before everything else for each request. */
  const begin = (request: FastifyRequest & { log: FastifyBaseLogger }, reply: FastifyReply) => {
    request.log = logger
    reply.log = logger
    responses.begin(request)
  }
  const responses = new ResponseLog(log, metrics, traces?.ending(endResponse) ?? endResponse)
  const broken = new BrokenRequests(responses)
  const common = new CommonHeaders(life, new Cors(settings.CORS_ORIGINS))
  const versions = new VersionRouter()
  const app = Fastify({
    // With a logger, Fastify would create a child for each request and listen to each response, which costs more than
    // finding a page. The logger is set below; lines that need the id of a request include it.
    logger: false,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: createRequestId,
    rewriteUrl: (request) => versions.route(request as IncomingMessage),
    trustProxy: settings.TRUST_PROXY === false ? false : [...settings.TRUST_PROXY],
    // Tokens of any length get the same 401.
    // Queries are read by compileQuery.
    routerOptions: { maxParamLength: MAX_URL_LENGTH, querystringParser: () => NO_QUERY },
    // While the process stops, requests on open connections still get their responses.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The time for the largest upload; a JSON body has 30 s (http/body.ts).
    requestTimeout: UPLOAD_TIMEOUT,
    // Closes inactive connections, whether they wait for the next request or for a reader that has stopped reading
    // and would hold a page in memory.
    connectionTimeout: IDLE_TIMEOUT,
    schemaController: SCHEMA_CONTROLLER,
    // assertWellFormed rejects a missing Host header with a problem body. By default, Node checks for slow
    // connections only every 30 s.
    http: { headersTimeout: 15_000, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    clientErrorHandler: (error, socket) => broken.answer(error, socket),
    frameworkErrors: (error, request, reply) => {
      // No hooks run for these requests.
      begin(request, reply)
      common.addTo(request, reply)
      responses.recordReply(request, reply)
      answerError(error, request, reply)
    },
  })
  app.log = logger
  // A separate timeout for idle connections would be set and cleared at every request. Fastify does not accept 0.
  app.server.keepAliveTimeout = 0
  broken.watch(app.server)
  app.setErrorHandler(answerError)
  app.decorateRequest('principal', undefined)
  app.decorateRequest('limitHeaders', undefined)

  const statuses = [200, 204, 304, ...new Set(Object.values(PROBLEMS).map(({ status }) => status))]
  for (const operation of ['unknown', 'broken-request']) metrics.expect(operation, statuses)
  app.addHook('onRoute', ({ config }) => {
    if (config?.operation !== undefined) metrics.expect(config.operation, statuses)
  })
  responses.watch(app)
  app.addHook('onSend', (request, reply, _payload, done) => {
    common.addTo(request, reply)
    done()
  })
  const isUnderPressure = await watchPressure(app, settings.OVERLOAD_DELAY_MS)
  const unrouted = new Unrouted(app)
  traces?.watch(app)
  // Before any of the body is read.
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    if (isUnderPressure()) shedLoad(request)
    assertWellFormed(request)
    if (request.method === 'OPTIONS') return void unrouted.answer(request, reply)
    assertVersion(request.raw)
    if (request.url.length > MAX_URL_LENGTH) {
      throw new Problem(
        'uri-too-long',
        `The URL is ${request.url.length} characters long; at most ${MAX_URL_LENGTH} are allowed.`,
      )
    }
    if (request.is404 || Unrouted.endsEmpty(request)) return void unrouted.answer(request, reply)
    done()
  })
  prepareOperations(app)
  await registerOpenApi(app)
  registerReference(app, options.demo)
  registerRoot(app, settings.CONSOLE === 'on' ? '/console' : '/docs')
  const readers = [...new Set([database, reads])]
  registerHealth(app, { readers, isCurrent: () => !revisions.stale }, life)
  registerProblemPages(app)

  const audit = new Audit(logger)
  const keyWatch = await KeyWatch.start(database, audit)
  const keyUse = new KeyUse(database)
  const keys = new KeyVerifier(database, keyWatch.explain, keyUse.mark)
  app.addHook('onClose', async () => {
    keyWatch.stop()
    await keyUse.stop()
    audit.stop()
  })
  const jwt = jwtOptionsOf(settings)
  const keyedHash = createKeyedHash(await readHashKey(database))
  const delegations = new Delegations()
  const access: Access = {
    verifyKey: keys.verify,
    verifyBearer: createBearerVerifier(
      delegations.verifying(keys.verify),
      jwt === undefined ? undefined : createJwtVerifier(jwt, keyedHash, logger),
    ),
    audit,
    consume,
    limits: describeLimits(rateLimitsOf(settings)),
    publicOccupations: settings.OCCUPATIONS_ACCESS === 'public',
  }
  const pages = () => new PageCache<Page>((settings.PAGE_CACHE_MB * 2 ** 20) / 3)
  const unread = new UnreadResponses()
  if (!sendsPreparedHead()) {
    logger.warn(
      `Node.js ${process.version} does not support prepared response heads, so responses are slower.`,
    )
  }

  const [v1] = VERSIONS
  const cataloguePages = pages()
  const resultPages = pages()
  const searchPages = pages()
  const catalogue = new Catalogue(
    reads,
    database,
    revisions.current.catalogue,
    cataloguePages,
    unread,
    `${v1.prefix}/occupations`,
  )
  const feed = new ChangeFeed(
    { reader: reads, primary: database },
    revisions.current.catalogue,
    unread,
    `${v1.prefix}/occupations`,
  )
  const snapshots = new SnapshotStore(
    database,
    settings.SNAPSHOT_FOLDER,
    revisions.current.catalogue,
    (err) => logger.error({ err }, 'the snapshot could not be created: check SNAPSHOT_FOLDER'),
  )
  app.addHook('onClose', () => snapshots.close())
  const search = new LiveIndex(settings.DATABASE_URL, {
    failed: (err) => logger.error({ err }, 'the search index could not be loaded'),
    unstored: (reason) => logger.warn({ reason }, 'the search index could not be stored'),
  })
  app.addHook('onListen', async () => search.start())
  app.addHook('onClose', () => search.close())
  const coding = new CodingThread()
  app.addHook('onClose', () => coding.close())
  revisions.on('catalogue', (revision) => {
    catalogue.advance(revision)
    search.advance()
    feed.advance(revision)
    snapshots.advance(revision)
  })
  revisions.on('keys', () => {
    keys.forget()
    void keyWatch.refresh()
  })
  // Otherwise a revoked key or an outdated page would be served for as long as changes cannot be read.
  revisions.onStale(() => {
    keys.forget()
    catalogue.doubt()
  })
  revisions.onFresh(() => catalogue.trust(revisions.current.catalogue))
  metrics.gauge(
    'mahi_page_cache_bytes',
    'Bytes of finished pages kept in memory.',
    () => cataloguePages.weight + resultPages.weight + searchPages.weight,
  )
  metrics.gauge(
    'mahi_backlog_bytes',
    'Bytes of responses that their clients have not read yet.',
    () => unread.bytes,
  )
  metrics.counter(
    'mahi_refusals_total',
    'Requests with a credential that was refused, by reason.',
    () => audit.refusals,
    'reason',
  )
  metrics.gauge('mahi_search_index_bytes', 'Bytes of the search index in use.', () => search.bytes)
  metrics.gauge(
    'mahi_search_index_age_seconds',
    'Seconds since the search index in use was loaded; NaN if there is none.',
    () => search.age,
  )
  metrics.gauge(
    'mahi_search_index_behind_seconds',
    'Seconds for which the catalogue has been newer than the search index in use.',
    () => search.behind,
  )

  const sealer = createSealer(settings)
  const submissions: SubmissionOptions = {
    access,
    database,
    sealer,
    definitions: new Definitions(settings.DEFINITIONS),
    life: settings.SUBMISSION_DAYS * 86_400_000,
    maxUploadBytes: settings.UPLOAD_MAX_MB * 2 ** 20,
    maxBatchRecords: settings.BATCH_MAX_RECORDS,
    maxWaitingRuns: settings.RUNS_WAITING_MAX,
    isStopping: () => life.stopping,
  }
  const services = { access, send: { common, responses, unread }, versions }
  const operations = [
    ...occupationOperations({
      catalogue,
      anonymous: access.publicOccupations,
      limits: { default: settings.OCCUPATIONS_LIMIT_DEFAULT, max: settings.OCCUPATIONS_LIMIT_MAX },
    }),
    ...historyOperations({
      feed,
      snapshots,
      anonymous: access.publicOccupations,
      limits: { max: settings.OCCUPATIONS_LIMIT_MAX },
    }),
    ...searchOperations({
      index: search,
      coding,
      pages: searchPages,
      anonymous: access.publicOccupations,
      path: `${v1.prefix}/occupations/search`,
    }),
    ...resultsOperations({
      access,
      reader: reads,
      primary: database,
      pages: resultPages,
      unread,
      limits: { default: settings.RESULTS_PAGE_SIZE_DEFAULT, max: settings.RESULTS_PAGE_SIZE_MAX },
      sealer,
    }),
    ...submissionOperations(submissions),
    ...fileOperations(submissions),
    ...runOperations(submissions),
    ...ruleOperations(submissions.definitions),
    describeCaller(access),
  ]
  for (const operation of operations) registerOperation(app, services, operation)
  if (settings.CONSOLE === 'on') {
    await registerConsole(app, {
      app,
      access,
      database,
      delegations,
      sessions: new Sessions(database),
      oidc: oidcOf(settings, keyedHash),
      log: logger,
    })
  }
  return app
}
