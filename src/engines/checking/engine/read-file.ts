import { CsvReader, FileSource, NdjsonReader, parseRecord, type RecordReader } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { readBytes } from '../definition/is-file.ts'
import { type Columns, mapColumns } from './columns.ts'
import { EXPORT_AGAIN, type FileFault } from './file-fault.ts'
import { describeHeader, nameExpected } from './first-line.ts'
import type { PreparedFile } from './prepare-file.ts'

/** A file whose header has been read. */
export interface OpenFile {
  readonly reader: RecordReader
  readonly close: () => void
  readonly columns: Columns
  /** How to split the text of a record into values. */
  readonly format: { readonly kind: 'csv'; readonly separator: string } | { readonly kind: 'ndjson' }
  /** The offset of the header, for findings about the whole file; NDJSON has none. */
  readonly headerOffset: number | undefined
  /** Why there are no readable records. */
  readonly fault: FileFault | undefined
  /** Faults that are known only after the last record. */
  readonly lateFaults: () => Columns['faults']
}

/** Opens a file as CSV or NDJSON, according to its name or first character. */
export function openFile(prepared: PreparedFile, name: string, resource: Resource): OpenFile {
  const { path } = prepared
  return isNdjson(path, name) ? openJson(path, resource) : openCsv(prepared, resource)
}

/** Whether a file is NDJSON, according to its name or first character. */
export function isNdjson(path: string, name: string): boolean {
  return /\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(name) || /^\s*\{/.test(readStart(path))
}

function openJson(path: string, resource: Resource): OpenFile {
  const names = resource.fields.map((field) => field.name)
  const delimiters = resource.fields.map((field) => field.delimiter)
  const source = new FileSource(path)
  const reader = new NdjsonReader(source.read, { names, delimiters })
  const header = { ...resource, missingColumns: true }
  return {
    reader,
    close: () => source.close(),
    columns: { ...mapColumns(header, names), width: names.length },
    format: { kind: 'ndjson' },
    headerOffset: undefined,
    fault: describeNames(readStart(path), resource),
    lateFaults: () => (resource.unknownColumns ? [] : mapColumns(header, [...reader.unknown], true).faults),
  }
}

/** Says that none of the first records of an NDJSON file has a field of its definition. */
function describeNames(start: string, resource: Resource): FileFault | undefined {
  const found = start.split('\n').flatMap((line) => Object.keys(parseRecord(line).record ?? {}))
  if (found.length === 0 || resource.fields.some(({ name }) => found.includes(name))) return undefined
  return {
    message: `The records have none of the expected fields, such as ${nameExpected(resource)}.`,
    fix: 'Export the file again with the names of the definition.',
  }
}

/** Opens a file of separated values at its start: its header, if it has one, is the first record. */
export function openTable(
  { path, hasNul }: Pick<PreparedFile, 'path' | 'hasNul'>,
  options: { known?: readonly string[]; separator?: string | undefined },
): { readonly reader: CsvReader; readonly close: () => void } {
  const source = new FileSource(path)
  return { reader: new CsvReader(source.read, { ...options, hasNul }), close: () => source.close() }
}

function openCsv(prepared: PreparedFile, resource: Resource): OpenFile {
  const known = resource.fields.map(({ name }) => name)
  const { delimiter, headerRows } = resource.dialect
  const { reader, close } = openTable(prepared, { known, separator: delimiter })
  if (headerRows.length === 0) {
    return {
      reader,
      close,
      columns: { ...mapColumns(resource, known), width: known.length },
      // Without a header, the separator is known after the first record.
      get format() {
        return { kind: 'csv', separator: reader.separator } as const
      },
      headerOffset: undefined,
      fault: undefined,
      lateFaults: () => [],
    }
  }
  const hasHeader = reader.next()
  const common = {
    reader,
    close,
    format: { kind: 'csv', separator: reader.separator },
    headerOffset: hasHeader ? reader.offset : undefined,
    lateFaults: () => [],
  } as const
  const none: Columns = {
    positions: [],
    header: [],
    width: 0,
    faults: [],
    groups: new Map(),
    notes: [],
    missing: new Set(),
    marks: new Set(),
  }
  if (!hasHeader)
    return { ...common, columns: none, fault: { message: 'The file has no header.', fix: EXPORT_AGAIN } }
  if (reader.fault !== undefined)
    return {
      ...common,
      columns: none,
      fault: { message: `The header cannot be read. ${reader.fault.message}`, fix: EXPORT_AGAIN },
    }
  const columns = mapColumns(resource, reader.cells.slice(0, reader.count))
  const found = columns.positions.filter((position) => position !== -1).length
  if (columns.missing.size > 0 || found === 0) {
    const fault = describeHeader(readStart(prepared.path), resource, found)
    if (fault !== undefined) return { ...common, columns: none, fault }
  }
  reader.emptyLines = columns.width === 1
  return { ...common, columns, fault: undefined }
}

/** The first lines of a file in UTF-8. */
export function readStart(path: string): string {
  return readBytes(path, 64 * 1024)
    .toString('utf8')
    .replace(/^\ufeff/, '')
}
