import type { IncomingMessage } from 'node:http'
import type { TObject } from 'typebox'
import { compileShape } from '../input/shape.ts'
import { Problem, type ProblemOptions } from './problems.ts'

/** A body that is one JSON object, read whole. */
export interface JsonBody {
  readonly json: TObject
  /** Largest body, in bytes. */
  readonly maxBytes: number
  /** Whether its texts may be about people: faults then repeat nothing of them. */
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

/** A body that arrives. */
export interface IncomingBody {
  /** One of the declared media types. */
  readonly type: string
  /** The value of `Content-Encoding`, in lower case; `identity` where there is none. */
  readonly encoding: string
  /** The bytes as sent. Iterating throws `content-too-large` at the first byte beyond the limit. */
  readonly bytes: AsyncIterable<Buffer>
}

/** The members of a 400 about a body: each fault under the path of its field. */
export type DescribeBodyFaults = (
  faults: readonly { readonly field: string; readonly message: string }[],
) => ProblemOptions

/** How long a JSON body may take to arrive, in milliseconds. */
const BODY_TIMEOUT = 30_000

/** Most faults that one response names. */
const MAX_FAULTS = 20

/**
 * Makes the reader of a body.
 *
 * @throws {TypeError} if the schema has a part that nothing reads
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
    const value = parse(await readWhole(request, declaration.maxBytes))
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
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

/** @throws {Problem} `content-too-large`, from Content-Length or at the first byte that exceeds the limit */
async function readWhole(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  assertDeclaredLength(request, maxBytes)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooSlow()), BODY_TIMEOUT)
  try {
    return await Promise.race([joinChunks(limit(request, maxBytes)), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function joinChunks(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return Buffer.concat(chunks)
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
      // What is left of the body is not read.
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

/** RFC 9110, section 15.5.16: the supported encodings go into Accept-Encoding. */
export function unsupportedEncoding(encoding: string, supported: readonly string[]): Problem {
  return new Problem(
    'unsupported-media-type',
    `The Content-Encoding is ${JSON.stringify(encoding.slice(0, 40))}. Supported: ${supported.join(', ')}.`,
    { headers: { 'accept-encoding': supported.join(', '), connection: 'close' } },
  )
}

function parse(bytes: Buffer): unknown {
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

/** @throws {Problem} `malformed-body` if the request has a body although its operation reads none */
export function assertNoBody(request: IncomingMessage): void {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  if (coding === undefined && Number(length) === 0) return
  throw new Problem('malformed-body', 'This operation reads no body. Send none.', {
    headers: { connection: 'close' },
  })
}
