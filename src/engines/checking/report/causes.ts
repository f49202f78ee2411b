import { quote } from '../../../foundation/text/quote.ts'
import type { Cause, CheckSummary } from '../engine/summary.ts'
import { count, formatNumber } from './report.ts'

/** The causes that a terminal shows. */
export const SHOWN_CAUSES = 15

/** What is wrong and what to do, in one line: the sentence, with a value if it names none, and the fix. */
export function describeCause({ sentence, example, fix }: Cause): string {
  const { value = '' } = example
  const shown =
    value === '' || sentence.includes(value) ? sentence : `${sentence.replace(/\.$/, '')} (${quote(value)}).`
  return [shown, ...(fix === undefined || sentence.includes(fix) ? [] : [fix])].join(' ')
}

/** Where the first finding of a cause is, such as `enrolments.csv:2`. */
export function placeOf({ example }: Cause): string {
  return `${example.file}:${example.line}`
}

/** A sentence if there are more causes than are shown, and nothing otherwise. */
export function describeRest({ causes }: CheckSummary, shown: number): string[] {
  const rest = causes.slice(shown)
  if (rest.length === 0) return []
  const findings = rest.reduce((sum, cause) => sum + cause.findings, 0)
  return [`And ${count(rest.length, 'more cause')} with ${formatNumber(findings)} findings.`]
}
