import { type Api, ApiProblem, readProblem } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { count, link, showTime, submissionLink } from '../links.ts'
import { findColumns, showRecord } from '../record-text.ts'
import { readRules, ruleLink } from './rules.ts'
import { type Run, readRuns, type Submission, tokenOf } from './submissions.ts'

/** One entry of the validation results (section 2.9 of the API specification). */
export interface Entry {
  readonly localId?: string
  readonly errorCode?: string
  readonly errorDescription?: string
  readonly errorType?: 'Error' | 'Warning'
  readonly fileType?: string
  readonly courseCode?: string
  readonly studentId?: string
  readonly recordText?: string
}

interface ResultsPage {
  readonly page: number
  readonly pageSize: number
  readonly results: readonly Entry[]
  readonly totalCount: number
}

interface CodeSummary {
  readonly errorCode: string
  readonly errorType?: string
  readonly fileType?: string
  readonly count: number
  readonly share?: number
  readonly students?: number
}

interface Summary {
  readonly errorCount?: number
  readonly warningCount?: number
  readonly totalCount?: number
  readonly codes?: readonly CodeSummary[]
  readonly notRun?: readonly { readonly errorCode: string; readonly reason: string }[]
}

const PAGE_SIZE = 25
const FILTERS = {
  type: 'Filter.ErrorType',
  file: 'Filter.FileType',
  code: 'Filter.ErrorCode',
  student: 'Filter.StudentId',
  course: 'Filter.CourseCode',
} as const

export const findingsPages: readonly Route[] = [
  { method: 'GET', path: '/submissions/:token/findings', handle: showFindings, personal: true },
  { method: 'GET', path: '/submissions/:token/findings.csv', handle: downloadFindings, personal: true },
  { method: 'GET', path: '/submissions/:token/compare', handle: compareRuns, personal: true },
]

const resultsOf = (context: Context, rest = '') =>
  `/submissions/${encodeURIComponent(tokenOf(context))}/validation-results${rest}`

function readFilters(query: URLSearchParams): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(FILTERS).map(([short, name]) => [name, query.get(short)?.trim() || undefined]),
  )
}

