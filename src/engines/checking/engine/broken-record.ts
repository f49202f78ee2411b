import {
  OTHER_SEPARATORS,
  QUOTED,
  type RecordFault,
  type RecordReader,
  SEPARATORS,
  splitRecord,
} from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { compileValues } from '../definition/values.ts'

/** The most cells and characters that are read from a record that cannot be read as a whole. */
const MOST_CELLS = 1000
const MOST_TEXT = 2 ** 16

/** A record that cannot be read as a whole, as it is probably meant. */
export interface BrokenRecord {
  readonly cells: readonly string[]
  /** Its form, if that is the fault. */
  readonly form: RecordFault | undefined
}

/**
 * Reads the cells that a record probably has: as its file is separated, as a file may be, or by spaces, and without
 * the quotes around all of it. The reading whose number of cells is nearest to that of the header counts.
 */
export function readBroken(reader: RecordReader, separator: string, width: number): BrokenRecord {
  const { cells, count, fault, text } = reader
  const own = count > 0 ? cells.slice(0, Math.min(count, MOST_CELLS)).map(trim) : split(text, separator)
  const [only = ''] = own
  if (own.length === width || (count > 0 && fault !== undefined)) return { cells: own, form: undefined }
  const isQuoted = count === 1 && text.startsWith('"')
  const readings: BrokenRecord[] = [
    { cells: own, form: undefined },
    ...(isQuoted ? [{ cells: split(only, separator), form: QUOTED }] : []),
    ...SEPARATORS.map((each, index) => ({
      cells: split(isQuoted ? only : text, each),
      form: OTHER_SEPARATORS[index],
    })),
    // Parts of a row may be pasted from elsewhere; words are as many as columns by chance, too.
    ...[ANY_SEPARATOR, ' '].map((each) => ({ cells: split(isQuoted ? only : text, each), form: undefined })),
  ]
  const distance = (reading: BrokenRecord) => Math.abs(reading.cells.length - width)
  const best = readings.reduce((one, other) => (distance(other) < distance(one) ? other : one))
  // A value may contain the separator. With few cells, its own separator may be the right one.
  const isCertain =
    distance(best) * 10 <= width && width > 2 && own.length * 2 <= width && text.length <= MOST_TEXT
  return isCertain ? best : { ...best, form: undefined }
}

/** The texts of a broken record that may be one value: its cells, and what separators and quotes divide them into. */
export function listParts(cells: readonly string[]): string[] {
  return cells
    .flatMap((cell) => (DIVIDERS.test(cell) ? [cell, ...cell.split(DIVIDERS, MOST_CELLS)] : cell))
    .slice(0, MOST_CELLS)
}

const DIVIDERS = new RegExp(`[${SEPARATORS.join('')}\\s"]+`)

/** The values that a line of NDJSON which is no object has for the fields of a file. */
export function readBrokenJson({ text }: RecordReader, names: readonly string[]): BrokenRecord {
  const cells = names.map(() => '')
  for (const [, name = '', quoted, bare] of text.slice(0, MOST_TEXT).matchAll(MEMBER)) {
    const position = names.indexOf(name)
    if (position !== -1) cells[position] = (quoted ?? bare ?? '').trim()
  }
  return { cells, form: undefined }
}

/** A member whose value is text, which may be cut off, or a number. */
const MEMBER = /"([^"\\]*)"\s*:\s*(?:"([^"\\]*)|([^\s,"[\]{}]+))/g

const ANY_SEPARATOR = new RegExp(`[${SEPARATORS.join('')}]`)

function split(text: string, separator: string | RegExp): string[] {
  const start = text.slice(0, MOST_TEXT)
  const isQuoted = typeof separator === 'string' && start.includes('"')
  const whole = isQuoted ? splitRecord(start, separator) : undefined
  const cells = whole ?? start.split(separator, MOST_CELLS).map(unquote)
  return cells.slice(0, MOST_CELLS).map(trim)
}

const trim = (cell: string) => cell.trim()
const unquote = (cell: string) => cell.trim().replace(/^"|"$/g, '')

/** Compiles the values of a resource's fields among the cells of a broken record; empty where none is valid. */
export function compileBroken({ fields }: Resource): (cellOf: (field: number) => string) => string[] {
  const readers = fields.map((field) => compileValues(field))
  return (cellOf) => readers.map(({ read }, field) => readCell(read, cellOf(field)))
}

/** The plain text of a cell, empty if it is no value. */
export function readCell(read: (value: string) => string | undefined, cell: string): string {
  return cell === '' ? '' : (read(cell) ?? '')
}
