import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Attributes,
  type Context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Reader } from '../../foundation/database/database.ts'
import type { JobHandler } from '../../foundation/jobs/worker.ts'
import { VERSION } from '../../foundation/package/root.ts'

/** How long the last export may take when the process stops, in milliseconds. */
const FLUSH = 500

/** The shortest time between two log lines about failed exports, in milliseconds. */
const REPORT_INTERVAL = 60_000

/** The methods of a database that get spans. */
const DATABASE_SPANS: Readonly<Record<PropertyKey, string>> = {
  all: 'read',
  get: 'read',
  snapshot: 'read',
  write: 'write',
}

type EndResponse = (request: IncomingMessage, response: ServerResponse) => void
type Handlers = Readonly<Record<string, JobHandler>>

/**
 * Records spans of requests, jobs and database calls with OpenTelemetry. Spans contain nothing that a caller sent
 * except the method and the trace id. This module is imported only if traces are on.
 */
export class Traces {
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  /** The request or job in progress. */
  readonly #active = new AsyncLocalStorage<Context>()
  readonly #requests = new WeakMap<IncomingMessage, Span>()

  /**
   * @param endpoint the base URL of an OTLP/HTTP receiver
   * @param onFailure called with the reason of a failed export, at most once a minute
   */
  constructor(endpoint: string, onFailure: (reason: string) => void) {
    const url = `${endpoint.replace(/\/$/, '')}/v1/traces`
    const exporter = reporting(new OTLPTraceExporter({ url }), onFailure)
    this.#provider = new TracerProvider({
      // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the attributes before them.
      resource: defaultResource()
        .merge(resourceFromAttributes({ 'service.name': 'mahi', 'service.version': VERSION }))
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    })
    this.#tracer = this.#provider.getTracer('mahi', VERSION)
  }

  /** Starts a span for every request. Call before other hooks are added, so that they run within it. */
  watch(app: FastifyInstance): void {
    app.addHook('onRequest', (request, _reply, done) => {
      const parent = readParent(request)
      const { method } = request
      const route = request.routeOptions.url
      const attributes: Attributes = { 'http.request.method': method, 'url.scheme': request.protocol }
      if (route !== undefined) attributes['http.route'] = route
      const name = route === undefined ? method : `${method} ${route}`
      const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
      this.#requests.set(request.raw, span)
      this.#active.run(trace.setSpan(parent, span), done)
    })
  }

  /** The `traceparent` of the span of a request. */
  describe(request: IncomingMessage): string | undefined {
    const context = this.#requests.get(request)?.spanContext()
    if (context === undefined || !isSpanContextValid(context)) return undefined
    const flags = context.traceFlags.toString(16).padStart(2, '0')
    return `00-${context.traceId}-${context.spanId}-${flags}`
  }

  /** Adds the end of the span to what happens when a response has ended. */
  ending(end: EndResponse): EndResponse {
    return (request, response) => {
      end(request, response)
      const { statusCode } = response
      const span = this.#requests.get(request)
      span?.setAttribute('http.response.status_code', statusCode)
      if (statusCode >= 500) markFailed(span, String(statusCode))
      span?.end()
    }
  }

  /** Returns a database whose reads and writes have spans, if they belong to a request or a job. */
  traceReader<R extends Reader>(reader: R): R {
    const attributes = { 'db.system.name': reader.dialect.name === 'sqlite' ? 'sqlite' : 'postgresql' }
    return new Proxy(reader, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        const name = DATABASE_SPANS[property]
        if (name === undefined) return value.bind(target)
        return (...parameters: unknown[]) =>
          this.inSpan(name, async () => await value.apply(target, parameters), attributes, SpanKind.CLIENT)
      },
    })
  }

  /** Returns job handlers whose runs have spans, each with a link to the request that requested the job. */
  traceJobs(handlers: Handlers): Handlers {
    return Object.fromEntries(
      Object.entries(handlers).map(([kind, handler]) => [
        kind,
        {
          run: (job, context) =>
            this.#record(`job ${kind}`, () => handler.run(job, context), ROOT_CONTEXT, {
              attributes: { 'mahi.job.attempt': job.attempts },
              links: linksTo(job.trace),
            }),
          fail: (job, error) => handler.fail(job, error),
        } satisfies JobHandler,
      ]),
    )
  }

  /** Runs `work` within a span, if it belongs to a request or a job that is recorded and has not ended. */
  async inSpan<T>(
    name: string,
    work: () => Promise<T>,
    attributes: Attributes = {},
    kind = SpanKind.INTERNAL,
  ): Promise<T> {
    const parent = this.#active.getStore()
    if (parent === undefined || !trace.getSpan(parent)?.isRecording()) return await work()
    return await this.#record(name, work, parent, { attributes, kind })
  }

  /** Exports the remaining spans, but does not wait long for a receiver that does not respond. */
  async stop(): Promise<void> {
    const flushed = this.#provider.shutdown().catch(() => undefined)
    await Promise.race([flushed, sleep(FLUSH, undefined, { ref: false })])
  }

  async #record<T>(
    name: string,
    work: () => Promise<T>,
    parent: Context,
    options: { attributes: Attributes; kind?: SpanKind; links?: Link[] },
  ): Promise<T> {
    const span = this.#tracer.startSpan(name, options, parent)
    try {
      return await this.#active.run(trace.setSpan(parent, span), work)
    } catch (error) {
      // The message of an error can contain data.
      markFailed(span, error instanceof Error ? error.constructor.name : 'unknown')
      throw error
    } finally {
      span.end()
    }
  }
}

/** The span that `traceparent` names. `tracestate` is ignored: it can contain anything. */
function readParent({ headers }: FastifyRequest): Context {
  const { traceparent } = headers
  const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true })
}

/** A link instead of a parent: a job may start long after the response, and be tried several times. */
function linksTo(trace: string | null): Link[] {
  const context = trace === null ? null : parseTraceParent(trace)
  return context === null ? [] : [{ context: { ...context, isRemote: true } }]
}

function markFailed(span: Span | undefined, type: string): void {
  span?.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

function reporting(exporter: SpanExporter, onFailure: (reason: string) => void): SpanExporter {
  let reported = Number.NEGATIVE_INFINITY
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const now = performance.now()
        if (result.code === ExportResultCode.FAILED && now - reported >= REPORT_INTERVAL) {
          reported = now
          const { code, message } = (result.error ?? {}) as { code?: string | number; message?: string }
          onFailure(String(code ?? message))
        }
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
