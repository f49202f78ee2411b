import { createReadStream } from 'node:fs'
import { renderForSpreadsheets } from '../../records/index.ts'
import type { Finding } from '../engine/summary.ts'
import type { ReportWriter } from './report.ts'
import { writeAllCodes, writeTable } from './table.ts'

/** Writes the findings as NDJSON, which `results publish` accepts. */
const writeNdjson: ReportWriter = async ({ path }, append) => {
  const text = createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 18 })
  for await (const chunk of text as AsyncIterable<string>) await append(chunk)
}

const COLUMNS: readonly (keyof Finding)[] = [
  'errorType',
  'errorCode',
  'errorDescription',
  'file',
  'line',
  'field',
  'value',
  'localId',
  'studentId',
  'courseCode',
  'fileType',
  'recordText',
  'findingKey',
  'cause',
]

/** For spreadsheets: a byte order mark, and an apostrophe before cells that would be formulas. */
const writeCsv: ReportWriter = async ({ findings, changes }, append) => {
  const columns = changes === undefined ? COLUMNS : ['standing', ...COLUMNS]
  await append(`\ufeff${renderForSpreadsheets([columns])}`)
  for await (const finding of findings()) {
    const cells = COLUMNS.map((name) => finding[name] ?? '')
    await append(
      renderForSpreadsheets([finding.standing === undefined ? cells : [finding.standing, ...cells]]),
    )
  }
}

/** The report formats by name; larger ones are loaded on demand. */
export const FORMATS = {
  table: async () => writeTable,
  all: async () => writeAllCodes,
  ndjson: async () => writeNdjson,
  csv: async () => writeCsv,
  html: async () => (await import('./html.ts')).writeHtml,
  junit: async () => (await import('./junit.ts')).writeJunit,
} satisfies Record<string, () => Promise<ReportWriter>>
