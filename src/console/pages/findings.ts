import type * as types from '../../../client/src/types.ts'
import { type Api, ApiProblem, type Complete, type Having, readProblem } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { Select } from '../fields.ts'
import { html, type VNode } from '../html.ts'
import { count, link, showTime, submissionLink } from '../links.ts'
import { findColumns, showRecord } from '../record-text.ts'
import { type Catalogue, type Rule, readRules, ruleLink, summarise } from '../rules.ts'
import { Pager, Table } from '../table.ts'
import { type Run, readRuns, type Submission, tokenOf } from './submissions.ts'

type ResultsPage = Having<types.ValidationResultsPage, 'totalCount'> & {
  readonly results: readonly types.ValidationEntry[]
}

type CodeSummary = Having<types.CodeSummary, 'errorCode' | 'count'>

type Summary = Omit<types.ResultsSummary, 'codes' | 'notRun'> & {
  readonly codes?: readonly CodeSummary[]
  readonly notRun?: readonly Complete<types.CheckNotRun>[]
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
  const [rules, columns] = await Promise.all([
    readRules(api, submission.definition),
    readColumns(api, submission, results.results),
  ])
  const pages = Math.max(1, Math.ceil(results.totalCount / PAGE_SIZE))
  const chosen = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, query.get(name) ?? undefined]))
  const to = (rest: string, more = {}) => link(submissionLink(token, rest), { ...chosen, eid, ...more })
  return {
    title: `Findings of ${submission.returnId}`,
    wide: true,
    content: html`<p class="soft">
        <a href=${link('/console/submissions', { eid })}>Submissions</a> › <a href=${link(submissionLink(token), { eid })}>${submission.returnId}</a>
      </p>
      <h1>Findings</h1>
      ${showVerdict(summary)}
      ${showPartial(summary)}
      <p class="no-print"><a href="#records">Go to the records</a></p>
      ${showCodes(summary, token, eid, rules, query.has('all-codes'))}
      ${showNotRun(summary, rules)}
      <h2 id="records">Records</h2>
      ${showFilters(query, token, eid, summary)}
      <p role="status" data-results>
        ${count(results.totalCount, 'finding')}${isFiltered && ' with these filters'}. <a href=${to('/findings.csv')}>Download as CSV</a>
      </p>
      <div data-results>
        ${results.results.map((entry) => showEntry(entry, columns, rules?.byCode.get(entry.errorCode ?? '')))}
        <${Pager} last page=${page} pages=${pages} to=${(number: number) => `${to('/findings', { page: number })}#records`} />
      </div>`,
  }
}

/** The codes shown at first: a definition may have thousands. */
const CODES_SHOWN = 25

function showVerdict({ errorCount = 0, warningCount = 0, codes = [] }: Summary): VNode {
  const kinds = codes.filter(({ errorType }) => errorType === 'Error').length
  const verdict =
    errorCount > 0
      ? html`<span class="error">${count(errorCount, 'error')} of ${count(kinds, 'kind')}</span>`
      : html`<span class="good">No errors</span>`
  return html`<p class="verdict">${verdict}${warningCount > 0 && html`, <span class="warning">${count(warningCount, 'warning')}</span>`}.</p>`
}

/** Says which codes have more findings than the list of records. */
function showPartial({ codes = [] }: Summary): VNode | false {
  const partial = codes.filter(({ stored }) => stored !== undefined)
  if (partial.length === 0) return false
  const codesOf = count(partial.length, 'code')
  return html`<details class="partial">
    <summary>The records of ${codesOf} are partial: they are too many to store. The counts are complete.</summary>
    <ul>${partial.map(
      ({ errorCode, stored = 0, count: found }) =>
        html`<li>${errorCode}: the first ${stored.toLocaleString('en-NZ')} of ${found.toLocaleString('en-NZ')}</li>`,
    )}</ul>
  </details>`
}

function showNotRun({ notRun = [] }: Summary, rules: Catalogue | undefined): VNode | false {
  if (notRun.length === 0) return false
  return html`<details>
    <summary>${count(notRun.length, 'rule')} could not run</summary>
    <ul>${notRun.map(({ errorCode, reason }) => html`<li>${showCode(rules, errorCode)}: ${reason}</li>`)}</ul>
  </details>`
}

/** A code, as a link to its rule if that is known. */
function showCode(rules: Catalogue | undefined, code: string): VNode | string {
  if (rules?.byCode.has(code) !== true) return code
  return html`<a href=${ruleLink(rules.definition.name, code)}>${code}</a>`
}

const CODE_COLUMNS = [
  'Code',
  'Severity',
  { name: 'Findings', number: true },
  { name: 'Share', hidden: true, style: 'share' },
  'What is wrong',
  'How to fix it',
  { name: 'Learners', number: true },
  'File',
]

function showCodes(
  { codes = [] }: Summary,
  token: string,
  eid: string | undefined,
  rules: Catalogue | undefined,
  isComplete: boolean,
): VNode | false {
  if (codes.length === 0) return false
  const most = Math.max(...codes.map((each) => each.count))
  const ordered = codes.toSorted((a, b) => b.count - a.count || (a.errorCode < b.errorCode ? -1 : 1))
  const shown = isComplete ? ordered : ordered.slice(0, CODES_SHOWN)
  const rest = ordered.length - shown.length
  const to = (more: Record<string, string>) => link(submissionLink(token, '/findings'), { eid, ...more })
  return html`<${Table} region label="Findings by code" caption="Most frequent first" columns=${CODE_COLUMNS}>
      ${shown.map((each) => showKind(each, most, rules, `${to({ code: each.errorCode })}#records`))}
    <//>
    ${rest > 0 && html`<p><a href=${to({ 'all-codes': 'yes' })}>Show ${count(rest, 'more code')}</a></p>`}`
}

function showKind(kind: CodeSummary, most: number, rules: Catalogue | undefined, at: string): VNode {
  const { errorCode, errorType = '', fileType, count: number, students } = kind
  const rule = rules?.byCode.get(errorCode)
  const width = Math.max(1, (number / most) * 100)
  return html`<tr>
    <th scope="row">
      <a href=${at}>${errorCode}</a>
      ${rule?.replaces !== undefined && html`<br /><span class="soft">official ${rule.replaces}</span>`}
    </th>
    <td class=${errorType.toLowerCase()}>${errorType}</td>
    <td class="number">${number.toLocaleString('en-NZ')}</td>
    <td class="share">
      <svg class="chart" viewBox="0 0 100 12" width="100" aria-hidden="true">
        <rect class=${errorType === 'Error' ? 'errors' : 'warnings'} width=${width} height="12" />
      </svg>
    </td>
    <td>${rule !== undefined && showWhy(rule, ruleLink(rules?.definition.name ?? '', errorCode))}</td>
    <td>${rule?.fix}</td>
    <td class="number">${students?.toLocaleString('en-NZ') ?? ''}</td>
    <td>${fileType}</td>
  </tr>`
}

function showWhy({ message, why }: Rule, at: string): (VNode | string | false)[] {
  return [
    summarise(message),
    why !== undefined &&
      html`<details><summary>Why</summary><p>${why}</p><p><a href=${at}>The rule and its examples</a></p></details>`,
  ]
}

function showFilters(
  query: URLSearchParams,
  token: string,
  eid: string | undefined,
  { codes = [] }: Summary,
): VNode {
  const files = [...new Set(codes.flatMap(({ fileType }) => fileType ?? []))]
  const known = codes.map(({ errorCode }) => errorCode).toSorted()
  const chosen = (name: string) => query.get(name) ?? ''
  return html`<form class="row" method="get" action=${submissionLink(token, '/findings')} data-live>
    <input type="hidden" name="eid" value=${eid} />
    <${Select} name="type" label="Severity" all="Errors and warnings" value=${chosen('type')} options=${['Error', 'Warning']} />
    <${Select} name="file" label="File" all="All files" value=${chosen('file')} options=${files} />
    <${Select} name="code" label="Code" all="All codes" value=${chosen('code')} options=${known} />
    <label>Student<input name="student" value=${chosen('student')} /></label>
    <label>Course<input name="course" value=${chosen('course')} /></label>
    <button type="submit">Show</button>
    <a href=${`${link(submissionLink(token, '/findings'), { eid })}#records`}>Clear</a>
  </form>`
}

/** Shows a finding with its whole record, and marks the faulty fields. */
function showEntry(
  entry: types.ValidationEntry,
  columns: ReadonlyMap<string, readonly string[]>,
  rule: Rule | undefined,
): VNode {
  const { errorType = 'Error', errorCode, errorDescription, recordText } = entry
  const place = [
    entry.fileType,
    entry.localId,
    entry.studentId && `student ${entry.studentId}`,
    entry.courseCode && `course ${entry.courseCode}`,
  ].filter(Boolean)
  return html`<details class="finding">
    <summary>
      <span class=${errorType.toLowerCase()}>${errorType}</span> <strong>${errorCode}</strong> ${errorDescription}${' '}
      <span class="soft">${place.join(' · ')}</span>
    </summary>
    ${rule?.fix !== undefined && html`<p><strong>Fix:</strong> ${rule.fix}</p>`}
    ${recordText !== undefined && showRecord(recordText, columns.get(entry.fileType ?? ''), rule?.fields ?? [])}
  </details>`
}

/** The column names of the files with these entries, by file type. Records of NDJSON have their names themselves. */
async function readColumns(
  api: Api,
  { submissionToken, files = [] }: Submission,
  entries: readonly types.ValidationEntry[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = entries.filter(({ recordText = '{' }) => !recordText.startsWith('{'))
  const types = new Set(rows.map(({ fileType }) => fileType))
  const columns = new Map<string, readonly string[]>()
  for (const { fileType, file } of files) {
    if (!types.has(fileType)) continue
    const path = `/submissions/${encodeURIComponent(submissionToken)}/files/${encodeURIComponent(file)}`
    const header = await readHeader(api, path)
    if (header !== undefined) columns.set(fileType, findColumns(header))
  }
  return columns
}

/** The longest header row, in characters; the records of a file with a longer one are shown as text. */
const LONGEST_HEADER = 16_384

/** Reads only the beginning of a file. */
async function readHeader(api: Api, path: string): Promise<string | undefined> {
  const { statusCode, body } = await api.stream(path, { headers: { accept: 'text/csv' } })
  let text = ''
  if (statusCode === 200) {
    body.setEncoding('utf8')
    for await (const chunk of body) {
      text += String(chunk).slice(0, LONGEST_HEADER)
      if (text.includes('\n') || text.length >= LONGEST_HEADER) break
    }
  }
  body.destroy()
  const end = text.slice(0, LONGEST_HEADER).search(/\r?\n/)
  return end < 0 ? undefined : text.slice(0, end)
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
      const changes = await api.call<types.ResultsChanges>(resultsOf(context, '/changes'), {
        query: { from, status: kind.status, pageSize: COMPARED },
      })
      return {
        ...kind,
        partial: changes.partial === true,
        number: changes[`${kind.status}Count`] ?? 0,
        entries: changes.results ?? [],
      }
    }),
  )
  return {
    title: 'Two checks compared',
    wide: true,
    content: html`<p class="soft"><a href=${link(submissionLink(token), { eid })}>The submission</a></p>
      <h1>Check ${from} and the newest check</h1>
      ${chooseRun(runs, from, token, eid)}
      <p class="verdict">${shown.map(
        ({ name, style, number }, index) =>
          html`${index > 0 && ', '}<span class=${style}>${name}: ${number.toLocaleString('en-NZ')}</span>`,
      )}</p>
      ${
        shown.some(({ partial }) => partial) &&
        html`<p>Not all findings of these checks are stored: one that only one of them stores counts as new or fixed.</p>`
      }
      <div class="columns-3">${shown.map(
        ({ name, style, number, entries }) => html`<section>
          <h2 class=${style}>${name}</h2>
          ${entries.map(showCompared)}
          ${number > entries.length && html`<p class="soft">The first ${entries.length} of ${number.toLocaleString('en-NZ')}.</p>`}
        </section>`,
      )}</div>`,
  }
}

function showCompared({ errorCode, errorDescription, fileType, localId }: types.ValidationEntry): VNode {
  const place = [fileType, localId].filter(Boolean).join(' · ')
  return html`<p><strong>${errorCode}</strong> ${errorDescription} <span class="soft">${place}</span></p>`
}

function chooseRun(runs: readonly Run[], from: string, token: string, eid: string | undefined): VNode {
  return html`<form class="row" method="get" action=${submissionLink(token, '/compare')} data-live>
    <input type="hidden" name="eid" value=${eid} />
    <label>Compare with check<select name="from">
      ${runs
        .slice(1)
        .map(
          ({ runId, dateCompleted }) =>
            html`<option value=${runId} selected=${String(runId) === from}>${runId}, ${showTime(dateCompleted)}</option>`,
        )}
    </select></label>
    <button type="submit">Compare</button>
  </form>`
}
