import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { PROBLEM_TYPE, PROBLEMS, Problem, type ProblemSlug, renderProblem } from './problems.ts'
import { VERSION_HEADERS } from './version.ts'

/** The one place where an error becomes an answer. What is not a Problem is a 500 whose message stays in the log. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = error instanceof Problem ? error : translate(error)
  if (problem.status >= 500) request.log.error({ id: request.id, err: error }, 'the request failed')
  return reply
    .code(problem.status)
    .headers({
      ...VERSION_HEADERS,
      'x-request-id': request.id,
      'cache-control': 'no-store',
      ...problem.headers,
    })
    .header('content-type', PROBLEM_TYPE)
    .send(renderProblem(problem, request.id))
}

/** Fastify's own errors, by their status: each is a kind of problem of ours or a fault of ours. */
function translate(error: unknown): Problem {
  const { statusCode = 500, code = '' } = error as Partial<FastifyError>
  if (code === 'FST_ERR_BAD_URL') {
    return new Problem('malformed-request', 'The path of the address is not percent-encoded UTF-8.')
  }
  const slug = (Object.keys(PROBLEMS) as ProblemSlug[]).find(
    (each) => PROBLEMS[each].status === statusCode && each !== 'invalid-parameters',
  )
  if (slug === undefined || statusCode >= 500) {
    return new Problem('internal-error', 'The service failed. The log has the cause under this id.', {
      cause: error,
    })
  }
  return new Problem(slug, PROBLEMS[slug].advice, { cause: error })
}

/** Answers what never became a request: Node's parser gave up on it. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // Nothing can be said on a connection that is gone, or in the middle of an answer.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const problem = CLIENT_ERRORS[error.code ?? ''] ?? MALFORMED
  const id = randomUUID()
  const body = renderProblem(problem, id)
  const headers = {
    ...VERSION_HEADERS,
    'x-request-id': id,
    'content-type': PROBLEM_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    date: new Date().toUTCString(),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
  )
}

const MALFORMED = new Problem(
  'malformed-request',
  'The request line or a header is not well-formed HTTP/1.1.',
)
const CLIENT_ERRORS: Record<string, Problem> = {
  HPE_HEADER_OVERFLOW: new Problem(
    'headers-too-large',
    'The request line and headers are longer than 16 KiB together.',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem('request-timeout', 'The request did not arrive in time.'),
}
