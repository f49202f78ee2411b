import { type CsvReader, nameEncoding } from '../../records/index.ts'
import { type Columns, mapColumns } from '../engine/columns.ts'
import { isUnusual } from '../engine/dialect.ts'
import { isNdjson, openTable } from '../engine/read-file.ts'
import { type Renaming, renameColumns } from './repair-header.ts'
import type { SourceFile } from './source-file.ts'

/** A file of separated values, to be repaired. */
export interface SeparatedFile {
  readonly source: SourceFile
  /** Names of columns that are repaired. */
  readonly renamings: readonly Renaming[]
  /** Where the fields are once the names are repaired. */
  readonly columns: Columns
  readonly separator: string
  /** The header, as it is in the file. */
  readonly header: readonly string[]
}

/** Reads the header of a file; `undefined` if it is NDJSON, or no column is known even with repaired names. */
export function readSeparated(source: SourceFile): SeparatedFile | undefined {
  const { resource, name, prepared } = source
  const { dialect, encoding } = resource
  if (isNdjson(prepared.path, name)) return undefined
  // A definition that describes another form of files, or none with names, says how they are written.
  if (isUnusual(dialect) || dialect.headerRows.length === 0) return undefined
  if (encoding !== undefined && nameEncoding(encoding) !== 'utf-8') return undefined
  return withReader(source, (reader) => {
    if (reader.fault !== undefined || reader.count === 0) return undefined
    const header = reader.cells.slice(0, reader.count)
    const renamings = renameColumns(resource, header)
    const repaired = header.slice()
    for (const { column, after } of renamings) repaired[column] = after
    const columns = mapColumns(resource, repaired)
    if (columns.positions.every((position) => position === -1)) return undefined
    return { source, renamings, columns, separator: reader.separator, header }
  })
}

/** Reads a file from its header, which is the reader's first record. */
export function withReader<T>(source: SourceFile, work: (reader: CsvReader) => T): T | undefined {
  const { reader, close } = openReader(source)
  try {
    return reader.next() ? work(reader) : undefined
  } finally {
    close()
  }
}

/** Opens a file as a check does. */
export function openReader({ resource: { fields, dialect }, prepared }: SourceFile) {
  return openTable(prepared, { known: fields.map(({ name }) => name), separator: dialect.delimiter })
}

/** Whether the values of the current record can be assigned to columns. */
export function isWhole({ fault, count }: CsvReader, width: number): boolean {
  return fault === undefined && count === width
}
