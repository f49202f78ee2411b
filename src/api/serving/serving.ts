import type { IncomingMessage } from 'node:http'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Budget } from '../../foundation/budget/budget.ts'
import { BUDGETS, type Budgets, createBudgets } from '../../foundation/budget/budgets.ts'
import type { Life } from '../../foundation/lifecycle.ts'
import { Outage } from '../../foundation/outage.ts'
import { answerError } from '../contract/errors.ts'
import { PROBLEMS, Problem } from '../contract/problems.ts'
import { prepareOperations, SCHEMA_CONTROLLER } from '../contract/register.ts'
import { callerOf, useBudgets } from '../request/caller.ts'
import { Cors } from '../request/cors.ts'
import { assertWellFormed, Unrouted } from '../request/routing.ts'
import { assertVersion, VersionRouter } from '../request/versions.ts'
import type { Log } from '../telemetry/log.ts'
import type { Measurement, Metrics } from '../telemetry/metrics.ts'
import { ResponseLog } from '../telemetry/response-log.ts'
import { Connections } from './connections.ts'
import { CommonHeaders, IDLE_TIMEOUT } from './headers.ts'
import { endResponse } from './last-response.ts'
import { probeNode } from './node-internals.ts'
import type { Page } from './page.ts'
import { PageCache } from './page-cache.ts'
import { createRequestId, Requests } from './requests.ts'
import type { SendOptions } from './send.ts'
import { SMALL, SocketBuffers } from './socket-buffers.ts'
import { Turns } from './turns.ts'
import { UnreadResponses } from './unread-responses.ts'

export interface ServingSettings {
  readonly CORS_ORIGINS: '*' | readonly string[]
  readonly TRUST_PROXY: false | readonly string[]
  readonly OVERLOAD_DELAY_MS: number
  readonly PAGE_CACHE_MB: number
}

export interface ServingOptions {
  /** The most pages that the database reads at once. */
  readonly pageReads: number
  readonly life: Life
  readonly log: Log
  readonly metrics: Metrics
}

/** Everything between the socket and the handler of an operation. */
export interface Serving {
  /** Routes requests, once operations and pages are registered. */
  readonly app: FastifyInstance
  readonly send: SendOptions
  readonly versions: VersionRouter
  readonly budgets: Budgets
  /** Creates one of the caches of finished pages, each with an equal part of the memory. */
  createCache(): PageCache<Page>
  readonly metrics: readonly Measurement[]
  /** Closes every connection without an upload or export in progress, and returns the number of the others. */
  cutOffRest(): number
  /** Lets requests in flight finish, then closes their connections. */
  stop(): Promise<void>
}

/** The longest URL, in characters: several times as long as any sensible query needs. */
const MAX_URL_LENGTH = 8192

/** How long an upload may take, in milliseconds. */
const UPLOAD_TIMEOUT = 3_600_000

/** Caches of pages: of the catalogue, of its search and of findings. */
const CACHES = 3

/** How long the database must not fail until an outage counts as over, in milliseconds. */
const QUIET = 60_000

const NO_QUERY = {}

