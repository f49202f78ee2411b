import { refuse } from '../../foundation/faults/faults.ts'
import { type CsvOptions, CsvReader } from './csv-reader.ts'
import { readAsArriving } from './pieces.ts'
import { MAX_RECORD_BYTES, readBytes } from './read-bytes.ts'
import { advise } from './record-fault.ts'

/** How the cells of a table are separated, or by which columns this is found. */
export type CellFormat = Pick<CsvOptions, 'separator' | 'known' | 'unquoted'>

/**
 * Reads the cells of each row of a table, its header included, from a file or standard input.
 *
 * @throws {InputRefused} if the file cannot be read, or at the first row that cannot be read
 */
export async function* readCells(
  file: string,
  format: CellFormat,
): AsyncGenerator<{ readonly cells: readonly string[]; readonly line: number }, void> {
  const options = { ...format, longest: MAX_RECORD_BYTES }
  for await (const reader of readAsArriving(readBytes(file), (source) => new CsvReader(source, options))) {
    while (reader.next()) {
      const { line, fault } = reader
      if (fault !== undefined) refuse({ file, line, message: advise(fault) })
      yield { cells: reader.cells.slice(0, reader.count), line }
    }
  }
}
