import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { MAX_DEPTH, TOO_DEEP } from '../../engines/records/index.ts'
import { compileSchema, memberOf, soundMembers } from '../../foundation/schema/compile.ts'
import type { Static, TObject } from '../../foundation/schema/type.ts'
import { parseExactJson } from '../../foundation/text/exact-json.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { describeFaults, type Members, Problem, type ValueFault } from './problems.ts'
import { markTransfer } from './transfers.ts'

/** A JSON object as the body, read completely. */
export interface JsonBody<Json extends TObject = TObject> {
  readonly json: Json
  /** Largest body, in bytes. */
  readonly maxBytes: number
  /** Whether its text may be about people: faults then do not repeat it. */
  readonly personal?: boolean
  /**
   * What is wrong beyond the schema, of the members that fit it: a caller learns of all faults at once.
   *
   * @param path the values of the path
   */
  check?(body: Partial<Static<Json>>, path: Readonly<Record<string, string>>): readonly ValueFault[]
}

/** A body that the operation reads itself, as it arrives. */
interface StreamBody {
  /** The media types that the operation supports, without parameters. */
  readonly stream: readonly string[]
  /** Largest body as sent, in bytes. */
  readonly maxBytes: number
  /** The least that a client must send while it is waited for; by default 64 KiB in 30 seconds. */
  readonly minRate?: Rate
}

/** So many bytes in so many seconds. */
interface Rate {
  readonly bytes: number
  readonly seconds: number
}

const MIN_RATE: Rate = { bytes: 65_536, seconds: 30 }

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

/** How long a JSON body may take to arrive, in milliseconds. */
const BODY_TIMEOUT = 30_000

/** The most values of a JSON body, with those inside of others: each needs more memory than text. */
const MAX_VALUES = 250_000

/** Bytes counted for each value of a parsed body: measured for objects that have different names. */
const VALUE = 96

/**
 * Creates the reader of a body.
 *
 * @param members further members of the 400 about its fields
 * @throws {TypeError} if no reader supports a part of the schema
 */
export function compileBody(
  declaration: BodyDeclaration,
  members: Members = {},
): (request: FastifyRequest) => Promise<unknown> {
  if ('stream' in declaration) return async ({ raw }) => openStream(raw, declaration)
  const read = compileSchema(declaration.json, { personal: declaration.personal === true, keepItems: true })
  return async (request) => {
    assertMediaType(request.raw, ['application/json'])
    const encoding = encodingOf(request.raw)
    if (encoding !== 'identity') throw unsupportedEncoding(encoding, ['identity'])
    const bytes = await readWhole(request, declaration.maxBytes)
    const reading = read(parse(request, bytes))
    const faults = reading.faults.map(({ field, message }) => ({ name: field || 'The body', message }))
    const wrong = new Set(faults.map(({ name }) => memberOf(name)))
    const further = declaration.check?.(soundMembers(reading), request.params as Record<string, string>) ?? []
    const named = [...faults, ...further.filter(({ name }) => !wrong.has(memberOf(name)))]
    if (named.length === 0) return reading.value ?? {}
    throw new Problem('invalid-body', ...describeFaults(named, members))
  }
}

function openStream(
  request: IncomingMessage,
  { stream, maxBytes, minRate = MIN_RATE }: StreamBody,
): IncomingBody {
  const type = assertMediaType(request, stream)
  markTransfer(request)
  assertDeclaredLength(request, maxBytes)
  return { type, encoding: encodingOf(request), bytes: limit(request, maxBytes, minRate) }
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
      // What has not arrived yet is left to the connection.
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
 * Reads a body, which counts as bytes in flight.
 *
 * @throws {Problem} `content-too-large`, from Content-Length or at the first byte that exceeds the limit, or
 * `request-timeout`
 * @throws {Exhausted}
 */
export async function readWhole(request: FastifyRequest, maxBytes: number): Promise<Buffer> {
  const { raw, server } = request
  assertDeclaredLength(raw, maxBytes)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooSlow()), BODY_TIMEOUT)
  const chunks: Buffer[] = []
  const arrive = async () => {
    for await (const chunk of limit(raw, maxBytes)) {
      server.inFlight.hold(request, chunk.length)
      chunks.push(chunk)
    }
  }
  try {
    await Promise.race([arrive(), late.promise])
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
  }
}

/** Parses a JSON text. Its values count as bytes in flight, too. */
function parse(request: FastifyRequest, bytes: Buffer): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Problem('malformed-body', 'The body is not UTF-8.')
  }
  if (text.trim() === '') throw new Problem('malformed-body', 'The body is empty. Send one JSON object.')
  const { values, depth } = measure(text)
  if (values > MAX_VALUES) {
    throw new Problem(
      'content-too-large',
      `The body has more than ${formatNumber(MAX_VALUES)} values, the most that are allowed.`,
    )
  }
  // Functions that call themselves for each level would exceed the stack.
  if (depth > MAX_DEPTH) throw new Problem('malformed-body', `The body ${TOO_DEEP}.`)
  request.server.inFlight.hold(request, values * VALUE)
  try {
    return parseExactJson(text)
  } catch {
    throw new Problem('malformed-body', 'The body is not well-formed JSON.')
  }
}

/** About how many values a JSON text has, and how deep they are nested, from what is outside of its strings. */
function measure(text: string): { values: number; depth: number } {
  let values = 1
  let depth = 0
  let open = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    } else if (character === ',') values++
    else if (character === '[' || character === '{') {
      values++
      depth = Math.max(depth, ++open)
    } else if (character === ']' || character === '}') open--
  }
  return { values, depth }
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
export async function readNoBody(request: FastifyRequest): Promise<undefined> {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.raw.headers
  if (coding === undefined && Number(length) === 0) return
  try {
    const bytes = await readWhole(request, MAX_EMPTY_OBJECT)
    if (/^(?:[ \t\r\n]*\{[ \t\r\n]*\})?[ \t\r\n]*$/.test(bytes.toString('latin1'))) return
  } catch (error) {
    if (!(error instanceof Problem && error.slug === 'content-too-large')) throw error
  }
  throw new Problem('malformed-body', 'This operation reads no body. Send none, or an empty JSON object.', {
    headers: { connection: 'close' },
  })
}
