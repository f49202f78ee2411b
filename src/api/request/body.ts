import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { compileInTurns } from '../../foundation/schema/compile.ts'
import type { TObject } from '../../foundation/schema/type.ts'
import { Problem, type ProblemOptions } from '../contract/problems.ts'
import { markTransfer } from '../serving/last-response.ts'
import { endBody } from '../serving/node-internals.ts'
import { BodyMemory, holdBody } from './body-memory.ts'
import { callerOf } from './caller.ts'
import { parseBody } from './parse-body.ts'

/** A JSON object as the body, read completely. */
export interface JsonBody<Json extends TObject = TObject> {
  readonly json: Json
  /** Largest body, in bytes. */
  readonly maxBytes: number
  /** Whether its text may be about people: faults then do not repeat it. */
  readonly personal?: boolean
}

/** A body that the operation reads itself, as it arrives. */
interface StreamBody {
  /** The media types that the operation supports, without parameters. */
  readonly stream: readonly string[]
  /** Largest body as sent, in bytes. */
  readonly maxBytes: number
  /** The least that a client must send while it is waited for. */
  readonly minRate?: Rate | undefined
}

/** So many bytes in so many seconds. */
export interface Rate {
  readonly bytes: number
  readonly seconds: number
}

export type BodyDeclaration = JsonBody | StreamBody

/** A body while it arrives. */
export interface IncomingBody {
  /** One of the declared media types. */
  readonly type: string
  /** The value of `Content-Encoding` in lower case; `identity` if absent. */
  readonly encoding: string
  /** The bytes as sent. Iterating throws `content-too-large` at the first byte beyond the limit. */
  readonly bytes: AsyncIterable<Buffer>
}

/** Further members of a 400 about a body, with each fault under the path of its field. */
export type DescribeBodyFaults = (
  faults: readonly { readonly field: string; readonly message: string }[],
) => ProblemOptions

/** How long a JSON body may take to arrive, in milliseconds. */
const BODY_TIMEOUT = 30_000

/** The most faults listed in one response. */
const MAX_FAULTS = 20

/**
 * Creates the reader of a body.
 *
 * @throws {TypeError} if no reader supports a part of the schema
 */
export function compileBody(
  declaration: BodyDeclaration,
): (request: FastifyRequest, describe?: DescribeBodyFaults) => Promise<unknown> | IncomingBody {
  if ('stream' in declaration) return ({ raw }) => openStream(raw, declaration)
  const read = compileInTurns(declaration.json, {
    personal: declaration.personal === true,
    keepItems: true,
  })
  return async (request, describe) => {
    assertMediaType(request.raw, ['application/json'])
    const encoding = encodingOf(request.raw)
    if (encoding !== 'identity') throw unsupportedEncoding(encoding, ['identity'])
    const { bytes, memory } = await readWhole(request, declaration.maxBytes)
    const value = await parseBody(bytes, memory)
    const { value: body = {}, faults } = await read(value)
    if (faults.length > 0) throw refuseBody(faults, describe)
    return body
  }
}

function refuseBody(
  faults: readonly { readonly field: string; readonly message: string }[],
  describe?: DescribeBodyFaults,
): Problem {
  const named = faults.slice(0, MAX_FAULTS)
  const sentences = named.map(({ field, message }) => `${field === '' ? 'The body' : field} ${message}.`)
  if (faults.length > MAX_FAULTS)
    sentences.push(`Only the first ${MAX_FAULTS} of ${faults.length} faults are listed.`)
  return new Problem('invalid-body', sentences.join(' '), describe?.(named))
}

function openStream(request: IncomingMessage, { stream, maxBytes, minRate }: StreamBody): IncomingBody {
  const type = assertMediaType(request, stream)
  markTransfer(request)
  assertDeclaredLength(request, maxBytes)
  return { type, encoding: encodingOf(request), bytes: limit(request, maxBytes, minRate) }
}

const broken = new WeakMap<IncomingMessage, Problem>()

/**
 * Ends a body whose rest will never arrive, so that its reader need not wait: after what has arrived, it gets the
 * problem.
 */
export function breakBody(request: IncomingMessage, problem: Problem): void {
  if (request.complete) return
  broken.set(request, problem)
  endBody(request)
}

export function isBroken(request: IncomingMessage): boolean {
  return broken.has(request)
}

async function* limit(request: IncomingMessage, maxBytes: number, minRate?: Rate): AsyncGenerator<Buffer> {
  let length = 0
  // A body that is refused half-read must not take the request with it: its response is still to be sent and logged.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  const next = minRate === undefined ? () => chunks.next() : atLeast(minRate, () => chunks.next())
  try {
    for (let chunk = await next(); chunk.done !== true; chunk = await next()) {
      length += chunk.value.length
      if (length > maxBytes) throw tooLarge(maxBytes)
      yield chunk.value
    }
  } finally {
    // Lets the rest be discarded. Not awaited: a chunk that is waited for may never arrive.
    void chunks.return?.()
  }
  const problem = broken.get(request)
  if (problem !== undefined) throw problem
}

/**
 * Limits how slowly chunks may arrive. Only the time counts for which the client is waited for: the database may be
 * slow.
 */
