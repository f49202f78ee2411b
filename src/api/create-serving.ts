import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Life } from '../foundation/lifecycle.ts'
import { Outage } from '../foundation/outage.ts'
import { Slots } from '../foundation/slots.ts'
import { answerError } from './contract/errors.ts'
import { prepareOperations, SCHEMA_CONTROLLER } from './contract/register.ts'
import { Cors } from './request/cors.ts'
import { PROBLEMS, Problem } from './request/problems.ts'
import { assertWellFormed, Unrouted } from './request/routing.ts'
import { assertVersion, VersionRouter } from './request/versions.ts'
import { ClientErrors } from './serving/client-errors.ts'
import { Connections, IDLE_TIMEOUT } from './serving/connections.ts'
import { CommonHeaders } from './serving/headers.ts'
import { InFlight } from './serving/in-flight.ts'
import { PageCache } from './serving/page-cache.ts'
import type { Log } from './telemetry/log.ts'
import type { Measurement, Metrics } from './telemetry/metrics.ts'
import { ResponseLog } from './telemetry/response-log.ts'

export interface ServingSettings {
  readonly CORS_ORIGINS: '*' | readonly string[]
  readonly TRUST_PROXY: false | readonly string[]
  readonly PAGE_CACHE_MB: number
}

export interface ServingOptions {
  readonly life: Life
  readonly log: Log
  readonly metrics: Metrics
}

/** Everything between the socket and the handler of an operation. */
export interface Serving {
  /** Routes requests, once operations and pages are registered. */
  readonly app: FastifyInstance
  readonly versions: VersionRouter
  /** Creates one of the caches of finished pages, each with an equal part of the memory. */
  createCache(): PageCache
  readonly metrics: readonly Measurement[]
  /** Closes every connection without an upload or export in progress, and returns the number of the others. */
  cutOffRest(): number
  /** Lets requests in flight finish, then closes their connections. */
  stop(): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    inFlight: InFlight
    slots: ReturnType<typeof createSlots>
  }
}

/** The longest URL, in characters: several times as long as any sensible query needs. */
const MAX_URL_LENGTH = 8192

/** How long an upload may take, in milliseconds. */
const UPLOAD_TIMEOUT = 3_600_000

/** Caches of pages: of the catalogue, of its search and of findings. */
const CACHES = 3

const NO_QUERY = {}

