import type { Fault } from '../../../foundation/faults/user-error.ts'
import { suggest } from '../../../foundation/text/suggest.ts'
import { advise, CsvReader, MAX_RECORD_BYTES, sourceOf } from '../../records/index.ts'
import type { PermittedValue } from './definition.ts'
import { isDate } from './parameters.ts'

/** Reads a code list: CSV with the columns code and label, and optionally from and until. */
export function readCodelist(content: Buffer, file: string, faults: Fault[]): PermittedValue[] {
  const rows = parseRows(content, file, faults)
  const header = rows[0]?.cells ?? []
  const at = (name: string) => header.indexOf(name)
  if (rows.length > 0 && at('code') === -1) {
    faults.push({ file, line: 1, message: `has no column code${suggest('code', header)}` })
    return []
  }
  const seen = new Set<string>()
  return rows.slice(1).map(({ cells, line }) => {
    const cell = (name: string) => cells[at(name)] || undefined
    const value = cell('code')
    if (value === undefined) faults.push({ file, line, field: 'code', message: 'is missing' })
    const period = [cell('from'), cell('until')]
    for (const [index, name] of ['from', 'until'].entries()) {
      const date = period[index]
      if (date !== undefined && !isDate(date))
        faults.push({ file, line, field: name, message: `must be a date such as 2025-12-31, not "${date}"` })
    }
    const [from = '', until = from] = period
    if (from > until) faults.push({ file, line, field: 'until', message: `is before from, "${from}"` })
    const key = [value, ...period].join('\n')
    if (seen.has(key)) faults.push({ file, line, field: 'code', message: `has "${value}" twice` })
    seen.add(key)
    return { value: value ?? '', label: cell('label'), from: period[0], until: period[1] }
  })
}

interface ListRow {
  readonly cells: readonly string[]
  readonly line: number
}

function parseRows(content: Buffer, file: string, faults: Fault[]): ListRow[] {
  const reader = new CsvReader(sourceOf(content), { separator: ',', longest: MAX_RECORD_BYTES })
  const rows: ListRow[] = []
  while (reader.next()) {
    const { line, count } = reader
    if (reader.fault !== undefined) {
      faults.push({ file, line, message: advise(reader.fault) })
      return []
    }
    const columns = rows[0]?.cells.length ?? count
    if (count !== columns)
      faults.push({
        file,
        line,
        message: `has ${count} ${count === 1 ? 'cell' : 'cells'}, but the first line has ${columns}`,
      })
    rows.push({ cells: reader.cells.slice(0, count), line })
  }
  if (rows.length < 2) faults.push({ file, message: 'has no codes' })
  return rows
}
