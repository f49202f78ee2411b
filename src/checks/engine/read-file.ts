import { closeSync, openSync, readSync } from 'node:fs'
import type { Resource } from '../definition/definition.ts'
import { type Columns, detectSeparator, mapColumns } from './columns.ts'
import { CsvReader, type RecordReader } from './csv-reader.ts'
import { JsonReader } from './json-reader.ts'
import type { PreparedFile } from './prepare-file.ts'

/** A file whose header has been read. */
export interface OpenFile {
  readonly reader: RecordReader
  readonly columns: Columns
  /** How to split the text of a record into values. */
  readonly format: { readonly kind: 'csv'; readonly separator: string } | { readonly kind: 'ndjson' }
  /** The offset of the header, for findings about the whole file; NDJSON has none. */
  readonly headerOffset: number | undefined
  /** Why there are no readable records. */
  readonly fault: string | undefined
  /** Faults that are known only after the last record. */
  readonly lateFaults: () => Columns['faults']
}

/** Opens a file as CSV or NDJSON, according to its name or first character. */
export function openFile(
  { path, hasNul }: PreparedFile,
  name: string,
  resource: Resource,
  chunk: number,
): OpenFile {
  const start = readStart(path)
  const isJson = /\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(name) || /^\s*\{/.test(start)
  return isJson ? openJson(path, resource, chunk) : openCsv(path, hasNul, start, resource, chunk)
}

function openJson(path: string, resource: Resource, chunk: number): OpenFile {
  const names = resource.fields.map((field) => field.name)
  const delimiters = resource.fields.map((field) => field.delimiter)
  const reader = new JsonReader(path, { names, delimiters }, { chunk })
  const header = { ...resource, missingColumns: true }
  return {
    reader,
    columns: { ...mapColumns(header, names), width: names.length },
    format: { kind: 'ndjson' },
    headerOffset: undefined,
    fault: undefined,
    lateFaults: () => (resource.unknownColumns ? [] : mapColumns(header, [...reader.unknown.keys()]).faults),
  }
}

function openCsv(path: string, hasNul: boolean, start: string, resource: Resource, chunk: number): OpenFile {
  const firstLine = start.split(/\r?\n/).find((line) => line !== '') ?? ''
  const separator = detectSeparator(
    firstLine,
    resource.fields.map(({ name }) => name),
  )
  const reader = new CsvReader(path, { separator, hasNul, chunk })
  const format = { kind: 'csv', separator } as const
  const lateFaults = () => []
  const none: Columns = { positions: [], width: 0, faults: [], missing: new Set() }
  if (!reader.next())
    return {
      reader,
      columns: none,
      format,
      headerOffset: undefined,
      lateFaults,
      fault: 'The file has no header.',
    }
  const headerOffset = reader.offset
  if (reader.fault !== undefined) {
    const fault = `The header cannot be read. ${reader.fault}`
    return { reader, columns: none, format, headerOffset, lateFaults, fault }
  }
  const columns = mapColumns(resource, reader.cells.slice(0, reader.count))
  if (columns.positions.every((position) => position === -1)) {
    const expected = resource.fields.slice(0, 3).map(({ name }) => name)
    const fault = `The first line has none of the expected columns, such as ${expected.join(', ')}.`
    return { reader, columns: none, format, headerOffset, lateFaults, fault }
  }
  return { reader, columns, format, headerOffset, lateFaults, fault: undefined }
}

function readStart(path: string): string {
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(64 * 1024)
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, 0)).replace(/^\ufeff/, '')
  } finally {
    closeSync(file)
  }
}
