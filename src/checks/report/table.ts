import { summariseMessage } from '../explain.ts'
import {
  count,
  describeChanges,
  describeShare,
  describeSubject,
  describeVerdict,
  formatNumber,
  listGaps,
  type ReportWriter,
} from './report.ts'

/** A report for a terminal: the verdict, then one line per code, most frequent first. */
export const writeTable: ReportWriter = async ({ summary, changes }, append) => {
  await append(`${describeVerdict(summary)} ${describeSubject(summary)}\n`)
  if (summary.definition.notice !== undefined) await append(`${summary.definition.notice}\n`)
  if (changes !== undefined) await append(`${describeChanges(changes)}\n`)
  const codes = [...summary.codes].sort((one, other) => other.count - one.count)
  const rows = codes.map((code) => {
    return [
      code.severity,
      code.code + (code.replaces === undefined ? '' : ` (${code.replaces})`),
      formatNumber(code.count),
      describeShare(code, summary),
      code.students === 0 ? '' : formatNumber(code.students),
      ...(changes === undefined ? [] : [formatNumber(changes.get(code.code)?.fresh ?? 0)]),
      [summariseMessage(code.message), ...(code.fix === undefined ? [] : [code.fix])].join(' '),
    ]
  })
  if (rows.length > 0) {
    const head = [
      'severity',
      'code',
      'findings',
      'records',
      'learners',
      ...(changes === undefined ? [] : ['new']),
      'what to do',
    ]
    await append(`\n${alignRows([head, ...rows])}\n`)
  }
  const gaps = listGaps(summary)
  if (gaps.length > 0)
    await append(`\nNot complete: ${count(gaps.length, 'gap')}\n${gaps.map((gap) => `  ${gap}\n`).join('')}`)
}

function alignRows(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          if (column === row.length - 1) return cell
          const width = widths[column] ?? 0
          return column < 2 ? cell.padEnd(width) : cell.padStart(width)
        })
        .join('  '),
    )
    .join('\n')
}
