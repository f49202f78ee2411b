import type { IncomingMessage } from 'node:http'
import type { TObject } from 'typebox'
import { compileShape } from '../input/shape.ts'
import { bodyMemory } from './body-memory.ts'
import { Problem, type ProblemOptions } from './problems.ts'

/** A JSON object as the body, read completely. */
export interface JsonBody {
  readonly json: TObject
  /** Largest body, in bytes. */
  readonly maxBytes: number
  /** Whether its text may be about people: faults then do not repeat it. */
  readonly personal?: boolean
}

/** A body that the operation reads itself, as it arrives. */
export interface StreamBody {
  /** The media types that the operation supports, without parameters. */
  readonly stream: readonly string[]
  /** Largest body as sent, in bytes. */
  readonly maxBytes: number
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

/** The most values of a JSON body, with those inside of others: each needs more memory than text. */
const MAX_VALUES = 250_000

/** The most faults listed in one response. */
const MAX_FAULTS = 20

/**
 * Creates the reader of a body.
 *
 * @throws {TypeError} if no reader supports a part of the schema
 */
export function compileBody(
  declaration: BodyDeclaration,
): (request: IncomingMessage, describe?: DescribeBodyFaults) => Promise<unknown> | IncomingBody {
  if ('stream' in declaration) return (request) => openStream(request, declaration)
  const read = compileShape(declaration.json, { personal: declaration.personal === true })
  return async (request, describe) => {
    assertMediaType(request, ['application/json'])
    const encoding = encodingOf(request)
    if (encoding !== 'identity') throw unsupportedEncoding(encoding, ['identity'])
    const value = parse(request, await readWhole(request, declaration.maxBytes))
    const { value: body = {}, faults } = read(value)
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

function openStream(request: IncomingMessage, { stream, maxBytes }: StreamBody): IncomingBody {
  const type = assertMediaType(request, stream)
  assertDeclaredLength(request, maxBytes)
  return { type, encoding: encodingOf(request), bytes: limit(request, maxBytes) }
}

async function* limit(request: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let length = 0
  // A body that is refused half-read must not take the request with it: its response is still to be sent and logged.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

/**
 * Reads a body that counts as memory until `bodyMemory.release`.
 *
 * @throws {Problem} `content-too-large`, from Content-Length or at the first byte that exceeds the limit, or
 * `request-timeout`, or `unavailable` if there is no room for it
 */
export async function readWhole(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  assertDeclaredLength(request, maxBytes)
  const ended = Promise.withResolvers<never>()
  const timer = setTimeout(() => ended.reject(tooSlow()), BODY_TIMEOUT)
  const chunks: Buffer[] = []
  bodyMemory.open(request, (problem) => {
    // The connection stays for a moment, so that the client gets its response.
    chunks.length = 0
    ended.reject(problem)
  })
  const arrive = async () => {
    for await (const chunk of limit(request, maxBytes)) {
      bodyMemory.add(request, chunk.length)
      chunks.push(chunk)
    }
  }
  try {
    await Promise.race([arrive(), ended.promise])
    return Buffer.concat(chunks)
  } catch (error) {
    chunks.length = 0
    bodyMemory.release(request)
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

function parse(request: IncomingMessage, bytes: Buffer): unknown {
  const values = countValues(bytes)
  if (values > MAX_VALUES)
    throw new Problem(
      'content-too-large',
      `The body has more than ${MAX_VALUES} values, the most that are allowed.`,
    )
  bodyMemory.parse(request, values)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Problem('malformed-body', 'The body is not UTF-8.')
  }
  if (text.trim() === '') throw new Problem('malformed-body', 'The body is empty. Send one JSON object.')
  try {
    return JSON.parse(text)
  } catch {
    throw new Problem('malformed-body', 'The body is not well-formed JSON.')
  }
}

/** About how many values a JSON text has: the commas and opening brackets outside of its strings. */
function countValues(bytes: Buffer): number {
  let values = 1
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === COMMA || byte === BRACKET || byte === BRACE) values++
    else if (byte === QUOTE) {
      at = bytes.indexOf(QUOTE, at + 1)
      while (at !== -1 && isEscaped(bytes, at)) at = bytes.indexOf(QUOTE, at + 1)
      if (at === -1) break
    }
  }
  return values
}

const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Whether an odd number of backslashes precedes a byte. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let before = at
  while (bytes[before - 1] === BACKSLASH) before--
  return (at - before) % 2 === 1
}

/** @throws {Problem} `malformed-body` if the request has a body although its operation reads none */
export function assertNoBody(request: IncomingMessage): void {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  if (coding === undefined && Number(length) === 0) return
  throw new Problem('malformed-body', 'This operation reads no body. Send none.', {
    headers: { connection: 'close' },
  })
}
