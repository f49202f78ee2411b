import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { DatabaseBusy, DatabaseFull, DatabaseUnavailable } from '../../foundation/database/database.ts'
import type { Outage } from '../../foundation/outage.ts'
import { Exhausted } from '../../foundation/slots.ts'
import {
  PROBLEM_TYPE,
  PROBLEMS,
  Problem,
  type ProblemSlug,
  renderProblem,
  unavailable,
} from '../request/problems.ts'
import { Unrouted } from '../request/routing.ts'
import { isDeclared } from './describe.ts'

/** The log line about a problem that the contract of its operation does not name. */
export const UNDECLARED = 'an operation refused a request with a problem that its contract does not declare'

declare module 'fastify' {
  interface FastifyInstance {
    /** The database, whose failures are logged once for each outage. */
    outage?: Outage
  }
  interface FastifyContextConfig {
    /** The operation behind the route. */
    declaration?: { readonly name: string; readonly problems: Readonly<Record<string, string>> }
  }
}

/** Turns every error into a response. Anything other than a Problem is a 500 whose message stays in the log. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = toProblem(error)
  const { declaration } = request.routeOptions?.config ?? {}
  const reached = declaration !== undefined && !Unrouted.endsEmpty(request)
  if (reached && !isDeclared(problem.slug, declaration.problems)) {
    const { name: operation } = declaration
    request.log.error({ id: request.id, operation, problem: problem.slug }, UNDECLARED)
  }
  logFailure(error, request)
  return reply
    .code(problem.status)
    .headers({
      'cache-control': 'no-store',
      ...(hasLargeRest(request) && { connection: 'close' }),
      ...problem.headers,
    })
    .header('content-type', PROBLEM_TYPE)
    .send(renderProblem(problem, request.id))
}

/** Logs an error if it is a failure of the service: of the database once for each outage. */
export function logFailure(error: unknown, request: FastifyRequest): void {
  const problem = toProblem(error)
  // A client that leaves in the middle of its body is none.
  if (request.raw.destroyed && !request.raw.complete) return
  // Rejecting requests because of overload or a stop is not a failure, and logging a stack for each would add to the
  // load.
  if (problem.status < 500 || (problem.slug === 'unavailable' && problem.cause === undefined)) return
  const { outage } = request.server
  if (outage !== undefined && (error instanceof DatabaseUnavailable || error instanceof DatabaseFull))
    outage.failed(error)
  else request.log.error({ id: request.id, err: error }, 'the request failed')
}

/** The most bytes of a refused body that are read so that the connection can be used again. */
const MOST_REST = 64 * 1024

/** Whether much of the body may still arrive: Node would read all of it, as fast as the client sends. */
function hasLargeRest({ raw: { complete, headers } }: FastifyRequest): boolean {
  if (complete) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MOST_REST
}

/** The problems for statuses, other than 400, with which Fastify and its plugins reject requests. */
const SLUGS: Record<number, ProblemSlug> = {
  404: 'not-found',
  408: 'request-timeout',
  413: 'content-too-large',
  414: 'uri-too-long',
  415: 'unsupported-media-type',
}

/** Errors of Fastify and its plugins become the problem with their status, or a 500. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof Exhausted) return unavailable(error.message, error.retryAfter)
  if (error instanceof DatabaseBusy) return unavailable('The service is overloaded.')
  if (error instanceof DatabaseUnavailable) return unavailable('The database does not respond.', 1, error)
  if (error instanceof DatabaseFull)
    return unavailable('The service has no disk space left. Nothing was changed.', 30, error)
  const { statusCode = 500, code = '' } = error as Partial<FastifyError>
  if (code === 'FST_ERR_BAD_URL') {
    return new Problem('malformed-request', 'The path must be percent-encoded UTF-8.')
  }
  if (statusCode < 400 || statusCode >= 500) {
    return new Problem('internal-error', 'The service failed. The log has the cause under this ID.', {
      cause: error,
    })
  }
  const slug = SLUGS[statusCode] ?? 'malformed-request'
  return new Problem(slug, PROBLEMS[slug].advice, { cause: error })
}