/** Prepares for requests without listening. */
export async function createServing(
  settings: ServingSettings,
  { life, log, metrics }: ServingOptions,
): Promise<Serving> {
  const logger = log.logger as FastifyBaseLogger
  const responses = new ResponseLog(log, metrics)
  const headers = new CommonHeaders(life, new Cors(settings.CORS_ORIGINS))
  const versions = new VersionRouter()
  const inFlight = new InFlight()
  const slots = createSlots()
  const caches: PageCache[] = []
  const app = Fastify({
    // With a logger, Fastify would create a child for each request. The logger is set below; lines that need the id of
    // a request include it.
    logger: false,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    rewriteUrl: (request) => versions.route(request),
    trustProxy: settings.TRUST_PROXY === false ? false : [...settings.TRUST_PROXY],
    // Tokens of any length get the same 401.
    // Queries are read by compileQuery.
    routerOptions: { maxParamLength: MAX_URL_LENGTH, querystringParser: () => NO_QUERY },
    // While the process stops, requests on open connections still get their responses.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The time for the largest upload; a JSON body has 30 s (api/request/body.ts).
    requestTimeout: UPLOAD_TIMEOUT,
    connectionTimeout: IDLE_TIMEOUT,
    keepAliveTimeout: IDLE_TIMEOUT,
    schemaController: SCHEMA_CONTROLLER,
    // assertWellFormed rejects a missing Host header with a problem body. By default, Node checks for slow
    // connections only every 30 s.
    http: { headersTimeout: 15_000, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    clientErrorHandler: (error, socket) => clientErrors.answer(error, socket as Socket),
    frameworkErrors: (error, request, reply) => {
      // No hooks run for these requests.
      begin(request, reply)
      headers.complete(request, reply)
      answerError(error, request, reply)
    },
  })
  const connections = new Connections(app.server)
  const clientErrors = new ClientErrors(app.server, connections, responses)
  const begin = (request: FastifyRequest & { log: FastifyBaseLogger }, reply: FastifyReply) => {
    request.log = logger
    reply.log = logger
    request.arrived = performance.now()
    headers.begin(request, reply)
    connections.begin({
      request: request.raw,
      response: reply.raw,
      onEnd: (outcome) => {
        inFlight.release(request)
        responses.recordEnd(request, reply, outcome)
      },
    })
  }
  app.log = logger
  app.setErrorHandler(answerError)
  app.decorate('inFlight', inFlight).decorate('slots', slots)
  for (const name of ['principal', 'limitHeaders', 'owned', 'held'] as const)
    app.decorateRequest(name, undefined)
  app.decorateRequest('arrived', 0).decorateRequest('streamed', 0)
  expectStatuses(app, metrics)
  const unrouted = new Unrouted(app)
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    if (connections.isEnding(socket)) return
    begin(request, reply)
    // It had too many requests.
    if (!socket.destroyed) done()
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
  app.addHook('onSend', (request, reply, payload, done) => {
    headers.complete(request, reply)
    inFlight.holdResponse(request, reply.statusCode, payload)
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload)
    // Responses to requests that arrived together are written together, so the clients that wait are woken once for all of
    // them. Written one by one, a page from memory costs nearly twice the processor time.
    if (!isText || request.raw.complete || reply.getHeader('connection') !== 'close')
      return void setImmediate(done)
    reply.header('content-length', Buffer.byteLength(payload))
    done(null, connections.endAfter(request.raw, payload))
  })
  app.decorate(
    'outage',
    new Outage(
      (err) => logger.error({ err }, 'the database fails: requests that need it get 503'),
      (failures) => logger.info({ failures }, 'no request has failed for a minute because of the database'),
    ),
  )
  prepareOperations(app)
  return {
    app,
    versions,
    createCache: () => {
      const cache = new PageCache((settings.PAGE_CACHE_MB * 2 ** 20) / CACHES)
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
        name: 'mahi_bytes_in_flight',
        help: 'Bytes of requests in progress, and of responses that their clients have not read yet.',
        read: () => inFlight.slots.used,
      },
      ...measureSlots({ bytes: inFlight.slots, ...slots }),
    ],
    cutOffRest: () => connections.cutOffRest(),
    stop: () => connections.endDuring(() => app.close()),
  }
}

/** What callers share, besides the bytes in flight. */
export function createSlots() {
  return {
    /** Parts of lists of titles that are coded at once. */
    codings: new Slots({
      capacity: 2,
      waiting: 128,
      detail: 'Too many lists of titles are being coded.',
      retryAfter: 5,
    }),
    /** Responses that are generated while they are sent. Each keeps up to half a megabyte in memory. */
    downloads: new Slots({
      capacity: 64,
      share: 16,
      detail: 'Too many downloads are in progress.',
      retryAfter: 5,
    }),
    /** Each upload needs up to 3 MiB. */
    uploads: new Slots({
      capacity: 24,
      share: 8,
      detail: 'Too many uploads are in progress. Try again later.',
      retryAfter: 5,
    }),
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

function measureSlots(all: Readonly<Record<string, Slots>>): Measurement[] {
  const ofEach = (read: (slots: Slots) => number) => () =>
    Object.fromEntries(Object.entries(all).map(([name, slots]) => [name, read(slots)]))
  return [
    {
      name: 'mahi_slots_used',
      help: 'What is in use of everything that callers share: bytes, or slots.',
      read: ofEach(({ used }) => used),
      label: 'slots',
    },
    {
      name: 'mahi_slots_capacity',
      help: 'The most that can be in use, in the same unit.',
      read: ofEach(({ capacity }) => capacity),
      label: 'slots',
    },
    {
      name: 'mahi_slots_waiting',
      help: 'Callers that wait for a slot.',
      read: ofEach(({ waiting }) => waiting),
      label: 'slots',
    },
    {
      name: 'mahi_slots_refused_total',
      help: 'Requests for which there was no room.',
      read: ofEach(({ refused }) => refused),
      label: 'slots',
    },
  ]
}
