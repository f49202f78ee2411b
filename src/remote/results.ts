import { MahiError } from '../../client/src/errors.ts'
import type { Client } from '../../client/src/index.ts'
import type { Finding, ResultsSummary } from '../../client/src/types.ts'
import { describePartial } from '../engines/checking/index.ts'
import { renderForSpreadsheets } from '../engines/records/index.ts'
import { increment } from '../foundation/increment.ts'
import { count, formatNumber } from '../foundation/text/format-number.ts'
import { PUBLISHED_COLUMNS } from '../submissions/findings/publish.ts'

export const FORMATS = ['ndjson', 'json', 'csv'] as const
export type Format = (typeof FORMATS)[number]

/** The number of entries, in total and by the values of some fields. */
export interface ResultsCounts {
  total: number
  readonly errorType: Map<string, number>
  readonly fileType: Map<string, number>
  readonly errorCode: Map<string, number>
}

/**
 * Writes entries in a format and counts them. CSV is for spreadsheets, which detect UTF-8 by a byte order mark.
 */
export async function writeResults(
  entries: AsyncIterable<Finding>,
  format: Format,
  write: (text: string) => Promise<void>,
): Promise<ResultsCounts> {
  const summary: ResultsCounts = {
    total: 0,
    errorType: new Map(),
    fileType: new Map(),
    errorCode: new Map(),
  }
  const begin = async () => {
    if (format === 'csv')
      await write(`\ufeff${renderForSpreadsheets([PUBLISHED_COLUMNS.map(({ name }) => name)])}`)
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

function toCsv(entry: Finding): string {
  return renderForSpreadsheets([
    PUBLISHED_COLUMNS.map(({ name }) => String(entry[name as keyof Finding] ?? '')),
  ])
}

/** The summary as text, most frequent values first. */
export function describeResults({ total, ...fields }: ResultsCounts): string {
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

/** Entries per page: the default maximum of a service. */
const PAGE_SIZE = 1000

/**
 * Fetches all findings: in one response, or from a service without one in pages, of its own size if it allows no larger ones.
 */
export async function* fetchEntries({ validationResults }: Client, token: string): AsyncGenerator<Finding> {
  const whole = await validationResults.export(token)
  if (whole !== undefined) {
    yield* whole
    return
  }
  let begun = false
  try {
    for await (const entry of validationResults.all(token, { pageSize: PAGE_SIZE })) {
      begun = true
      yield entry
    }
    return
  } catch (error) {
    const isTooLarge =
      error instanceof MahiError && error.status === 400 && error.errors?.pageSize !== undefined
    if (begun || !isTooLarge) throw error
    // Without a size, the service uses its default.
    yield* validationResults.all(token)
  }
}

/** One sentence for each code of which not all findings are stored. */
export function listPartial({ codes = [] }: ResultsSummary): string[] {
  return codes.flatMap(({ errorCode = '', count: findings = 0, stored = findings }) =>
    describePartial(errorCode, stored, findings),
  )
}
