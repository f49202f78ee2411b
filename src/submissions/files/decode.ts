import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { continueAfter } from '../../api/contract/results.ts'
import { Problem } from '../../api/request/problems.ts'
import { findUtf16, joinStart } from '../../engines/records/index.ts'

export const CR_NOTE = 'The lines end with CR only. They were read as if they ended with LF.'

/** @param known the encoding that its definition gives the file */
export function describeEncoding(encoding: string, known: string | undefined): string {
  const why = encoding === known ? 'as its definition says' : 'because it is not UTF-8'
  return `The file was read as ${encoding}, ${why}.`
}

export function describeLoss(encoding: string): string {
  return `Some bytes are no characters in ${encoding}; they were replaced by \ufffd. Save the file in this encoding, or in UTF-8, and send it again.`
}

/** The bytes that show how content is encoded. */
const LOOKED_AT = 4096

/** How many bytes show whether content is gzip, an archive or UTF-16. */
const FIRST_BYTES = 8

/**
 * The content in UTF-8 if it is UTF-16, which its first bytes show, and otherwise as it is.
 *
 * @param onWide called if it is UTF-16
 */
export async function* decodeWide(
  content: AsyncIterable<Buffer>,
  onWide: () => void,
): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | undefined
  let isStart = true
  for await (const chunk of joinStart(content, FIRST_BYTES)) {
    const utf16 = isStart ? findUtf16(chunk) : undefined
    isStart = false
    if (utf16 !== undefined) {
      decoder = new TextDecoder(utf16)
      onWide()
    }
    if (decoder === undefined) yield chunk
    else
      for (let at = 0; at < chunk.length; at += LOOKED_AT)
        yield Buffer.from(decoder.decode(chunk.subarray(at, at + LOOKED_AT), { stream: true }))
  }
  if (decoder !== undefined) yield Buffer.from(decoder.decode())
}

/**
 * The content of an encoding in UTF-8 with plain line ends.
 *
 * @param lineEnds whether lines end with CR only
 * @param onLoss called if bytes are no characters in an encoding other than UTF-8, in which records with such bytes are faulty
 */
export async function* decode(
  content: AsyncIterable<Buffer>,
  { encoding, lineEnds, onLoss }: { encoding: string; lineEnds: boolean; onLoss: () => void },
): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding)
  const render = (text: string) => {
    if (encoding !== 'UTF-8' && text.includes('\ufffd')) onLoss()
    return Buffer.from(lineEnds ? text.replaceAll('\r', '\n') : text)
  }
  for await (const piece of content) yield render(decoder.decode(piece, { stream: true }))
  yield render(decoder.decode())
}

/** Unpacks gzip, also if nobody said that the content is gzip. */
export async function unpack(
  content: AsyncGenerator<Buffer, void>,
  isGzip: boolean,
): Promise<AsyncIterable<Buffer>> {
  if (isGzip) return gunzip(content)
  const joined = joinStart(content, FIRST_BYTES)
  const first = await joined.next()
  const whole = continueAfter(first, joined)
  const isPacked = first.done !== true && first.value[0] === 0x1f && first.value[1] === 0x8b
  return isPacked ? gunzip(whole) : whole
}

/** Decompresses on demand, so that a small upload cannot fill the memory. */
async function* gunzip(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacked = createGunzip({ chunkSize: 256 * 1024 })
  const feeding = pipeline(content, unpacked)
  // Damage may be found while nobody asks for the next chunk.
  feeding.catch(() => undefined)
  try {
    for await (const chunk of unpacked) yield chunk as Buffer
    await feeding
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
      throw new Problem('invalid-body', 'The gzip content is damaged or truncated.', {
        members: { errorCode: 'GM1' },
      })
    }
    throw error
  } finally {
    unpacked.destroy()
    await feeding.catch(() => undefined)
  }
}
