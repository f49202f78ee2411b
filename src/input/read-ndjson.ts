import { isUtf8 } from 'node:buffer'
import { isExact, mayLoseDigits } from '../text/exact-number.ts'
import type { Fault } from '../text/user-error.ts'
import { isFault, refuse } from './faults.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'

const NEWLINE = 0x0a

/**
 * Yields the records of an NDJSON text, one per line, and the faults of lines. Empty lines are skipped, and a text
 * without records is valid. Memory holds one chunk and one line.
 *
 * @throws {InputRefused} for a fault that affects the rest of the file: it is not UTF-8, or is a JSON list
 */
export async function* readNdjson(
  file: string,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<SourceRecord | Fault> {
  let line = 0
  let empty = true
  for await (const { bytes, ended } of splitLines(chunks)) {
    line++
    const place = { file, line }
    if (bytes === undefined) {
      empty = false
      yield { ...place, message: `is longer than ${MAX_RECORD_BYTES} bytes. Each line must hold one record` }
      continue
    }
    if (!isUtf8(bytes)) refuse({ ...place, message: 'is not UTF-8. Save the file as UTF-8' })
    const text = bytes.toString('utf8')
    if (text.trim() === '') continue
    if (empty && text.trimStart().startsWith('[')) {
      refuse({ ...place, message: 'The file starts with a list. Name a file with one list of records .json' })
    }
    const record = parseJson(text, { ...place, ended })
    if (empty && isFault(record) && text.trimEnd().includes('\r')) {
      refuse({ ...place, message: 'Lines end with a bare carriage return. Use LF or CRLF' })
    }
    empty = false
    yield record
  }
}

/** Yields the lines without their line breaks; `undefined` for a line that is too long to hold. */
async function* splitLines(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<{ bytes: Buffer | undefined; ended: boolean }> {
  let parts: Buffer[] = []
  let length = 0
  const keep = (part: Buffer) => {
    length += part.length
    if (length <= MAX_RECORD_BYTES) parts.push(part)
    else parts = []
  }
  const take = (ended: boolean) => {
    const bytes = length > MAX_RECORD_BYTES ? undefined : joinParts(parts)
    parts = []
    length = 0
    return { bytes, ended }
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      keep(chunk.subarray(start, end))
      yield take(true)
      start = end + 1
    }
    // Copied, so that a short remainder does not keep the whole chunk in memory.
    if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)))
  }
  if (length > 0) yield take(false)
}

function joinParts(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

function parseDigits(text: string): { value: unknown; inexact: boolean } {
  let inexact = false
  const value: unknown = JSON.parse(text, (_key: string, each: unknown, context?: { source?: string }) => {
    if (typeof each === 'number' && !isExact(context?.source ?? '', each)) inexact = true
    return each
  })
  return { value, inexact }
}

/** Parses a record, or says why the text is not one; `ended` is false if the file ends with the text. */
export function parseJson(
  text: string,
  { file, line, ended }: { file: string; line: number; ended: boolean },
): SourceRecord | Fault {
  try {
    return { file, line, ...(mayLoseDigits(text) ? parseDigits(text) : { value: JSON.parse(text) }) }
  } catch (error) {
    const reason = (error as Error).message.replace(/ in JSON at position.*| \(line .*|, \.{3}.*|, ".*/s, '')
    const message = ended
      ? `is not JSON (${reason})`
      : `The file ends inside a record (${reason}). It is truncated or not JSON`
    return { file, line, message }
  }
}
