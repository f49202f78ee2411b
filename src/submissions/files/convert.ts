import { isUtf8 } from 'node:buffer'
import { Problem } from '../../api/request/problems.ts'
import { nameColumns } from '../../engines/checking/index.ts'
import {
  CsvReader,
  isBlankLine,
  type JsonRecord,
  LineReader,
  type Parsed,
  PieceWriter,
  parseRecord,
  readAsArriving,
  renderRecord,
  toCell,
} from '../../engines/records/index.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import type { FileForm } from '../rules/definitions.ts'
import { MOST_FIELDS } from '../submission/contract.ts'
import { knownColumns } from './current-file.ts'

type Content = AsyncIterable<Buffer>

/**
 * Converts a CSV file to NDJSON: each record with its non-empty values, as strings.
 *
 * @param open opens the content, which is read twice
 * @throws {Problem} before the first record is converted, if one cannot be read
 */
export async function* csvToNdjson(open: () => Content, form: FileForm): AsyncGenerator<Buffer> {
  const known = knownColumns(form)
  const read = () => readAsArriving(open(), (source) => new CsvReader(source, { known }))
  for await (const reader of read()) {
    while (reader.next()) {
      const { fault, line } = reader
      // Its values would be lost.
      if (fault !== undefined)
        throw new Problem(
          'conflict',
          `Line ${line} of the file cannot be converted. ${fault.message} The file is available as CSV only.`,
        )
    }
  }
  const writer = new PieceWriter()
  let names: string[] | undefined
  for await (const reader of read()) {
    while (reader.next()) {
      const cells = reader.cells.slice(0, reader.count)
      if (names === undefined) names = nameColumns(form.fields, cells)
      else if (writer.add(`${renderJson(names, cells)}\n`)) yield writer.take()
    }
  }
  yield* writer.end()
}

function renderJson(names: readonly string[], cells: readonly string[]): string {
  const members = cells.flatMap((cell, index) => {
    const name = names[index]
    return cell === '' || name === undefined || name === '' ? [] : [[name, cell]]
  })
  return JSON.stringify(Object.fromEntries(members))
}

/**
 * Converts an NDJSON file to CSV. The columns are the fields in use, those of the definition first.
 *
 * @param open opens the content, which is read twice
 */
export async function* ndjsonToCsv(open: () => Content, { fields }: FileForm): AsyncGenerator<Buffer> {
  const used = new Set<string>()
  for await (const record of readRecords(open())) {
    for (const name of Object.keys(record)) used.add(name)
    if (used.size > MOST_FIELDS) {
      throw new Problem(
        'conflict',
        `The file has more than ${formatNumber(MOST_FIELDS)} fields. It is available as NDJSON only.`,
      )
    }
  }
  const delimiters = new Map(fields.map(({ name, delimiter }) => [name, delimiter]))
  const names = [...fields.map(({ name }) => name).filter((name) => used.has(name)), ...used]
  const columns = [...new Set(names)]
  const writer = new PieceWriter()
  writer.add(`${renderRecord(columns)}\r\n`)
  for await (const record of readRecords(open())) {
    const cells = columns.map((name) => toCell(record[name], delimiters.get(name) ?? ';'))
    if (writer.add(`${renderRecord(cells)}\r\n`)) yield writer.take()
  }
  yield* writer.end()
}

function readRecord(bytes: Buffer | undefined): Parsed<JsonRecord> {
  if (bytes === undefined) return { fault: 'is too long' }
  return isUtf8(bytes) ? parseRecord(bytes.toString('utf8')) : { fault: 'is not valid UTF-8' }
}

/** @throws {Problem} at a record that cannot be read */
async function* readRecords(content: Content): AsyncGenerator<JsonRecord> {
  for await (const lines of readAsArriving(content, (source) => new LineReader(source))) {
    while (lines.next()) {
      const { bytes } = lines
      if (bytes !== undefined && isBlankLine(bytes)) continue
      const { record, fault } = readRecord(bytes)
      if (record === undefined)
        throw new Problem(
          'conflict',
          `Line ${lines.line} of the file ${fault}. The file is available as NDJSON only.`,
        )
      yield record
    }
  }
}
