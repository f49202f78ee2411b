import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { remember } from '../text/remember.ts'
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

export interface Answer {
  readonly id: string
  readonly operation: string
  readonly status: number
  /** From the arrival of the request to the end of the answer, in milliseconds. */
  readonly ms: number
  readonly client?: string | undefined
}

/** Counts and logs answers: nothing of it is what the caller sent. */
export class Answers {
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #release: (request: IncomingMessage, response: ServerResponse) => void
  /** Answers of Fastify's that are recorded once they have been sent. */
  readonly #expected = new WeakSet<ServerResponse>()

  /** @param release called with each response that was sent */
  constructor(
    log: Log,
    metrics: Metrics,
    release: (request: IncomingMessage, response: ServerResponse) => void = () => undefined,
  ) {
    this.#log = log
    this.#metrics = metrics
    this.#release = release
  }

  record(answer: Answer): void {
    this.#metrics.count(answer.operation, answer.status, answer.ms / 1000)
    this.#log.writeInfo(renderFields(answer))
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

  /** Records an answer that Fastify is about to send, once it has been sent. */
  recordReply(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = reply
    // An answer that turns into an error while it is sent is sent anew.
    if (this.#expected.has(raw)) return
    this.#expected.add(raw)
    const operation = request.routeOptions.config?.operation ?? 'unknown'
    raw.once('finish', () => this.#recordSent(request, raw, operation))
  }

  /** Records an answer of which everything has been handed over, at once where the system has taken it. */
  recordPage(request: FastifyRequest, response: ServerResponse, operation: string): void {
    // Whoever has gone meanwhile has no answer.
    if (request.socket.destroyed) return
    if (response.writableLength === 0) this.#recordSent(request, response, operation)
    else response.once('finish', () => this.#recordSent(request, response, operation))
  }

  #recordSent(request: FastifyRequest, response: ServerResponse, operation: string): void {
    this.#release(request.raw, response)
    const { id, arrived, principal } = request
    const ms = performance.now() - arrived
    this.record({ id, operation, status: response.statusCode, ms, client: principal?.client })
  }
}

/**
 * As members of a JSON object, of as few pieces as can be: each is copied by itself. Only what an administrator has named
 * a client may need to be quoted.
 */
function renderFields({ id, operation, status, ms, client }: Answer): string {
  const microseconds = Math.round(ms * 1000)
  const whole = Math.trunc(microseconds / 1000)
  const kind = renderKind(operation, status)
  const end = client === undefined ? '' : renderClient(client)
  return `"id":"${id}${kind}${whole}${THOUSANDTHS[microseconds % 1000]}${end}`
}

const kinds = new Map<string, Map<number, string>>()

/** What stands between the id and the time. */
function renderKind(operation: string, status: number): string {
  let known = kinds.get(operation)
  if (known === undefined) {
    known = new Map()
    kinds.set(operation, known)
  }
  let text = known.get(status)
  if (text === undefined) {
    text = `","operation":"${operation}","status":${status},"ms":`
    known.set(status, text)
  }
  return text
}

const renderClient = remember((client) => `,"client":${JSON.stringify(client)}`)

/** Rendering a number with a fraction takes longer than everything else of a line. */
const THOUSANDTHS = Array.from({ length: 1000 }, (_, number) => `.${String(number).padStart(3, '0')}`)
