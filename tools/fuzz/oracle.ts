import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { assertDescribed } from '../../test/support/contract.ts'
import type { Expected, Mode } from './case.ts'
import type { Answer } from './wire.ts'

/** What no answer may tell: where the code lies, what it is made of, what an engine said. */
const INTERNALS =
  /node_modules|\bat \S+ \(|\.(?:[cm]?[jt]s):\d|\/(?:home|root|tmp|usr|var|opt|proc)\/|fastify|sqlite|postgres|kysely|typebox|find-my-way|pino|llhttp|\b(?:HPE|FST|ERR|SQLITE)_|SQLSTATE|syntax error|undefined is not|cannot read prop|x-powered-by|^server:/im

/** Statuses that a request can be refused with before it is clear what it asks for. */
const BROKEN = [400, 404, 405, 406, 408, 414, 417, 431, 401, 429]

/** Fails unless an answer is one that the request may have. */
export function assertAnswer(answer: Answer, expected: Expected | undefined, mode: Mode): void {
  const { status, headers } = answer
  const body = decode(answer)
  const statuses = expected?.statuses ?? [200, 204, 302, 304, ...BROKEN]
  if (!statuses.includes(status)) throw new Error(`${status} is not one of ${statuses.join(', ')}`)

  for (const name of ['date', 'api-supported-versions', 'x-request-id', 'x-content-type-options'])
    if (headers[name] === undefined) throw new Error(`${name} is missing`)
  const head = answer.head.replace(/^(?:etag|x-request-id): .*$/gim, '')
  if (INTERNALS.test(status < 400 ? head : head + body)) throw new Error('internals are shown')
  const hasBody = expected?.method !== 'HEAD'
  if (status >= 400) assertProblem(answer, body, hasBody)
  if (status === 401 && headers['www-authenticate'] === undefined)
    throw new Error('WWW-Authenticate is missing')
  if (status === 204 && headers.allow === undefined && headers['access-control-allow-methods'] === undefined)
    throw new Error('Allow is missing')
  if (status === 405 && !/^(?:(?:GET, HEAD|PUT|POST|DELETE), )+OPTIONS$/.test(headers.allow ?? ''))
    throw new Error(`Allow is ${headers.allow}`)
  if (status === 429) assertRefusedForNow(answer)
  if (status === 304 && headers.etag === undefined) throw new Error('ETag is missing')
  // No operation is asked for then.
  if (expected?.path !== undefined && status !== 404) {
    if (status === 200 && mode.limited && headers['ratelimit-policy'] === undefined)
      throw new Error('RateLimit-Policy is missing')
    const { path: url, method, described } = expected
    assertDescribed(
      { url, method: described ?? (method === 'HEAD' ? 'HEAD' : 'GET') },
      { statusCode: status, headers, body },
      { decoded: true },
    )
  }
  expected?.check?.(answer, body)
}

/** The body as text. */
function decode({ headers, body }: Answer): string {
  if (body.length === 0) return ''
  const encoding = headers['content-encoding']
  const bytes = encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body
  if (encoding !== undefined && bytes === body) throw new Error(`the coding ${encoding} was not asked for`)
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  return text.decode(bytes)
}

function assertProblem({ status, headers }: Answer, body: string, hasBody: boolean): void {
  // A browser that follows the link of a problem reads about it, or that there is none of that name.
  if (headers['content-type'] === 'text/html; charset=utf-8' && headers.vary === 'accept' && status === 404)
    return
  if (headers['content-type'] !== 'application/problem+json; charset=utf-8')
    throw new Error(`the content type is ${headers['content-type']}`)
  if (headers['cache-control'] !== 'no-store') throw new Error(`Cache-Control is ${headers['cache-control']}`)
  if (!hasBody) return
  const problem = JSON.parse(body) as Record<string, unknown>
  if (problem.status !== status) throw new Error(`the body says ${problem.status}`)
  if (problem.instance !== `urn:uuid:${headers['x-request-id']}`) throw new Error('the instance is another')
  for (const name of ['type', 'title', 'detail'])
    if (typeof problem[name] !== 'string' || problem[name] === '')
      throw new Error(`the problem has no ${name}`)
  if (body.length > 40_000) throw new Error(`the problem has ${body.length} characters`)
}

function assertRefusedForNow({ headers }: Answer): void {
  const seconds = headers['retry-after'] ?? ''
  if (!/^[1-9]\d*$/.test(seconds)) throw new Error(`Retry-After is ${seconds}`)
  for (const name of ['ratelimit', 'ratelimit-policy'])
    if (headers[name] === undefined) throw new Error(`${name} is missing`)
}
