import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { assertDescribed } from '../../test/support/contract.ts'
import type { Answer } from './wire.ts'

/** What no response may show: where the code lies, what it is made of, what an engine said. */
const INTERNALS =
  /node_modules|\bat \S+ \(|\.(?:[cm]?[jt]s):\d|\/(?:home|root|tmp|usr|var|opt|proc)\/|fastify|sqlite|postgres|find-my-way|pino|llhttp|\b(?:HPE|FST|ERR|SQLITE)_|SQLSTATE|syntax error|undefined is not|cannot read prop|x-powered-by|^server:/im

export interface Expected {
  readonly method: string
  readonly statuses: ReadonlySet<number>
  /** The path of the operation as openapi.json has it; absent for what is no request. */
  readonly path?: string
  readonly secrets: readonly string[]
}

/** @throws unless a response is one that the request may have, and is as openapi.json describes it */
export function assertAnswer(answer: Answer, { method, statuses, path, secrets }: Expected): void {
  const { status, headers } = answer
  const body = decode(answer)
  if (!statuses.has(status)) throw new Error(`${status} is not one of ${[...statuses].join(', ')}`)
  for (const name of ['date', 'api-supported-versions', 'x-request-id', 'x-content-type-options'])
    if (headers[name] === undefined) throw new Error(`${name} is missing`)
  const head = answer.head.replace(/^(?:etag|x-request-id): .*$/gim, '')
  if (INTERNALS.test(status < 400 ? head : head + body)) throw new Error('internals are shown')
  if (secrets.some((secret) => (answer.head + body).includes(secret))) throw new Error('a secret is shown')
  if (status >= 400) assertProblem(answer, body, method !== 'HEAD')
  // A path that leads nowhere is of no operation.
  if (path === undefined || status === 404) return
  assertDescribed(
    { url: path, method: method as 'GET' },
    { statusCode: status, headers, body },
    { decoded: true },
  )
}

function decode({ headers, body }: Answer): string {
  if (body.length === 0) return ''
  const encoding = headers['content-encoding']
  const bytes = encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body
  // Archives are bytes.
  const fatal = !/zip|spreadsheet/.test(headers['content-type'] ?? '')
  return new TextDecoder('utf-8', { fatal, ignoreBOM: true }).decode(bytes)
}

function assertProblem({ status, headers }: Answer, body: string, hasBody: boolean): void {
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
