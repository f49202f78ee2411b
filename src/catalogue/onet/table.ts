import { createReadStream } from 'node:fs'
import { MAX_RECORD_BYTES } from '../../engines/records/index.ts'
import { InputRefused, refuse } from '../../foundation/faults/faults.ts'
import { quote } from '../../foundation/text/quote.ts'

export interface Row<Column extends string> {
  readonly line: number
  /** Trimmed. */
  readonly cells: Readonly<Record<Column, string>>
}

/**
 * Reads a table of an O*NET text release: a header, tabs, no quoting. Unlike in CSV, a double quote is ordinary text.
 *
 * @throws {InputRefused} for a file that cannot be read, a missing column or a row of another width
 */
export async function* readTable<const Column extends string>(
  file: string,
  columns: readonly Column[],
): AsyncGenerator<Row<Column>> {
  let toRow: ((cells: readonly string[], line: number) => Row<Column>) | undefined
  for await (const { text, line } of readLines(file)) {
    if (text === '') continue
    if (text.includes('\uFFFD')) refuse({ file, line, message: 'is not UTF-8. Save the file as UTF-8' })
    const cells = text.split('\t')
    if (toRow === undefined) toRow = locateColumns(file, cells, columns)
    else yield toRow(cells, line)
  }
  if (toRow === undefined)
    refuse({ file, message: `The file is empty. The header row must start with ${list(columns)}` })
}

/**
 * Finds the columns in a table's header by name.
 *
 * @returns a function that converts the cells of a line to a row
 * @throws {InputRefused} listing the missing columns and those found; the returned function throws it for another
 *   width
 */
export function locateColumns<Column extends string>(
  file: string,
  header: readonly string[],
  columns: readonly Column[],
): (cells: readonly string[], line: number) => Row<Column> {
  const found = header.map((name) => name.trim())
  const missing = columns.filter((column) => !found.includes(column))
  if (missing.length > 0) {
    const missed = `${missing.length > 1 ? 'columns' : 'column'} ${list(missing)}`
    refuse({ file, line: 1, message: `has no ${missed}; its header has ${list(found)}` })
  }
  const places = columns.map((column) => [column, found.indexOf(column)] as const)
  return (cells, line) => {
    if (cells.length !== found.length) {
      const message = `has ${count(cells.length, 'cell')}, but the header row has ${found.length}`
      refuse({ file, line, message })
    }
    const entries = places.map(([column, place]) => [column, cells[place]?.trim() ?? ''])
    return { line, cells: Object.fromEntries(entries) as Record<Column, string> }
  }
}

/** Rejects a file that could not be opened or read, with a message for the user; rethrows other refusals. */
export function refuseUnreadable(file: string, error: unknown): never {
  if (error instanceof InputRefused) throw error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') refuse({ file, message: 'The file does not exist' })
  if (code === 'EISDIR') refuse({ file, message: 'is a folder. Give a file' })
  if (code === 'EACCES') refuse({ file, message: 'This user may not read it' })
  throw error
}

/** `node:readline` would also end lines at U+2028 and U+2029, which are text here. */
async function* readLines(file: string): AsyncGenerator<{ text: string; line: number }> {
  const chunks: AsyncIterable<string> = createReadStream(file, 'utf8')
  let line = 0
  let rest = ''
  try {
    for await (const chunk of chunks) {
      const texts = (rest + chunk).split('\n')
      rest = texts.pop() ?? ''
      if (rest.length > MAX_RECORD_BYTES) {
        const message = `is longer than ${MAX_RECORD_BYTES} bytes. It is not a file of an O*NET text release`
        refuse({ file, line: line + texts.length + 1, message })
      }
      for (const text of texts) yield { text: trimLine(text, ++line), line }
    }
  } catch (error) {
    refuseUnreadable(file, error)
  }
  if (rest !== '') yield { text: trimLine(rest, ++line), line }
}

/** Without a trailing carriage return, and without the byte order mark of the file. */
function trimLine(text: string, line: number): string {
  const start = line === 1 && text.startsWith('\uFEFF') ? 1 : 0
  return text.slice(start, text.endsWith('\r') ? -1 : undefined)
}

function list(names: readonly string[]): string {
  return names.map((name) => quote(name)).join(', ')
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
