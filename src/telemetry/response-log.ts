import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { remember } from '../text/remember.ts'
import { awaitDelivery, type Outcome } from './deliveries.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The name of the operation, in logs and metrics. */
    operation?: string
  }
  interface FastifyRequest {
    /** When its head had arrived, in milliseconds of `performance.now()`. */
    arrived: number
  }
}

export interface ResponseRecord {
  readonly id: string
  readonly operation: string
  readonly status: number
  readonly outcome: Outcome
  /** Of the body, as far as the system has accepted it. */
  readonly bytes: number
  /** From the arrival of the request to the end of the response, in milliseconds. */
  readonly ms: number
  readonly method?: string | undefined
  /** The pattern of the path, such as `/v1/submissions/:submissionToken/validation-results`. */
  readonly route?: string | undefined
  readonly client?: string | undefined
  /** The X-Request-Id that the request came with. */
  readonly requestId?: string | undefined
  /** The trace id that the request came with. */
  readonly trace?: string | undefined
}

/** Health checks arrive several times a minute: successful ones are logged at level debug. */
const PROBES: ReadonlySet<string> = new Set(['livez', 'readyz'])

/** Counts and logs responses. It logs nothing that the caller sent, except IDs whose form shows that they are random. */
export class ResponseLog {
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #release: (request: IncomingMessage, response: ServerResponse) => void
  /** Responses of Fastify that are recorded once they have been sent. */
  readonly #expected = new WeakSet<ServerResponse>()

  /** @param release called with each response that has ended */
  constructor(
    log: Log,
    metrics: Metrics,
    release: (request: IncomingMessage, response: ServerResponse) => void = () => undefined,
  ) {
    this.#log = log
    this.#metrics = metrics
    this.#release = release
  }

  record(answer: ResponseRecord): void {
    const { operation, status, ms, outcome, bytes } = answer
    this.#metrics.count(operation, status, ms / 1000, outcome, bytes)
    if (PROBES.has(operation) && status < 400) this.#log.writeDebug(renderFields(answer))
    else this.#log.writeInfo(renderFields(answer))
  }

  begin(request: FastifyRequest): void {
    request.arrived = performance.now()
  }

  /**
   * Records every answer that Fastify sends. Of those that go out past it `recordPage` is told: a hook for the end of an
   * answer would have Fastify listen to each response.
   */
  watch(app: FastifyInstance): void {
    app.decorateRequest('arrived', 0)
    app.addHook('onSend', (request, reply, _payload, done) => {
      this.recordReply(request, reply)
      done()
    })
  }

  /** Records an answer that Fastify is about to send, once it has been sent or its client has left. */
  recordReply(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = reply
    // An answer that turns into an error while it is sent is sent anew.
    if (this.#expected.has(raw)) return
    this.#expected.add(raw)
    const operation = request.routeOptions.config?.operation ?? 'unknown'
    awaitDelivery(request.raw.socket, raw, undefined, (outcome, bytes) =>
      this.#recordEnd(request, raw, operation, outcome, bytes),
    )
  }

  /**
   * Records an answer of which everything has been handed over, at once where the system has taken it.
   *
   * @param length bytes of its body
   */
  recordPage(request: FastifyRequest, response: ServerResponse, operation: string, length: number): void {
    const { socket } = request.raw
    const bytes = request.method === 'HEAD' ? 0 : length
    if (response.writableLength === 0 && !socket.destroyed)
      this.#recordEnd(request, response, operation, 'sent', bytes)
    else
      awaitDelivery(socket, response, bytes, (outcome, taken) =>
        this.#recordEnd(request, response, operation, outcome, taken),
      )
  }

  #recordEnd(
    request: FastifyRequest,
    response: ServerResponse,
    operation: string,
    outcome: Outcome,
    bytes: number,
  ): void {
    this.#release(request.raw, response)
    const { id, arrived, principal, method, headers } = request
    const ms = performance.now() - arrived
    const status = response.statusCode
    const route = request.routeOptions.url
    const requestId = readRandomId(headers['x-request-id'])
    const trace = readTrace(headers.traceparent)
    const client = principal?.client
    this.record({ id, operation, status, outcome, bytes, ms, method, route, client, requestId, trace })
  }
}

/** A UUID, or 128 bits in hexadecimal digits: other texts could be a person's or a secret. */
const RANDOM_ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

function readRandomId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && RANDOM_ID.test(header) ? header : undefined
}

/** The trace id of a W3C `traceparent` (Trace Context, section 3.2); all zeros is none. */
function readTrace(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  return /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/.exec(
    header,
  )?.[1]
}

/**
 * As members of a JSON object, of as few pieces as can be: each is copied by itself. Only what an administrator has named
 * a client may need to be quoted.
 */
function renderFields(answer: ResponseRecord): string {
  const { id, bytes, ms, client, requestId, trace } = answer
  const microseconds = Math.round(ms * 1000)
  const whole = Math.trunc(microseconds / 1000)
  let end = client === undefined ? '' : renderClient(client)
  if (requestId !== undefined) end += `,"requestId":"${requestId}"`
  if (trace !== undefined) end += `,"trace":"${trace}"`
  return `"id":"${id}${renderKind(answer)}${bytes},"ms":${whole}${THOUSANDTHS[microseconds % 1000]}${end}`
}

/** What stands between the id and the bytes: routes, methods and statuses are few. */
function renderKind({ operation, status, outcome, method, route }: ResponseRecord): string {
  const key = `${method} ${route} ${status} ${outcome} ${operation}`
  let text = kinds.get(key)
  if (text === undefined) {
    const how = method === undefined ? '' : `"method":"${method}",`
    const where = route === undefined ? '' : `"route":${JSON.stringify(route)},`
    text = `",${how}${where}"operation":"${operation}","status":${status},"outcome":"${outcome}","bytes":`
    kinds.set(key, text)
  }
  return text
}

const kinds = new Map<string, string>()

const renderClient = remember((client) => `,"client":${JSON.stringify(client)}`)

/** Rendering a number with a fraction takes longer than everything else of a line. */
const THOUSANDTHS = Array.from({ length: 1000 }, (_, number) => `.${String(number).padStart(3, '0')}`)
