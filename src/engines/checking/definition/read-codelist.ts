import { parse } from 'csv-parse/sync'
import type { Fault } from '../../../foundation/faults/user-error.ts'
import { suggest } from '../../../foundation/text/suggest.ts'
import { isDate } from '../parameters.ts'
import type { PermittedValue } from './definition.ts'

/** Reads a code list: CSV with the columns code and label, and optionally from and until. */
export function readCodelist(text: string, file: string, faults: Fault[]): PermittedValue[] {
  const rows = parseRows(text, file, faults)
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

function parseRows(text: string, file: string, faults: Fault[]): { cells: string[]; line: number }[] {
  try {
    const rows = parse(text, { bom: true, info: true, skip_empty_lines: true }) as unknown as {
      record: string[]
      info: { lines: number }
    }[]
    if (rows.length < 2) faults.push({ file, message: 'has no codes' })
    return rows.map(({ record, info }) => ({ cells: record, line: info.lines }))
  } catch (error) {
    faults.push({ file, message: (error as Error).message })
    return []
  }
}
