import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import { summariseMessage } from '../engine/explain.ts'
import type { Cause, CodeSummary } from '../engine/summary.ts'
import { placeOf } from './causes.ts'
import { collectShown } from './collect.ts'
import { SCRIPT, STYLE } from './html-assets.ts'
import {
  describeChanges,
  describeShare,
  describeSubject,
  describeVerdict,
  listGaps,
  type ReportedFinding,
  type ReportInput,
  type ReportWriter,
  SHOWN_OF_CAUSE,
  SHOWN_OF_CODE,
} from './report.ts'
import { escapeText } from './xml.ts'

/** The causes that are visible at first; the others open with a click. */
const OPEN_CAUSES = 25

/**
 * Writes a self-contained HTML file: the verdict, the causes in the order in which to fix them, what was not checked,
 * the codes, a search, and the records by cause in pages. It loads nothing, which its policy also forbids. The counts
 * are complete, but only the first findings of each code and cause are included.
 */
export const writeHtml: ReportWriter = async (input, append) => {
  const { causes, codes } = input.summary
  const numbers = new Map(causes.map(({ key }, number) => [key, number]))
  const numberOf = ({ cause = '' }: ReportedFinding) => numbers.get(cause) ?? causes.length
  const findings = Map.groupBy(await collectShown(input), numberOf)
  await append(renderHead(input))
  await append(renderCauses(causes))
  await append(renderGaps(input))
  await append(
    renderCodes(
      [...codes].sort((one, other) => other.count - one.count),
      input,
    ),
  )
  await append(
    '<section id="records" hidden><h2>Records</h2><p><label>Search <input type="search" id="search" placeholder="code, file, value …"></label> <button type="button" id="all">All findings</button> <span id="shown" role="status"></span></p><div id="list"></div><p class="pages"><button type="button" id="previous">Previous</button> <span id="page"></span> <button type="button" id="next">Next</button></p></section>\n',
  )
  await append('<script type="application/json" id="data">[')
  let separator = '\n'
  for (let number = 0; number <= causes.length; number++) {
    for (const finding of findings.get(number) ?? []) {
      await append(separator + toScript(finding, number))
      separator = ',\n'
    }
  }
  await append(`]</script>\n<script>${SCRIPT}</script>\n</body>\n</html>\n`)
}

function renderHead({ summary, changes }: ReportInput): string {
  const { errors, warnings, definition } = summary
  const verdict = describeVerdict(summary)
  const kind = errors > 0 ? 'error' : warnings > 0 ? 'warning' : 'clean'
  const sentences = [
    describeSubject(summary),
    definition.notice,
    changes === undefined ? undefined : describeChanges(changes),
  ].filter((text) => text !== undefined)
  return `<!doctype html>
<html lang="en-NZ">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${escapeText(`${definition.name}: ${verdict}`)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1 class="${kind}">${escapeText(verdict)}</h1>
${sentences.map((text) => `<p>${escapeText(text)}</p>`).join('\n')}
`
}

function renderCauses(causes: readonly Cause[]): string {
  if (causes.length === 0) return ''
  const hasLearners = causes.some(({ learners }) => learners > 0)
  const heads = ['Severity', 'First', 'Findings', ...(hasLearners ? ['Learners'] : []), 'What to fix']
  const rows = causes.map((cause, number) => renderCause(cause, number, hasLearners))
  const more = rows.slice(OPEN_CAUSES)
  const rest =
    more.length === 0
      ? ''
      : `<details><summary>${count(more.length, 'more cause')}</summary>${renderTable(heads, more)}</details>\n`
  return `<section><h2>What to fix</h2>
${renderTable(heads, rows.slice(0, OPEN_CAUSES))}
${rest}</section>
`
}