/** Prepares for requests without listening. */
export async function createServing(
  settings: ServingSettings,
  { pageReads, life, log, metrics }: ServingOptions,
): Promise<Serving> {
  const logger = log.logger as FastifyBaseLogger
  for (const loss of await probeNode()) logger.warn(loss)
  const responses = new ResponseLog(log, metrics, endResponse)
  const requests = new Requests(responses)
  const common = new CommonHeaders(life, new Cors(settings.CORS_ORIGINS))
  const turns = new Turns(settings.OVERLOAD_DELAY_MS)
  const versions = new VersionRouter()
  const budgets = createBudgets(pageReads)
  const unread = new UnreadResponses(budgets['unread-responses'])
  const buffers = new SocketBuffers(budgets['socket-buffers'])
  const caches: PageCache<Page>[] = []
  /** Runs before everything else for each request. */
  const begin = (request: FastifyRequest & { log: FastifyBaseLogger }, reply: FastifyReply) => {
    request.log = logger
    reply.log = logger
    responses.begin(request)
  }
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
    // The time for the largest upload; a JSON body has 30 s (api/request/body.ts).
    requestTimeout: UPLOAD_TIMEOUT,
    // Closes inactive connections, whether they wait for the next request or for a reader that has stopped reading
    // and would hold a page in memory.
    connectionTimeout: IDLE_TIMEOUT,
    schemaController: SCHEMA_CONTROLLER,
    // assertWellFormed rejects a missing Host header with a problem body. By default, Node checks for slow
    // connections only every 30 s.
    http: { headersTimeout: 15_000, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    clientErrorHandler: (error, socket) => requests.answerError(error, socket),
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
  requests.watch(app.server)
  buffers.watch(app.server)
  turns.watch(app.server)
  const connections = new Connections(app.server)
  app.setErrorHandler(answerError)
  app.decorateRequest('principal', undefined)
  app.decorateRequest('limitHeaders', undefined)

  expectStatuses(app, metrics)
  responses.watch(app)
  app.addHook('onSend', (request, reply, payload, done) => {
    common.addTo(request, reply)
    // Everything large that does not take the fast path: static files, pages of the console, documents.
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0
    if (bytes <= SMALL) return void done()
    const caller = callerOf(request)
    unread.hold(reply.raw, bytes, caller)
    const held = buffers.hold(request.raw.socket, request.method === 'HEAD' ? 0 : bytes, caller)
    if (held === undefined) done()
    else held.then(() => done(), done)
  })
  const unrouted = new Unrouted(app)
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    turns.enter(request, done)
  })
  // Before any of the body is read.
  app.addHook('onRequest', (request, reply, done) => {
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
  useBudgets(app, budgets)
  app.decorate(
    'outage',
    new Outage(
      (err) => logger.error({ err }, 'the database fails: requests that need it get 503'),
      (failures) => logger.info({ failures }, 'no request has failed for a minute because of the database'),
      QUIET,
    ),
  )
  prepareOperations(app)
  return {
    app,
    send: { common, responses, unread, buffers },
    versions,
    budgets,
    createCache: () => {
      const cache = new PageCache<Page>((settings.PAGE_CACHE_MB * 2 ** 20) / CACHES, false)
      caches.push(cache)
      return cache
    },
    metrics: [
      {
        name: 'mahi_page_cache_bytes',
        help: 'Bytes of finished pages kept in memory.',
        read: () => caches.reduce((sum, { weight }) => sum + weight, 0),
      },
      {
        name: 'mahi_requests_waiting',
        help: 'Requests that wait for their turn.',
        read: () => turns.waiting,
      },
      {
        name: 'mahi_requests_overdue_total',
        help: 'Requests refused because they waited too long for their turn, or too many waited.',
        read: () => turns.refused,
      },
      ...measureBudgets(budgets),
    ],
    cutOffRest: () => connections.cutOffRest(),
    stop: () => connections.endDuring(app.close()),
  }
}

/** Begins the series of each operation at 0. */
function expectStatuses(app: FastifyInstance, metrics: Metrics): void {
  const statuses = [200, 204, 304, ...new Set(Object.values(PROBLEMS).map(({ status }) => status))]
  for (const operation of ['unknown', 'broken-request']) metrics.expect(operation, statuses)
  app.addHook('onRoute', ({ config }) => {
    if (config?.operation !== undefined) metrics.expect(config.operation, statuses)
  })
}

function measureBudgets(budgets: Budgets): Measurement[] {
  const ofEach = (read: (budget: Budget) => number) => () =>
    Object.fromEntries(BUDGETS.map((name) => [name, read(budgets[name])]))
  return [
    {
      name: 'mahi_backlog_bytes',
      help: 'Bytes of responses that their clients have not read yet.',
      read: () => budgets['unread-responses'].used,
    },
    {
      name: 'mahi_budget_used',
      help: 'What is in use of everything that callers share: bytes, or slots.',
      read: ofEach(({ used }) => used),
      label: 'budget',
    },
    {
      name: 'mahi_budget_capacity',
      help: 'The most that can be in use, in the same unit.',
      read: ofEach(({ capacity }) => capacity),
      label: 'budget',
    },
    {
      name: 'mahi_budget_waiting',
      help: 'Callers that wait for a slot.',
      read: ofEach(({ waiting }) => waiting),
      label: 'budget',
    },
    {
      name: 'mahi_budget_refused_total',
      help: 'Requests for which there was no room.',
      read: ofEach(({ refused }) => refused),
      label: 'budget',
    },
  ]
}
