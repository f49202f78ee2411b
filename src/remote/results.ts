import { stringify } from 'csv-stringify/sync'
import { MahiError } from '../../client/src/errors.ts'
import type { ValidationFinding } from '../../client/src/validation-results.ts'
import { increment } from '../foundation/increment.ts'
import { count, formatNumber } from '../foundation/text/format-number.ts'
import { PUBLISHED_COLUMNS } from '../submissions/findings/publish.ts'
import type { Format } from './formats.ts'

/** The number of entries, in total and by the values of some fields. */
export interface ResultsSummary {
  total: number
  readonly errorType: Map<string, number>
  readonly fileType: Map<string, number>
  readonly errorCode: Map<string, number>
}

/**
 * Writes entries in a format and counts them. CSV starts with a byte order mark, by which spreadsheets detect UTF-8.
 * A cell that a spreadsheet would run as a formula (OWASP, "CSV Injection") gets a leading apostrophe.
 */
export async function writeResults(
  entries: AsyncIterable<ValidationFinding>,
  format: Format,
  write: (text: string) => Promise<void>,
): Promise<ResultsSummary> {
  const summary: ResultsSummary = {
    total: 0,
    errorType: new Map(),
    fileType: new Map(),
    errorCode: new Map(),
  }
  const begin = async () => {
    if (format === 'csv') await write(stringify([PUBLISHED_COLUMNS.map(({ name }) => name)], { bom: true }))
    if (format === 'json') await write('[')
  }
  for await (const entry of entries) {
    if (typeof entry !== 'object' || entry === null) {
      throw new MahiError('unreadable', { title: 'The response contains an item that is not an entry' })
    }
    // Only once the first entry has arrived: a header without entries would look like a clean submission.
    if (summary.total === 0) await begin()
    if (format === 'csv') await write(toCsv(entry))
    else if (format === 'json') await write(`${summary.total === 0 ? '\n' : ',\n'}${JSON.stringify(entry)}`)
    else await write(`${JSON.stringify(entry)}\n`)
    summary.total++
    for (const field of ['errorType', 'fileType', 'errorCode'] as const) {
      const value = String(entry[field] ?? 'none')
      increment(summary[field], value)
    }
  }
  if (summary.total === 0) await begin()
  if (format === 'json') await write('\n]\n')
  return summary
}

function toCsv(entry: ValidationFinding): string {
  const cells = PUBLISHED_COLUMNS.map(({ name }) => String(entry[name as keyof ValidationFinding] ?? ''))
  return stringify([cells], { escape_formulas: true })
}

/** The summary as text, most frequent values first. */
export function describeResults({ total, ...fields }: ResultsSummary): string {
  const titles = { errorType: 'By severity', fileType: 'By file type', errorCode: 'By error code' }
  const tables = Object.entries(fields).map(([field, counts]) => {
    const rows = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    return [
      titles[field as keyof typeof titles],
      ...rows.map(([name, found]) => `  ${formatNumber(found).padStart(8)}  ${name}`),
    ]
  })
  return [count(total, 'entry', 'entries'), ...tables.flat()].join('\n')
}
