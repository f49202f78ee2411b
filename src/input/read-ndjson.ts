import { isUtf8 } from 'node:buffer'
import { refuse } from './faults.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'

const NEWLINE = 0x0a

/**
 * The records of an NDJSON text, one a line; empty lines are passed over. Memory holds one chunk and one line.
 *
 * @throws {InputRefused} at the first line that is not JSON, not UTF-8 or too long
 */
export async function* readNdjson(file: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<SourceRecord> {
  let line = 0
  for await (const { bytes, ended } of splitLines(file, chunks)) {
    line++
    if (!isUtf8(bytes)) refuse({ file, line, message: 'is not UTF-8: save the file as UTF-8' })
    const text = bytes.toString('utf8')
    if (text.trim() !== '') yield { file, line, value: parseJson(text, { file, line, ended }) }
  }
}

async function* splitLines(
  file: string,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<{ bytes: Buffer; ended: boolean }> {
  let parts: Buffer[] = []
  let length = 0
  let line = 1
  const keep = (part: Buffer) => {
    length += part.length
    if (length > MAX_RECORD_BYTES) {
      refuse({ file, line, message: `is longer than ${MAX_RECORD_BYTES} bytes: one line holds one record` })
    }
    parts.push(part)
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      keep(chunk.subarray(start, end))
      yield {
        bytes: parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts),
        ended: true,
      }
      parts = []
      length = 0
      line++
      start = end + 1
    }
    // Copied, so that a short rest does not keep the whole chunk in memory.
    if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)))
  }
  if (length > 0) yield { bytes: Buffer.concat(parts), ended: false }
}

/** @throws {InputRefused} if the text is not JSON; `ended` is false where the file ends with it */
export function parseJson(
  text: string,
  { file, line, ended }: { file: string; line: number; ended: boolean },
): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = (error as Error).message.replace(/ in JSON at position.*| \(line .*|, \.{3}.*|, ".*/s, '')
    const message = ended
      ? `is not JSON (${reason})`
      : `ends in the middle of a record (${reason}): the file was cut off, or is not JSON`
    return refuse({ file, line, message })
  }
}
