import type { CodeSummary } from '../engine/summary.ts'
import { summariseMessage } from '../explain.ts'
import { collectFirst } from './collect.ts'
import { SCRIPT, STYLE } from './html-assets.ts'
import {
  describeChanges,
  describeShare,
  describeSubject,
  describeVerdict,
  formatNumber,
  listGaps,
  type ReportedFinding,
  type ReportInput,
  type ReportWriter,
  SHOWN_OF_CODE,
} from './report.ts'
import { escapeText } from './xml.ts'

/**
 * Writes a self-contained HTML file: the verdict, the codes by count, a search, and the records in pages. It loads
 * nothing, which its policy also forbids. The counts are complete, but only the first findings of each code are
 * included.
 */
export const writeHtml: ReportWriter = async (input, append) => {
  const { summary } = input
  const first = await collectFirst(input)
  const codes = [...summary.codes].sort((one, other) => other.count - one.count)
  await append(renderHead(input))
  await append(renderCodes(codes, input))
  await append(renderGaps(input))
  await append(
    '<section id="records" hidden><h2>Records</h2><p><label>Search <input type="search" id="search" placeholder="code, learner, course, value …"></label> <button type="button" id="all">All codes</button> <span id="shown" role="status"></span></p><div id="list"></div><p class="pages"><button type="button" id="previous">Previous</button> <span id="page"></span> <button type="button" id="next">Next</button></p></section>\n',
  )
  await append('<script type="application/json" id="data">[')
  let separator = '\n'
  for (const { code } of codes) {
    for (const finding of first.get(code) ?? []) {
      await append(separator + toScript(finding))
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

function renderCodes(codes: readonly CodeSummary[], { summary, changes }: ReportInput): string {
  if (codes.length === 0) return ''
  const rows = codes.map((code) => {
    const cells = [
      `<td class="${code.severity.toLowerCase()}">${code.severity}</td>`,
      `<td><button type="button" class="code" data-code="${escapeText(code.code)}">${escapeText(code.code)}</button>${code.replaces === undefined ? '' : ` (${escapeText(code.replaces)})`}</td>`,
      renderNumber(formatNumber(code.count), code.count === 1 ? 'finding' : 'findings'),
      renderNumber(describeShare(code, summary), 'of the records'),
      renderNumber(
        code.students === 0 ? '' : formatNumber(code.students),
        code.students === 1 ? 'learner' : 'learners',
      ),
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
    'Learners',
    ...(changes === undefined ? [] : ['New']),
  ]
  const note = codes.some(({ count }) => count > SHOWN_OF_CODE)
    ? `<p>The counts are complete. Of each code, this file has the first ${formatNumber(SHOWN_OF_CODE)} findings.</p>`
    : ''
  return `<section><h2>Codes</h2>${note}
<table><thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}<th scope="col">What is wrong, and what to do</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table></section>
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
  return `<section><h2>Not complete</h2><ul>${gaps.map((gap) => `<li>${escapeText(gap)}</li>`).join('')}</ul></section>\n`
}

/** JSON that cannot close the script element around it. */
function toScript(finding: ReportedFinding): string {
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
  ]
  return JSON.stringify(cells).replaceAll('<', '\\u003c')
}
