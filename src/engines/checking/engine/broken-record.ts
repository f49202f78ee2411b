import type { RecordReader } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { compileValues } from './values.ts'

/** The most cells and characters that are read from a record that cannot be read as a whole. */
const MOST_CELLS = 1000
const MOST_TEXT = 2 ** 16

/** The cells that a record without a fault of its quotes has, or else those that its text probably means. */
export function readBroken(reader: RecordReader, separator: string): string[] {
  const { cells, count, text } = reader
  const found = count > 0 ? cells.slice(0, Math.min(count, MOST_CELLS)) : split(text, separator)
  return found.map((cell) => cell.trim())
}

/** The values that a line of NDJSON which is no object has for the fields of a file. */
export function readBrokenJson({ text }: RecordReader, names: readonly string[]): string[] {
  const cells = names.map(() => '')
  for (const [, name = '', quoted, bare] of text.slice(0, MOST_TEXT).matchAll(MEMBER)) {
    const position = names.indexOf(name)
    if (position !== -1) cells[position] = (quoted ?? bare ?? '').trim()
  }
  return cells
}

/** A member whose value is text, which may be cut off, or a number. */
const MEMBER = /"([^"\\]*)"\s*:\s*(?:"([^"\\]*)|([^\s,"[\]{}]+))/g

function split(text: string, separator: string): string[] {
  const cells = text.slice(0, MOST_TEXT).split(separator, MOST_CELLS)
  return cells.map((cell) => cell.trim().replace(/^"|"$/g, ''))
}

/** Compiles the values of a resource's fields among the cells of a broken record; empty where none is valid. */
export function compileBroken({ fields }: Resource): (cellOf: (field: number) => string) => string[] {
  const readers = fields.map((field) => compileValues(field))
  return (cellOf) => readers.map(({ read }, field) => readCell(read, cellOf(field)))
}

/** The plain text of a cell, empty if it is no value. */
export function readCell(read: (value: string) => string | undefined, cell: string): string {
  return cell === '' ? '' : (read(cell) ?? '')
}