async function showFindings(context: Context): Promise<Shown> {
  const { api, query, eid } = context
  const token = tokenOf(context)
  const page = Number(query.get('page') ?? 1)
  const filters = readFilters(query)
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  const [summary, results, submission] = await Promise.all([
    api.call<Summary>(resultsOf(context, '/summary')),
    api.call<ResultsPage>(resultsOf(context), { query: { ...filters, page, pageSize: PAGE_SIZE } }),
    api.call<Submission>(`/submissions/${encodeURIComponent(token)}`),
  ])
  const definition = submission.definition ?? 'sdr'
  const columns = await readColumns(api, submission, results.results)
  const pages = Math.max(1, Math.ceil(results.totalCount / PAGE_SIZE))
  const toPage = (number: number) =>
    link(submissionLink(token, '/findings'), {
      ...Object.fromEntries(Object.keys(FILTERS).map((name) => [name, query.get(name) ?? undefined])),
      eid,
      page: number,
    })
  return {
    title: `Findings of ${submission.returnId}`,
    wide: true,
    content: html`<p class="soft"><a href=${link('/console/submissions', { eid })}>Submissions</a> › <a href=${link(submissionLink(token), { eid })}>${submission.returnId}</a></p>
      <h1>Findings</h1>
      ${showVerdict(summary)}
      <p class="no-print"><a href="#records">Go to the records</a></p>
      ${showCodes(summary, token, eid, definition, query.has('all-codes'))}
      ${(summary.notRun ?? []).length > 0 && html`<details><summary>${count(summary.notRun?.length ?? 0, 'rule')} could not run</summary><ul>${summary.notRun?.map(({ errorCode: code, reason }) => html`<li><a href=${ruleLink(definition, code)}>${code}</a>: ${reason}</li>`)}</ul></details>`}
      <h2 id="records">Records</h2>
      ${showFilters(query, token, eid, summary)}
      <p role="status" data-results>${count(results.totalCount, 'finding')}${isFiltered && ' with these filters'}. <a href=${link(submissionLink(token, '/findings.csv'), { ...Object.fromEntries(Object.keys(FILTERS).map((name) => [name, query.get(name) ?? undefined])), eid })}>Download as CSV</a></p>
      <div data-results>${results.results.map((entry) => showEntry(entry, columns, definition))}
      ${
        pages > 1 &&
        html`<nav class="pager" aria-label="Pages">
        ${page > 1 && html`<a rel="prev" href=${`${toPage(page - 1)}#records`}>Previous</a>`}
        <span>Page ${page.toLocaleString('en-NZ')} of ${pages.toLocaleString('en-NZ')}</span>
        ${page < pages && html`<a rel="next" href=${`${toPage(page + 1)}#records`}>Next</a>`}
        ${page < pages && html`<a href=${`${toPage(pages)}#records`}>Last</a>`}
      </nav>`
      }</div>`,
  }
}

/** The codes shown at first: a definition may have thousands. */
const CODES_SHOWN = 25

function showVerdict({ errorCount = 0, warningCount = 0, codes = [] }: Summary): VNode {
  const kinds = codes.filter(({ errorType }) => errorType === 'Error').length
  const verdict =
    errorCount > 0
      ? html`<span class="error">${count(kinds, 'kind')} of error to fix, ${count(errorCount, 'error')}</span>`
      : html`<span class="good">No errors</span>`
  return html`<p class="verdict">${verdict}${warningCount > 0 && html`, <span class="warning">${count(warningCount, 'warning')}</span>`}.</p>`
}

function showCodes(
  { codes = [] }: Summary,
  token: string,
  eid: string | undefined,
  definition: string,
  isComplete: boolean,
): VNode | false {
  if (codes.length === 0) return false
  const rules = readRules(definition)?.byCode
  const most = Math.max(...codes.map((each) => each.count))
  const ordered = codes.toSorted((a, b) => b.count - a.count || (a.errorCode < b.errorCode ? -1 : 1))
  const shown = isComplete ? ordered : ordered.slice(0, CODES_SHOWN)
  const rest = ordered.length - shown.length
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Findings by code"><table>
    <caption>Most frequent first</caption>
    <thead><tr><th scope="col">Code</th><th scope="col">Severity</th><th scope="col" class="number">Findings</th><th scope="col" class="share"><span class="visually-hidden">Share</span></th><th scope="col">What is wrong</th><th scope="col">How to fix it</th><th scope="col" class="number">Learners</th><th scope="col">File</th></tr></thead>
    <tbody>${shown.map(({ errorCode, errorType = '', fileType, count: number, students }) => {
      const rule = rules?.get(errorCode)
      return html`<tr>
        <th scope="row"><a href=${`${link(submissionLink(token, '/findings'), { eid, code: errorCode })}#records`}>${errorCode}</a>${rule?.replaces !== undefined && html`<br /><span class="soft">official ${rule.replaces}</span>`}</th>
        <td class=${errorType.toLowerCase()}>${errorType}</td>
        <td class="number">${number.toLocaleString('en-NZ')}</td>
        <td class="share"><svg class="chart" viewBox="0 0 100 12" width="100" aria-hidden="true"><rect class=${errorType === 'Error' ? 'errors' : 'warnings'} width=${Math.max(1, (number / most) * 100)} height="12" /></svg></td>
        <td>${rule?.summary}${rule?.why !== undefined && html`<details><summary>Why</summary><p>${rule.why}</p><p><a href=${ruleLink(definition, errorCode)}>The rule and its examples</a></p></details>`}</td>
        <td>${rule?.fix}</td>
        <td class="number">${students?.toLocaleString('en-NZ') ?? ''}</td><td>${fileType}</td></tr>`
    })}</tbody></table></div>
    ${rest > 0 && html`<p><a href=${link(submissionLink(token, '/findings'), { eid, 'all-codes': 'yes' })}>Show ${count(rest, 'more code')}</a></p>`}`
}

function showFilters(
  query: URLSearchParams,
  token: string,
  eid: string | undefined,
  { codes = [] }: Summary,
): VNode {
  const files = [...new Set(codes.flatMap(({ fileType }) => fileType ?? []))]
  const select = (name: string, label: string, all: string, options: readonly string[]) =>
    html`<label>${label}<select name=${name}><option value="">${all}</option>${options.map((each) => html`<option selected=${each === query.get(name)}>${each}</option>`)}</select></label>`
  return html`<form class="row" method="get" action=${submissionLink(token, '/findings')} data-live>
    <input type="hidden" name="eid" value=${eid} />
    ${select('type', 'Severity', 'Errors and warnings', ['Error', 'Warning'])}
    ${select('file', 'File', 'All files', files)}
    ${select('code', 'Code', 'All codes', codes.map(({ errorCode }) => errorCode).toSorted())}
    <label>Student<input name="student" value=${query.get('student') ?? ''} /></label>
    <label>Course<input name="course" value=${query.get('course') ?? ''} /></label>
    <button type="submit">Show</button>
    <a href=${`${link(submissionLink(token, '/findings'), { eid })}#records`}>Clear</a>
  </form>`
}

/** Shows a finding with its whole record, and marks the faulty fields. */
function showEntry(entry: Entry, columns: ReadonlyMap<string, readonly string[]>, definition: string): VNode {
  const rule = readRules(definition)?.byCode.get(entry.errorCode ?? '')
  const { errorType = 'Error' } = entry
  return html`<details class="finding">
    <summary><span class=${errorType.toLowerCase()}>${errorType}</span> <strong>${entry.errorCode}</strong> ${entry.errorDescription}${' '}<span class="soft">${[entry.fileType, entry.localId, entry.studentId && `student ${entry.studentId}`, entry.courseCode && `course ${entry.courseCode}`].filter(Boolean).join(' · ')}</span></summary>
    ${rule?.fix !== undefined && html`<p><strong>Fix:</strong> ${rule.fix}</p>`}
    ${entry.recordText !== undefined && showRecord(entry.recordText, columns.get(entry.fileType ?? ''), rule?.fields ?? [])}
  </details>`
}

/** The column names by the SHA-256 of a file, because a page of findings is requested many times. */
const knownColumns = new Map<string, readonly string[]>()
const MOST_KNOWN = 1_000

/** The column names of the files with these entries, by file type. */
async function readColumns(
  api: Api,
  { submissionToken, files = [] }: Submission,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const types = new Set(entries.map(({ fileType }) => fileType))
  const columns = new Map<string, readonly string[]>()
  for (const { fileType, file, sha256 = '' } of files) {
    if (!types.has(fileType)) continue
    let names = knownColumns.get(sha256)
    if (names === undefined) {
      const first = await readFirstLine(
        api,
        `/submissions/${encodeURIComponent(submissionToken)}/files/${file}`,
      )
      if (first === undefined) continue
      names = findColumns(first)
      if (knownColumns.size >= MOST_KNOWN) knownColumns.clear()
      if (sha256 !== '') knownColumns.set(sha256, names)
    }
    columns.set(fileType, names)
  }
  return columns
}

/** The longest header row, in characters. */
const LONGEST_HEADER = 16_384

/** Reads only the first line of a file. */
async function readFirstLine(api: Api, path: string): Promise<string | undefined> {
  const response = await api.stream(path, { headers: { accept: 'text/csv' } })
  if (response.statusCode !== 200) {
    response.body.destroy()
    return undefined
  }
  let text = ''
  response.body.setEncoding('utf8')
  for await (const chunk of response.body) {
    text += String(chunk)
    if (text.includes('\n') || text.length > LONGEST_HEADER) break
  }
  return text.split(/\r?\n/, 1)[0]
}

async function downloadFindings(context: Context): Promise<Outcome> {
  const { api, query } = context
  const response = await api.stream(resultsOf(context), {
    query: readFilters(query),
    headers: { accept: 'text/csv' },
  })
  if (response.statusCode >= 400) {
    const chunks = await response.body.toArray()
    throw new ApiProblem({
      ...readProblem({ body: Buffer.concat(chunks).toString(), statusCode: response.statusCode }),
    })
  }
  return { download: 'findings.csv', type: 'text/csv; charset=utf-8', body: response.body }
}

interface Changes {
  readonly newCount?: number
  readonly fixedCount?: number
  readonly openCount?: number
  readonly results?: readonly Entry[]
}

/** The most findings of each kind in the comparison. */
const COMPARED = 50

async function compareRuns(context: Context): Promise<Shown> {
  const { api, query, eid } = context
  const token = tokenOf(context)
  const runs = (await readRuns(context)).filter(({ status }) => status === 'Processed')
  const from = query.get('from') ?? String(runs[1]?.runId ?? '')
  const kinds = [
    { status: 'new', name: 'New', style: 'error' },
    { status: 'fixed', name: 'Fixed', style: 'good' },
    { status: 'open', name: 'Still open', style: 'warning' },
  ] as const
  const shown = await Promise.all(
    kinds.map(async (kind) => {
      const changes = await api.call<Changes>(resultsOf(context, '/changes'), {
        query: { from, status: kind.status, pageSize: COMPARED },
      })
      return { ...kind, number: changes[`${kind.status}Count`] ?? 0, entries: changes.results ?? [] }
    }),
  )
  return {
    title: 'Two checks compared',
    wide: true,
    content: html`<p class="soft"><a href=${link(submissionLink(token), { eid })}>The submission</a></p>
      <h1>Check ${from} and the newest check</h1>
      ${chooseRun(runs, from, token, eid)}
      <p class="verdict">${shown.map(({ name, style, number }, index) => html`${index > 0 && ', '}<span class=${style}>${name}: ${number.toLocaleString('en-NZ')}</span>`)}</p>
      <div class="columns-3">${shown.map(
        ({ name, style, number, entries }) => html`<section><h2 class=${style}>${name}</h2>
          ${entries.map((entry) => html`<p><strong>${entry.errorCode}</strong> ${entry.errorDescription} <span class="soft">${[entry.fileType, entry.localId].filter(Boolean).join(' · ')}</span></p>`)}
          ${number > entries.length && html`<p class="soft">The first ${entries.length} of ${number.toLocaleString('en-NZ')}.</p>`}</section>`,
      )}</div>`,
  }
}

function chooseRun(runs: readonly Run[], from: string, token: string, eid: string | undefined): VNode {
  return html`<form class="row" method="get" action=${submissionLink(token, '/compare')} data-live>
    <input type="hidden" name="eid" value=${eid} />
    <label>Compare with check<select name="from">${runs.slice(1).map(({ runId, dateCompleted }) => html`<option value=${runId} selected=${String(runId) === from}>${runId}, ${showTime(dateCompleted)}</option>`)}</select></label>
    <button type="submit">Compare</button></form>`
}
