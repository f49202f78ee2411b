import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'
import type { Log } from './log.ts'
import type { Metrics, Outcome } from './metrics.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The name of the operation, in logs and metrics. */
    operation?: string
  }
  interface FastifyRequest {
    /** When the head had arrived, in milliseconds of `performance.now()`. */
    arrived: number
    /** The bytes of a streamed response that have been handed over to its connection. */
    streamed: number
    /** What an authorized request reads or changes. */
    owned: Owned | undefined
  }
}

/** The organisation whose data a request reads or changes, and the submission that the path names or that was created. */
interface Owned {
  readonly eid: string
  readonly token: string | undefined
}

export interface ResponseRecord {
  readonly id: string
  readonly operation: string
  readonly status: number
  readonly outcome: Outcome
  /** The bytes of the body that the operating system accepted. */
  readonly bytes: number
  /** From the arrival of the request to the end of the response, in milliseconds. */
  readonly ms: number
  readonly method?: string | undefined
  /** The pattern of the path, such as `/v1/submissions/:submissionToken/validation-results`. */
  readonly route?: string | undefined
  readonly client?: string | undefined
  /** The public id of the credential, with `owned` only. */
  readonly key?: string | undefined
  readonly owned?: Owned | undefined
  /** The X-Request-Id of the request. */
  readonly requestId?: string | undefined
  /** The trace id of the request. */
  readonly trace?: string | undefined
}

/** Health checks arrive several times a minute: successful ones are logged at level debug. */
const PROBES: ReadonlySet<string> = new Set(['livez', 'readyz'])

/**
 * Counts and logs responses. It logs nothing that the caller sent, except IDs whose form shows that they are random, and
 * organisations that the credential covers.
 */
export class ResponseLog {
  readonly #log: Log
  readonly #metrics: Metrics

  constructor(log: Log, metrics: Metrics) {
    this.#log = log
    this.#metrics = metrics
  }

  record(response: ResponseRecord): void {
    const { operation, status, ms, outcome, bytes } = response
    this.#metrics.count(operation, status, ms / 1000, outcome, bytes)
    if (PROBES.has(operation) && status < 400) this.#log.writeDebug(renderFields(response))
    else this.#log.writeInfo(renderFields(response))
  }

  /** Records a response that has ended. */
  recordEnd(request: FastifyRequest, reply: FastifyReply, outcome: Outcome): void {
    const { id, arrived, principal, method, headers, owned } = request
    const { config, url: route } = request.routeOptions
    this.record({
      id,
      operation: config?.operation ?? 'unknown',
      status: reply.statusCode,
      outcome,
      bytes: outcome === 'sent' ? lengthOf(request, reply) : request.streamed,
      ms: performance.now() - arrived,
      method,
      route,
      client: principal?.client,
      key: owned && principal?.id,
      owned,
      requestId: readRandomId(headers['x-request-id']),
      trace: readTrace(headers.traceparent),
    })
  }
}

function lengthOf({ method, streamed }: FastifyRequest, reply: FastifyReply): number {
  if (method === 'HEAD' || reply.statusCode === 304) return 0
  return streamed || Number(reply.getHeader('content-length') ?? 0)
}

/** A UUID, or 128 bits in hexadecimal: other texts could identify a person or be secret. */
const RANDOM_ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

function readRandomId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && RANDOM_ID.test(header) ? header : undefined
}

/** The trace id of a W3C `traceparent` (Trace Context, section 3.2); all zeros are invalid. */
function readTrace(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  return /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/.exec(
    header,
  )?.[1]
}

/**
 * Renders the members of a JSON object from as few pieces as possible, because each is copied separately. Only the
 * name of a client and an EID, which an administrator chooses, can need escaping.
 */
function renderFields(response: ResponseRecord): string {
  const { id, bytes, ms, client, key, owned, requestId, trace } = response
  const microseconds = Math.round(ms * 1000)
  const whole = Math.trunc(microseconds / 1000)
  let end = client === undefined ? '' : renderClient(client)
  if (owned !== undefined) end += renderOwned(key ?? '', owned)
  if (requestId !== undefined) end += `,"requestId":"${requestId}"`
  if (trace !== undefined) end += `,"trace":"${trace}"`
  return `"id":"${id}${renderKind(response)}${bytes},"ms":${whole}${THOUSANDTHS[microseconds % 1000]}${end}`
}

/** The part between the id and the bytes, and the responses that it is of. */
type Kind = Pick<ResponseRecord, 'method' | 'route' | 'outcome'> & { readonly text: string }

/** By operation and status, each with few methods, routes and outcomes. */
const kinds = new Map<string, Map<number, Kind[]>>()

function renderKind(response: ResponseRecord): string {
  const { operation, status, outcome, method, route } = response
  for (const kind of kinds.get(operation)?.get(status) ?? []) {
    if (kind.method === method && kind.route === route && kind.outcome === outcome) return kind.text
  }
  return addKind(response)
}

function addKind({ operation, status, outcome, method, route }: ResponseRecord): string {
  const how = method === undefined ? '' : `"method":"${method}",`
  const where = route === undefined ? '' : `"route":${JSON.stringify(route)},`
  const text = `",${how}${where}"operation":"${operation}","status":${status},"outcome":"${outcome}","bytes":`
  const ofOperation = kinds.get(operation) ?? new Map<number, Kind[]>()
  kinds.set(
    operation,
    ofOperation.set(status, [...(ofOperation.get(status) ?? []), { method, route, outcome, text }]),
  )
  return text
}

function renderOwned(key: string, { eid, token }: Owned): string {
  const submission = token === undefined ? '' : `,"submission":"${nameSubmission(token)}"`
  return `,"key":"${key}","eid":${JSON.stringify(eid)}${submission}`
}

/** Tokens grant access, so logs have only their SHA-256 digests. */
export function nameSubmission(token: string): string {
  return hash('sha256', token)
}

const renderClient = remember((client) => `,"client":${JSON.stringify(client)}`)

/** Cached, because rendering a fraction takes longer than the rest of a line. */
const THOUSANDTHS = Array.from({ length: 1000 }, (_, number) => `.${String(number).padStart(3, '0')}`)
