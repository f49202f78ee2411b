/** The only grammar of records: CSV, NDJSON, JSON and XLSX, in and out. */
export { MAX_CHECKED_RECORD, type RecordReader } from './byte-window.ts'
export {
  type CsvColumn,
  type FieldPath,
  findFlatColumn,
  listCells,
  listColumns,
  listFlatColumns,
  pick,
  put,
} from './csv-columns.ts'
export { CsvReader } from './csv-reader.ts'
export {
  readFromSpreadsheet,
  renderForSpreadsheets,
  renderRecord,
  renderRows,
  splitRecord,
} from './csv-record.ts'
export {
  EncodingLook,
  findUtf16,
  nameEncoding,
} from './encoding.ts'
export { explainYaml } from './explain-yaml.ts'
export { describeFormat, findFormat, JSON_LIST } from './file-format.ts'
export { FileSource } from './file-source.ts'
export {
  isObject,
  isTooDeep,
  type JsonRecord,
  MAX_DEPTH,
  type Parsed,
  parseRecord,
  TOO_DEEP,
  toCell,
  toRecord,
} from './json-value.ts'
export { LineReader } from './line-reader.ts'
export { isBlankLine, NdjsonReader } from './ndjson-reader.ts'
export { describeNoRecord, isSpreadsheetError } from './no-record.ts'
export { parseYaml } from './parse-yaml.ts'
export { PieceSource, PieceWriter, readAsArriving, sourceOf } from './pieces.ts'
export { describeFile, joinStart, MAX_RECORD_BYTES, type ReadFile } from './read-bytes.ts'
export { type CellFormat, readCells } from './read-cells.ts'
export { readRecords } from './read-records.ts'
export { readText } from './read-text.ts'
export { readWorkbook, type TextSheet } from './read-xlsx.ts'
export { advise, kindOf, OTHER_SEPARATORS, QUOTED, type RecordFault, SEPARATED } from './record-fault.ts'
export { detectSeparator, namesSeparator, SEPARATORS, trimName } from './separator.ts'
export type { SourceRecord } from './source-record.ts'
export type { ListSeparator, Mapping, Target } from './table.ts'
export { isKnownMethod, isWorkbook, openEntry, readEntries } from './zip.ts'
