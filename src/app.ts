import { randomUUID } from 'node:crypto'
import cors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { Access } from './access/admit.ts'
import { KeyVerifier } from './access/keys.ts'
import type { ConsumeLimit, RateLimits } from './access/rate-limit.ts'
import type { Database } from './database/database.ts'
import type { RevisionWatch } from './database/revision-watch.ts'
import { nameSchemas } from './http/describe.ts'
import { answerClientError, answerError } from './http/errors.ts'
import { type Life, registerHealth } from './http/health.ts'
import { type Metrics, registerRequestLog } from './http/metrics.ts'
import { registerOpenApi } from './http/openapi.ts'
import type { Page } from './http/page.ts'
import { PageCache } from './http/page-cache.ts'
import { registerProblemPages } from './http/problem-pages.ts'
import { Problem, ProblemBody, ResultsProblemBody } from './http/problems.ts'
import { registerNotFound } from './http/routing.ts'
import { assertVersion, routeVersion, VERSION_HEADERS, VERSIONS } from './http/version.ts'
import { Catalogue } from './occupations/catalogue.ts'
import { registerOccupations } from './occupations/routes.ts'
import type { Settings } from './settings.ts'
import { registerValidationResults } from './validation-results/routes.ts'

export interface AppOptions {
  readonly settings: Settings
  readonly database: Database
  /** Tells when another process has changed the catalogue or the keys. */
  readonly revisions: RevisionWatch
  readonly consume: ConsumeLimit
  readonly metrics: Metrics
  readonly life: Life
  readonly logger: FastifyBaseLogger
}

/** Longest address, in characters: several times what the longest sensible query takes. */
const MAX_URL_LENGTH = 8192

/** The limits of a settings object, by what they count. */
export function rateLimitsOf(settings: Settings): RateLimits {
  return {
    occupations: settings.RATE_LIMIT_OCCUPATIONS,
    'validation-results': settings.RATE_LIMIT_RESULTS,
    'failed-credentials': settings.RATE_LIMIT_FAILED_CREDENTIALS,
  }
}

/** Builds the service, listening nowhere yet: everything that it answers is registered here, in this order. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { settings, database, revisions, consume, metrics, life, logger } = options
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    rewriteUrl: (request) => routeVersion(request as Parameters<typeof routeVersion>[0]),
    trustProxy: settings.TRUST_PROXY === false ? false : [...settings.TRUST_PROXY],
    // Tokens of any length get the one answer that tells nothing about them.
    routerOptions: { maxParamLength: MAX_URL_LENGTH },
    // Requests in flight finish and new ones on open connections are answered while the process stops.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    bodyLimit: 1024,
    http: { headersTimeout: 15_000 },
    // Schemas describe here and do nothing else: queries are read by compileQuery, which refuses what Ajv would
    // coerce or drop, and answers are finished bytes.
    schemaController: {
      compilersFactory: {
        buildValidator: (() => () => () => true) as never,
        buildSerializer: () => () => JSON.stringify,
      },
    },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply)
    },
  })
  app.setErrorHandler(answerError)
  app.decorateRequest('principal', undefined)

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({
      ...VERSION_HEADERS,
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
    })
    assertVersion(request.raw)
    if (request.url.length > MAX_URL_LENGTH) {
      throw new Problem(
        'uri-too-long',
        `The address is ${request.url.length} characters long, and ${MAX_URL_LENGTH} fit.`,
      )
    }
    done()
  })
  registerRequestLog(app, metrics)
  registerNotFound(app)
  await app.register(cors, {
    origin: settings.CORS_ORIGINS === '*' ? '*' : [...settings.CORS_ORIGINS],
    methods: ['GET', 'HEAD'],
    exposedHeaders: [
      'ETag',
      'Link',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'X-Request-Id',
      'api-supported-versions',
    ],
    maxAge: 86_400,
    strictPreflight: false,
  })
  await registerOpenApi(app)
  registerHealth(app, database, life)
  registerProblemPages(app)
  nameSchemas(app, { Problem: ProblemBody, ResultsProblem: ResultsProblemBody })

  const keys = new KeyVerifier(database)
  const access: Access = {
    verify: keys.verify,
    consume,
    limits: rateLimitsOf(settings),
    publicOccupations: settings.OCCUPATIONS_ACCESS === 'public',
  }
  const pages = () => new PageCache<Page>((settings.PAGE_CACHE_MB * 2 ** 20) / 2)
  const compress = settings.PAGE_CACHE_MB > 0

  const [v1] = VERSIONS
  const cataloguePages = pages()
  const resultPages = pages()
  const catalogue = new Catalogue(
    database,
    revisions.current.catalogue,
    cataloguePages,
    `${v1.prefix}/occupations`,
  )
  revisions.on('catalogue', (revision) => catalogue.advance(revision))
  revisions.on('keys', () => keys.forget())
  metrics.gauge(
    'mahi_page_cache_bytes',
    'Bytes of finished pages kept in memory.',
    () => cataloguePages.weight + resultPages.weight,
  )

  await app.register(
    async (scope) => {
      registerOccupations(scope, {
        catalogue,
        access,
        limits: { default: settings.OCCUPATIONS_LIMIT_DEFAULT, max: settings.OCCUPATIONS_LIMIT_MAX },
        compress,
      })
      registerValidationResults(scope, {
        reader: database,
        pages: resultPages,
        access,
        limits: { default: settings.RESULTS_PAGE_SIZE_DEFAULT, max: settings.RESULTS_PAGE_SIZE_MAX },
        compress,
      })
    },
    { prefix: v1.prefix },
  )
  return app
}
