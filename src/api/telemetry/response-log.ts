import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
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

/** A line of the log about a response. */
export interface ResponseRecord {
  readonly id: string
  readonly method?: string | undefined
  /** The pattern of the path, such as `/v1/submissions/:submissionToken/validation-results`. */
  readonly route?: string | undefined
  readonly operation: string
  readonly status: number
  readonly outcome: Outcome
  /** The bytes of the body that the operating system accepted. */
  readonly bytes: number
  /** From the arrival of the request to the end of the response, in milliseconds. */
  readonly ms: number
  readonly client?: string | undefined
  /** The public id of the credential, if it reads or changes data of an organisation. */
  readonly key?: string | undefined
  readonly eid?: string | undefined
  /** The submission, as `nameSubmission` names it. */
  readonly submission?: string | undefined
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
    if (PROBES.has(operation) && status < 400) this.#log.writeDebug(response)
    else this.#log.writeInfo(response)
  }

  /** Records a response that has ended. */
  recordEnd(request: FastifyRequest, reply: FastifyReply, outcome: Outcome): void {
    const { id, arrived, principal, method, headers, owned } = request
    const { config, url: route } = request.routeOptions
    this.record({
      id,
      method,
      route,
      operation: config?.operation ?? 'unknown',
      status: reply.statusCode,
      outcome,
      bytes: outcome === 'sent' ? lengthOf(request, reply) : request.streamed,
      ms: Math.round((performance.now() - arrived) * 1000) / 1000,
      client: principal?.client,
      key: owned && principal?.id,
      eid: owned?.eid,
      submission: owned?.token && nameSubmission(owned.token),
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

/** Tokens grant access, so logs have only their SHA-256 digests. */
export function nameSubmission(token: string): string {
  return hash('sha256', token)
}
