import {
  type CsvColumn,
  findFlatColumn,
  listColumns,
  listFlatColumns,
  renderRows,
} from '../../engines/records/index.ts'
import { Type } from '../../foundation/schema/type.ts'
import { REPLACED_BY, REPLACED_BY_COLUMN } from './replacements.ts'
import { OccupationRecord } from './schema.ts'

/** The items of a file: records, and removed codes. */
export const ImportRecord = Type.Object({
  ...OccupationRecord.properties,
  [REPLACED_BY]: Type.Optional(Type.Unknown()),
})

/** The CSV columns of the catalogue. */
export const OCCUPATION_COLUMNS = listColumns(OccupationRecord)

/** A CSV of records may also mark codes as removed. */
export const IMPORT_COLUMNS: readonly CsvColumn[] = [...OCCUPATION_COLUMNS, REPLACED_BY_COLUMN]

/** The column of one item of a list, such as `altJobTitlesEnglish.2`. */
export function findItemColumn(name: string): CsvColumn | undefined {
  return findFlatColumn(OccupationRecord, name)
}

/** The JSON Schema of a record as text. */
export function writeRecordSchema(): string {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...OccupationRecord,
    required: ['occupationCode'],
  }
  return `${JSON.stringify(schema, undefined, 2)}\n`
}

/** The header of a CSV file for spreadsheets with all columns, and two for each list. */
export function writeCsvTemplate(): string {
  const few = (place: string) => (place.includes('inorGroups') || place.includes('ajorGroups') ? 1 : 2)
  return `\ufeff${renderRows([listFlatColumns(OccupationRecord, few).map(({ name }) => name)])}`
}
