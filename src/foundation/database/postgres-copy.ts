import { lookUp } from '../look-up.ts'
import type { Value } from './database.ts'

/** Characters of a COPY that are sent at once. */
const CHUNK = 64 * 1024

/** The text format of COPY: tab-separated values, one row per line, `\N` for null. */
export async function* renderCopy(
  rows: AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>,
): AsyncGenerator<Buffer> {
  let text = ''
  for await (const row of rows) {
    for (let index = 0; index < row.length; index++) {
      if (index > 0) text += '\t'
      const value = row[index]
      text += renderValue(value)
    }
    text += '\n'
    if (text.length >= CHUNK) {
      yield Buffer.from(text)
      text = ''
    }
  }
  if (text !== '') yield Buffer.from(text)
}

function renderValue(value: Value | undefined): string | number {
  if (value === null || value === undefined) return '\\N'
  if (typeof value === 'string') return escapeCopy(value)
  if (typeof value === 'number') return value
  return `\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
}

const ESCAPES = lookUp<string>({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' })

function escapeCopy(text: string): string {
  return /[\\\n\r\t]/.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? '') : text
}
