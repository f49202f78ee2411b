import { refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { CsvReader } from './csv-reader.ts'
import { readAsArriving } from './pieces.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import { advise } from './record-fault.ts'
import type { SourceRecord } from './source-record.ts'
import {
  describeCell,
  type HeaderColumn,
  type Place,
  readHeader,
  readRow,
  type TableOptions,
} from './table.ts'

/**
 * Yields the records of a CSV text (RFC 4180) with a header row, and the faults of its rows. An empty cell is an
 * absent field.
 *
 * @param options the possible columns, and how to read them
 * @throws {InputRefused} at the first record that cannot be read: a misplaced quote may concern those after it
 */
export async function* readCsv(
  file: string,
  chunks: AsyncIterable<Buffer>,
  options: TableOptions,
): AsyncGenerator<SourceRecord | Fault> {
  const { mapping } = options
  const format = {
    separator: mapping?.separator ?? (/\.tsv(?:\.gz)?$/i.test(file) ? '\t' : ','),
    unquoted: mapping?.unquoted,
    longest: MAX_RECORD_BYTES,
    isMarkPassed: true,
  }
  let header: HeaderColumn[] | undefined
  for await (const reader of readAsArriving(chunks, (source) => new CsvReader(source, format))) {
    while (reader.next()) {
      const place = { file, line: reader.line }
      if (header === undefined && reader.line < (mapping?.headerRow ?? 1)) continue
      if (reader.fault !== undefined) {
        const at = describeCell(header, reader.findUndecoded())
        refuse({ ...place, ...at, message: advise(reader.fault, at !== undefined) })
      }
      const cells = reader.cells.slice(0, reader.count)
      if (header === undefined) {
        checkFirstLine(place, cells, options)
        header = readHeader(place, cells, options)
      } else yield* readRow(place, cells, header, options)
    }
  }
  if (header === undefined) {
    const row = mapping?.headerRow
    const message =
      row === undefined
        ? 'The file is empty. The first line of a CSV file must name its columns'
        : `The file ends before line ${row}, which must name the columns (headerRow)`
    refuse({ file, message })
  }
}

/** Rejects files that are not CSV by their first line. */
function checkFirstLine(place: Place, names: readonly string[], { findColumn }: TableOptions): void {
  const separator = names.length === 1 ? /[;\t|]/.exec(names[0] ?? '')?.[0] : undefined
  if (separator !== undefined) {
    refuse({
      ...place,
      message: `Columns are separated by ${quote(separator)}. Use ","${findColumn === undefined ? '' : `, or a mapping (--map) with separator: ${JSON.stringify(separator)}`}`,
    })
  }
  if (names.some((name) => name.includes('\r'))) {
    refuse({ ...place, message: 'Lines end with a bare carriage return. Use LF or CRLF' })
  }
}
