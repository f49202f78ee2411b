import { formatNumber } from '../../../foundation/text/format-number.ts'
import { escapeControls } from '../../../foundation/text/quote.ts'
import { describeCause, describeRest, placeOf, type ShownCause } from './causes.ts'

/** The causes that a terminal shows. */
const SHOWN_CAUSES = 15
/** The most characters of a sentence in a terminal. */
export const MOST_SENTENCE = 160

/** The lines that a terminal shows of causes: a table of the first ones, and the number of the others. */
export function tabulateCauses(causes: readonly ShownCause[]): string[] {
  // Not every definition has learners.
  const hasLearners = causes.some(({ learners = 0 }) => learners > 0)
  const rows = causes.slice(0, SHOWN_CAUSES).map((cause) => {
    const { severity = '', findings = 0, learners = 0 } = cause
    const affected = learners === 0 ? '' : formatNumber(learners)
    const sentence = describeCause(cause, MOST_SENTENCE)
    return [severity, placeOf(cause), formatNumber(findings), ...(hasLearners ? [affected] : []), sentence]
  })
  if (rows.length === 0) return []
  const head = ['severity', 'first', 'findings', ...(hasLearners ? ['learners'] : []), 'what to fix']
  return [...alignRows([head, ...rows]), ...describeRest(causes, SHOWN_CAUSES)]
}

/**
 * Lines with aligned columns: the first two to the left, the others to the right, and the last one as it is. A row is
 * one line, whatever names from data it has.
 */
export function alignRows(cells: readonly (readonly string[])[]): string[] {
  const rows = cells.map((row) => row.map(escapeControls))
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => {
        if (column === row.length - 1) return cell
        const width = widths[column] ?? 0
        return column < 2 ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  '),
  )
}