function renderCause(cause: Cause, number: number, hasLearners: boolean): string {
  const { severity, findings, learners, sentence, fix, example } = cause
  const texts = [
    `<p id="cause-${number}">${escapeText(sentence)}</p>`,
    ...(fix === undefined || sentence.includes(fix) ? [] : [`<p>${escapeText(fix)}</p>`]),
    ...(sentence.includes(example.description)
      ? []
      : [`<p class="example">Such as line ${example.line}: ${escapeText(example.description)}</p>`]),
  ]
  const cells = [
    renderSeverity(severity),
    `<td><button type="button" class="choose" data-cause="${number}">${escapeText(placeOf(cause))}</button></td>`,
    renderCount(findings, 'finding'),
    ...(hasLearners ? [renderCount(learners, 'learner')] : []),
    `<td>${texts.join('')}</td>`,
  ]
  return `<tr>${cells.join('')}</tr>`
}

function renderTable(heads: readonly string[], rows: readonly string[]): string {
  return `<table><thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table>`
}

function renderSeverity(severity: Cause['severity']): string {
  return `<td class="${severity.toLowerCase()}">${severity}</td>`
}

function renderCount(number: number, unit: string): string {
  return renderNumber(number === 0 ? '' : formatNumber(number), number === 1 ? unit : `${unit}s`)
}

function renderCodes(codes: readonly CodeSummary[], { summary, changes }: ReportInput): string {
  if (codes.length === 0) return ''
  const hasLearners = codes.some(({ students }) => students > 0)
  const rows = codes.map((code) => {
    const cells = [
      renderSeverity(code.severity),
      `<td><button type="button" class="choose" data-code="${escapeText(code.code)}">${escapeText(code.code)}</button>${code.replaces === undefined ? '' : ` (${escapeText(code.replaces)})`}</td>`,
      renderCount(code.count, 'finding'),
      renderNumber(describeShare(code, summary), 'of the records'),
      ...(hasLearners ? [renderCount(code.students, 'learner')] : []),
      ...(changes === undefined
        ? []
        : [renderNumber(formatNumber(changes.get(code.code)?.fresh ?? 0), 'new')]),
      `<td>${[summariseMessage(code.message), code.why, code.fix].flatMap((text) => (text === undefined ? [] : [`<p>${escapeText(text)}</p>`])).join('')}${renderSource(code)}</td>`,
    ]
    return `<tr>${cells.join('')}</tr>`
  })
  const heads = [
    'Severity',
    'Code',
    'Findings',
    'Records',
    ...(hasLearners ? ['Learners'] : []),
    ...(changes === undefined ? [] : ['New']),
    'What is wrong, and what to do',
  ]
  const note = codes.some((code) => code.count > SHOWN_OF_CODE)
    ? `<p>The counts are complete. Of each code, this file has the first ${formatNumber(SHOWN_OF_CODE)} findings, and of each cause at least the first ${SHOWN_OF_CAUSE}.</p>`
    : ''
  return `<section><details><summary><h2>Codes</h2></summary>${note}
${renderTable(heads, rows)}</details></section>
`
}

/** The unit replaces the head of the column on narrow screens. */
function renderNumber(number: string, unit: string): string {
  return `<td class="number" data-unit="${unit}">${escapeText(number)}</td>`
}

function renderSource({ source }: CodeSummary): string {
  if (source === undefined) return ''
  return /^https?:/.test(source)
    ? `<p><a href="${escapeText(source)}" rel="noreferrer">Source</a></p>`
    : `<p>Source: ${escapeText(source)}</p>`
}

function renderGaps({ summary }: ReportInput): string {
  const gaps = listGaps(summary)
  if (gaps.length === 0) return ''
  return `<section><h2>Not checked</h2><ul>${gaps.map((gap) => `<li>${escapeText(gap)}</li>`).join('')}</ul></section>\n`
}

/** JSON that cannot close the script element around it. */
function toScript(finding: ReportedFinding, cause: number): string {
  const { errorCode, errorDescription, errorType, file, line, studentId, courseCode, recordText, standing } =
    finding
  const cells = [
    errorCode,
    errorType,
    errorDescription,
    file,
    line,
    studentId ?? '',
    courseCode ?? '',
    recordText ?? '',
    standing ?? '',
    cause,
  ]
  return JSON.stringify(cells).replaceAll('<', '\\u003c')
}
