import type { Server } from 'node:http'
import type { FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { Lines } from '../../foundation/budget/lines.ts'
import { afterMicrotasks } from '../../foundation/timed-turns.ts'
import { unavailable } from '../contract/problems.ts'
import { addressOf } from '../request/caller.ts'
import { PROBES } from '../telemetry/response-log.ts'

/** How long requests are handled before the event loop has a turn, in milliseconds. */
const SLICE = 5

/**
 * The most turns of the event loop in a row that only accept connections. The system hands over one in each turn: the
 * last would wait for all requests of the connections before it.
 */
const ACCEPTING = 64

/** How many times as long a request may wait if it is the only one of its caller, who is not the cause of the wait. */
const PATIENT = 4

/**
 * Once so many requests wait, an address that has one of them gets 503 at once. Half of all connections stay free, so
 * that a new one takes the place of an idle one.
 */
const MOST = 2_000

/** The most waiting requests with a body: the beginning of each, up to 64 KiB, arrives with its head. */
const MOST_WITH_BODY = 256

/** Work on these has budgets of its own, after the body has arrived. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

const OVERLOADED = unavailable('The service is overloaded.')

interface Place {
  readonly request: FastifyRequest
  readonly done: HookHandlerDoneFunction
  readonly body: boolean
}

/**
 * Handles requests in turns. However many arrive at once, the event loop is never away from connections, health checks
 * and everything else for much longer than a slice, and callers take turns by their addresses. A request that has
 * waited too long for its turn gets 503.
 */
export class Turns {
  readonly #patience: number
  readonly #lines = new Lines<Place>()
  /** When the slice ends in which requests are handled at once. */
  #until = Number.NEGATIVE_INFINITY
  /** Connections without a request yet. */
  readonly #new = new WeakSet<object>()
  /** The callers who were admitted in this turn. */
  readonly #served = new Set<string>()
  /** Whether a connection has been accepted since the last turn. */
  #accepted = false
  /** How many turns in a row have only accepted connections. */
  #accepting = 0
  /** Whether the next slice is scheduled or in progress. */
  #running = false
  /** Whether the slice has just begun: one request of each is handled in any case. */
  #isFirst = false
  #bodies = 0
  #refused = 0

  /** @param patience milliseconds after which a waiting request gets 503; 0 refuses none */
  constructor(patience: number) {
    this.#patience = patience === 0 ? Number.POSITIVE_INFINITY : patience
  }

  watch(server: Server): void {
    server.on('connection', (socket) => {
      this.#new.add(socket)
      this.#accepted = true
    })
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#lines.length
  }

  /** How many requests were refused. */
  get refused(): number {
    return this.#refused
  }

  /** Continues with a request now or in its turn, or refuses it; not at all if its client has left meanwhile. */
  enter(request: FastifyRequest, done: HookHandlerDoneFunction): void {
    const isNew = this.#new.delete(request.raw.socket)
    const isFree = !this.#running && !this.#accepted && request.arrived < this.#until
    if (isFree || WITH_BODY.has(request.method) || isProbe(request)) return void done()
    const owner = addressOf(request)
    if (!isNew && this.#running && this.#admit(owner)) return void done()
    const body = hasBody(request)
    const isFull = this.#lines.length >= MOST && this.#lines.lengthOf(owner) > 0
    if (isFull || (body && this.#bodies >= MOST_WITH_BODY)) return void this.#refuse(done)
    if (body) this.#bodies++
    if (!this.#running) setImmediate(this.#begin)
    this.#running = true
    this.#lines.add(owner, { request, done, body })
  }

  /**
   * Admits a caller who is not the cause of the wait: none of its requests waits, and this is the first one in this turn.
   * Those on new connections do wait, or accepting thousands would take the time of handling thousands.
   */
  #admit(owner: string): boolean {
    if (this.#lines.lengthOf(owner) > 0 || this.#served.has(owner)) return false
    this.#served.add(owner)
    return true
  }

  /** Runs once in each turn of the event loop while requests wait. */
  readonly #begin = () => {
    this.#served.clear()
    if (this.#accepted && this.#accepting < ACCEPTING) {
      this.#accepted = false
      this.#accepting++
      setImmediate(this.#begin)
      return
    }
    this.#accepted = false
    this.#accepting = 0
    this.#until = performance.now() + SLICE
    this.#isFirst = true
    this.#continue()
  }

  readonly #continue = () => {
    this.#handleNext()
    this.#isFirst = false
    afterMicrotasks(this.#proceed)
  }

  readonly #proceed = () => {
    const now = performance.now()
    if (this.#lines.length > 0 && now < this.#until) return this.#continue()
    this.#until = now + SLICE
    this.#running = this.#lines.length > 0
    if (this.#running) setImmediate(this.#begin)
  }

  #handleNext(): void {
    const next = this.#lines.next()
    if (next === undefined) return
    const { owner, place } = next
    const { request, done, body } = place
    if (body) this.#bodies--
    if (request.raw.socket.destroyed) return
    const patience = this.#patience * (this.#lines.lengthOf(owner) === 0 ? PATIENT : 1)
    const isLate = performance.now() - request.arrived > patience
    if (isLate && !this.#isFirst) this.#refuse(done)
    else done()
  }

  #refuse(done: HookHandlerDoneFunction): void {
    this.#refused++
    done(OVERLOADED)
  }
}

function isProbe({ routeOptions }: FastifyRequest): boolean {
  return PROBES.has(routeOptions.config?.operation ?? '')
}

function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
