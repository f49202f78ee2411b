import { isUtf8 } from 'node:buffer'
import { isFault, refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { isExact, mayLoseDigits } from '../../foundation/text/exact-number.ts'
import { reasonOf } from './json-value.ts'
import { LineReader } from './line-reader.ts'
import { readAsArriving } from './pieces.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'

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
  let empty = true
  const options = { longest: MAX_RECORD_BYTES, isMarkPassed: true }
  for await (const lines of readAsArriving(chunks, (source) => new LineReader(source, options))) {
    while (lines.next()) {
      const { bytes, line, isEnded: ended } = lines
      const place = { file, line }
      if (bytes === undefined) {
        empty = false
        yield {
          ...place,
          message: `is longer than ${MAX_RECORD_BYTES} bytes. Each line must hold one record`,
        }
        continue
      }
      if (!isUtf8(bytes)) refuse({ ...place, message: 'is not UTF-8. Save the file as UTF-8' })
      const text = bytes.toString('utf8')
      if (text.trim() === '') continue
      if (empty && text.trimStart().startsWith('[')) {
        refuse({
          ...place,
          message: 'The file starts with a list. Name a file with one list of records .json',
        })
      }
      const record = parseJson(text, { ...place, ended })
      if (empty && isFault(record) && text.trimEnd().includes('\r')) {
        refuse({ ...place, message: 'Lines end with a bare carriage return. Use LF or CRLF' })
      }
      empty = false
      yield record
    }
  }
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
    const reason = reasonOf(error as SyntaxError)
    const message = ended
      ? `is not JSON (${reason})`
      : `The file ends inside a record (${reason}). It is truncated or not JSON`
    return { file, line, message }
  }
}