function atLeast(
  { bytes, seconds }: Rate,
  read: () => Promise<IteratorResult<Buffer, unknown>>,
): () => Promise<IteratorResult<Buffer, unknown>> {
  let waited = 0
  let received = 0
  return async () => {
    const begun = performance.now()
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(tooSlowly({ bytes, seconds })), seconds * 1000 - waited)
    try {
      // What has not arrived yet is left to the connection, which the response closes.
      const chunk = await Promise.race([read(), late.promise])
      waited += performance.now() - begun
      received += chunk.done === true ? 0 : chunk.value.length
      if (received >= bytes) waited = received = 0
      return chunk
    } finally {
      clearTimeout(timer)
    }
  }
}

function tooSlowly({ bytes, seconds }: Rate): Problem {
  return new Problem(
    'request-timeout',
    `The upload is too slow: at least ${bytes} bytes must arrive in ${seconds} seconds.`,
    { headers: { connection: 'close' } },
  )
}

/**
 * Reads a body that counts as memory until `releaseBody`.
 *
 * @throws {Problem} `content-too-large`, from Content-Length or at the first byte that exceeds the limit, or
 * `request-timeout`, or `unavailable` if there is no room for it
 */
export async function readWhole(
  request: FastifyRequest,
  maxBytes: number,
): Promise<{ bytes: Buffer; memory: BodyMemory }> {
  const { raw } = request
  assertDeclaredLength(raw, maxBytes)
  const ended = Promise.withResolvers<never>()
  const timer = setTimeout(() => ended.reject(tooSlow()), BODY_TIMEOUT)
  const chunks: Buffer[] = []
  const memory = new BodyMemory(request.server.budgets.bodies, callerOf(request), (problem) => {
    // The connection stays for a moment, so that the client gets its response.
    chunks.length = 0
    ended.reject(problem)
  })
  holdBody(raw, memory)
  const arrive = async () => {
    for await (const chunk of limit(raw, maxBytes)) {
      memory.add(chunk.length)
      chunks.push(chunk)
    }
  }
  try {
    await Promise.race([arrive(), ended.promise])
    return { bytes: Buffer.concat(chunks), memory }
  } catch (error) {
    chunks.length = 0
    memory.release()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function tooSlow(): Problem {
  return new Problem('request-timeout', `The body did not arrive within ${BODY_TIMEOUT / 1000} seconds.`, {
    headers: { connection: 'close' },
  })
}

function assertDeclaredLength(request: IncomingMessage, maxBytes: number): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

function tooLarge(maxBytes: number): Problem {
  return new Problem(
    'content-too-large',
    `The body is larger than ${maxBytes} bytes, the most that is allowed.`,
    {
      // The rest of the body is not read.
      headers: { connection: 'close' },
    },
  )
}

function assertMediaType(request: IncomingMessage, supported: readonly string[]): string {
  const sent = request.headers['content-type'] ?? ''
  const [type = '', ...parameters] = sent.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters
    .find((each) => each.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '')
  if (supported.includes(type) && (charset === undefined || charset === 'utf-8' || charset === 'utf8'))
    return type
  const named =
    sent === ''
      ? 'The Content-Type header is missing'
      : `The Content-Type is ${JSON.stringify(sent.slice(0, 80))}`
  throw new Problem('unsupported-media-type', `${named}. Supported: ${supported.join(', ')}, in UTF-8.`, {
    headers: { accept: supported.join(', '), connection: 'close' },
  })
}

function encodingOf(request: IncomingMessage): string {
  const sent = request.headers['content-encoding']?.trim().toLowerCase() ?? ''
  return sent === '' ? 'identity' : sent
}

/** RFC 9110, section 15.5.16: Accept-Encoding lists the supported encodings. */
export function unsupportedEncoding(encoding: string, supported: readonly string[]): Problem {
  return new Problem(
    'unsupported-media-type',
    `The Content-Encoding is ${JSON.stringify(encoding.slice(0, 40))}. Supported: ${supported.join(', ')}.`,
    { headers: { 'accept-encoding': supported.join(', '), connection: 'close' } },
  )
}

/** The largest body that can be an empty object, with some white space. */
const MAX_EMPTY_OBJECT = 64

/**
 * Reads the body of an operation without one. Many programs send an empty JSON object with every POST.
 *
 * @throws {Problem} `malformed-body` for any other body
 */
export function readNoBody(request: FastifyRequest): Promise<undefined> | undefined {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.raw.headers
  if (coding === undefined && Number(length) === 0) return undefined
  return assertEmptyObject(request)
}

async function assertEmptyObject(request: FastifyRequest): Promise<undefined> {
  try {
    const { bytes } = await readWhole(request, MAX_EMPTY_OBJECT)
    if (/^(?:[ \t\r\n]*\{[ \t\r\n]*\})?[ \t\r\n]*$/.test(bytes.toString('latin1'))) return
  } catch (error) {
    if (!(error instanceof Problem && error.slug === 'content-too-large')) throw error
  }
  throw new Problem('malformed-body', 'This operation reads no body. Send none, or an empty JSON object.', {
    headers: { connection: 'close' },
  })
}
