import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import { escapeControls } from '../../../foundation/text/quote.ts'
import { summariseMessage } from '../engine/explain.ts'
import { cut } from '../engine/shown-text.ts'
import { alignRows, MOST_SENTENCE, tabulateCauses } from './cause-table.ts'
import {
  describeChanges,
  describeShare,
  describeSubject,
  describeVerdict,
  listGaps,
  type ReportInput,
  type ReportWriter,
} from './report.ts'

/** The gaps that a terminal shows. */
const SHOWN_GAPS = 5

const FIX_HINT = ' Corrected copies, where only one repair is possible: --fix FOLDER.'

/** A report for a terminal of one screen: what to fix, what was not checked, and the verdict as the last line. */
export const writeTable: ReportWriter = async ({ summary, changes, isFixed }, append) => {
  await writeHead({ summary, changes }, append)
  const causes = tabulateCauses(summary.causes)
  if (causes.length > 0) await append(`\n${causes.join('\n')}\n`)
  const gaps = listGaps(summary)
  const shown = gaps.slice(0, SHOWN_GAPS).map((gap) => `  ${cut(escapeControls(gap), MOST_SENTENCE)}\n`)
  if (gaps.length > SHOWN_GAPS) shown.push(`  And ${count(gaps.length - SHOWN_GAPS, 'more gap')}.\n`)
  if (gaps.length > 0) await append(`\nNot checked:\n${shown.join('')}`)
  const canFix = !isFixed && summary.files.some(({ state }) => state === 'checked')
  if (causes.length > 0)
    await append(
      `\nEvery code: --all. Every record: --format html --output report.html.${canFix ? FIX_HINT : ''}\n`,
    )
  await append(`${causes.length === 0 && gaps.length === 0 ? '' : '\n'}${describeVerdict(summary)}\n`)
}

async function writeHead(
  { summary, changes }: Pick<ReportInput, 'summary' | 'changes'>,
  append: (text: string) => Promise<void>,
): Promise<void> {
  await append(`${describeSubject(summary)}\n`)
  if (summary.definition.notice !== undefined) await append(`${summary.definition.notice}\n`)
  if (changes !== undefined) await append(`${describeChanges(changes)}\n`)
}

/** A report for a terminal with every code and gap: one line per code, most frequent first, and the verdict as the last line. */
export const writeAllCodes: ReportWriter = async ({ summary, changes }, append) => {
  await writeHead({ summary, changes }, append)
  const codes = [...summary.codes].sort((one, other) => other.count - one.count)
  const hasLearners = codes.some(({ students }) => students > 0)
  const rows = codes.map((code) => {
    return [
      code.severity,
      code.code + (code.replaces === undefined ? '' : ` (${code.replaces})`),
      formatNumber(code.count),
      describeShare(code, summary),
      ...(hasLearners ? [code.students === 0 ? '' : formatNumber(code.students)] : []),
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
      ...(hasLearners ? ['learners'] : []),
      ...(changes === undefined ? [] : ['new']),
      'what to do',
    ]
    await append(`\n${alignRows([head, ...rows]).join('\n')}\n`)
  }
  const gaps = listGaps(summary)
  if (gaps.length > 0)
    await append(`\nNot checked:\n${gaps.map((gap) => `  ${escapeControls(gap)}\n`).join('')}`)
  await append(`${rows.length === 0 && gaps.length === 0 ? '' : '\n'}${describeVerdict(summary)}\n`)
}
