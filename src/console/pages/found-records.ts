import type * as types from '../../../client/src/types.ts'
import { count } from '../../foundation/text/format-number.ts'
import { type Context, get, post, type Route, type Shown } from '../context.ts'
import { Field, Select } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html, tag, type VNode } from '../html.ts'
import { submissionLink } from '../links.ts'
import { readList } from '../lists.ts'
import { Filters } from '../post-form.ts'
import { readRecord, shorten } from '../record-text.ts'
import { type Catalogue, showCode } from '../rules.ts'
import { type Column, table } from '../table.ts'
import {
  changeExplanation,
  type Explanations,
  findExplanation,
  readTarget,
  showExplanation,
  type Target,
} from './explanations.ts'
import { FILTERS, findEarlier, findingsOf, readRuns } from './findings.ts'
import { type Cause, showStale, showViews } from './fix.ts'
import {
  type Checked,
  linkTo,
  ofCheck,
  RECORDS,
  type Run,
  readExplanations,
  recordsLink,
  showStep,
  stepLink,
  tokenOf,
  type Workbench,
  WRITING,
} from './workbench.ts'

export const recordPages: readonly Route[] = [
  get('/submissions/:token/findings/records', ofCheck(showRecords), { personal: true }),
  post(
    '/submissions/:token/findings/records/explain',
    (context) => changeExplanation(context, 'PUT'),
    showTarget,
    WRITING,
  ),
  post(
    '/submissions/:token/findings/records/withdraw',
    (context) => changeExplanation(context, 'DELETE'),
    showTarget,
    WRITING,
  ),
]

const PAGE_SIZE = 25

/** The records that a form about an explanation is about. */
async function showTarget(context: Context): Promise<Shown> {
  const query = new URLSearchParams(readTarget(await readForm(context.request)))
  return await ofCheck(showRecords)({ ...context, query })
}

const ALL_FILTERS = { ...FILTERS, cause: 'Filter.Cause', new: 'onlyNew' } as const
const NAMES = Object.keys(ALL_FILTERS) as (keyof typeof ALL_FILTERS)[]

async function showRecords(workbench: Checked): Promise<Shown> {
  const { query, rules } = workbench
  const chosen = Object.fromEntries(NAMES.map((name) => [name, query.get(name)?.trim() || undefined]))
  const filters = Object.fromEntries(NAMES.map((name) => [ALL_FILTERS[name], chosen[name]]))
  const [found, runs, cause, explanations] = await Promise.all([
    readList<types.Finding, types.FindingsPage>(workbench, findingsOf(workbench, '/findings'), PAGE_SIZE, {
      query: filters,
    }),
    readRuns(workbench),
    findCause(workbench, chosen.cause),
    chosen.cause === undefined && chosen.code === undefined ? {} : readExplanations(workbench),
  ])
  const { results, totalCount, pager } = found
  const columns = new Map(found.columns?.map(({ file, columns }) => [file as string, columns]))
  const target = findTarget(cause, chosen.code, rules, explanations)
  const download = linkTo(workbench, '/findings.csv', chosen)
  const isExported = chosen.cause === undefined && chosen.new === undefined
  return showStep(workbench, 'fix', {
    title: cause?.sentence ?? 'Records with findings',
    content: html`
      ${cause === undefined && showViews(workbench, RECORDS)}
      ${cause !== undefined && showCauseHead(workbench, cause)}
      ${showStale(workbench)}
      ${target !== undefined && showExplanation(workbench, explanations, target)}
      ${showFilters(workbench, chosen, runs)}
      <p role="status" data-results>
        ${count(totalCount, 'finding')}${NAMES.some((name) => name !== 'cause' && chosen[name] !== undefined) && ' with these filters'}.
        ${isExported && totalCount > 0 && html` <a href=${download} download>Download as CSV</a>`}
      </p>
      <div data-results>
        ${totalCount > 0 && showGrid(results, columns, rules)}
        ${pager}
      </div>`,
  })
}

/** The warnings on the page, if they can be explained together. */
function findTarget(
  cause: Cause | undefined,
  code: string | undefined,
  rules: Catalogue | undefined,
  { explanations = [] }: Explanations,
): Target | undefined {
  if (cause !== undefined) {
    if (cause.severity !== 'Warning') return undefined
    const key = findExplanation(explanations, cause)?.target ?? cause.key
    return { kind: key === cause.key ? 'cause' : 'code', key }
  }
  if (code === undefined || rules?.byCode.get(code)?.severity !== 'Warning') return undefined
  return { kind: 'code', key: code }
}

async function findCause(context: Context, key: string | undefined): Promise<Cause | undefined> {
  if (key === undefined) return undefined
  const { causes = [] } = await context.api.call<{ causes?: readonly Cause[] }>(
    findingsOf(context, '/causes'),
  )
  return causes.find((each) => each.key === key)
}

function showCauseHead(context: Context, { sentence, fix, severity, records, learners }: Cause): VNode {
  return html`<p><a href=${stepLink(context, 'fix')}>All causes</a></p>
    <h2>${sentence}</h2>
    <p>${fix}</p>
    <p class="facts">
      ${tag(severity)}
      ${records > 0 && html`<span>${count(records, 'record')}</span>`}
      ${learners > 0 && html`<span>${count(learners, 'learner')}</span>`}
    </p>`
}

type Chosen = Readonly<Record<string, string | undefined>>

function showFilters(workbench: Workbench, chosen: Chosen, runs: readonly Run[]): VNode {
  const { rules, eid } = workbench
  const earlier = findEarlier(runs)
  const files = rules?.definition.files.map(({ fileType, title }) => [fileType, title] as const) ?? []
  const clear = recordsLink(workbench, { cause: chosen.cause })
  const hidden = chosen.cause !== undefined
  return html`<${Filters} action=${submissionLink(tokenOf(workbench), RECORDS)} keep=${{ eid, cause: chosen.cause }} clear=${clear}>
    ${
      !hidden &&
      html`<${Select} name="type" label="Severity" all="All" value=${chosen.type} options=${['Error', 'Warning']} />
      <${Select} name="file" label="File" all="All files" value=${chosen.file} options=${files} />
      <${Field} name="code" label="Code" value=${chosen.code} />`
    }
    <${Field} name="student" label="Learner" value=${chosen.student} />
    <${Field} name="course" label="Course" value=${chosen.course} />
    ${
      earlier !== undefined &&
      html`<label class="choice"><input type="checkbox" name="new" value="true" checked=${chosen.new !== undefined} />Only new since check ${earlier.runId}</label>`
    }
  <//>`
}

/** A finding with the record that it is about. */
interface Found {
  readonly finding: types.Finding
  readonly record: ReadonlyMap<string, string>
}

/** The most fields with a column each: more of them push what is wrong off the screen. */
const MOST_COLUMNS = 3

/**
 * The findings as a grid: line, key, the fields concerned, and the whole record one click away. The fields have a column
 * each if they are few; otherwise each row lists its own.
 */
function showGrid(
  results: readonly types.Finding[],
  columns: ReadonlyMap<string, readonly string[]>,
  rules: Catalogue | undefined,
): VNode {
  const records = results.map((finding) => ({
    finding,
    record: new Map(readRecord(finding.recordText ?? '', columns.get(finding.file ?? '')) ?? []),
  }))
  const all = [...new Set(results.flatMap((finding) => fieldsOf(finding, rules)))]
  const fields = all.length > MOST_COLUMNS ? [] : all
  const ownColumns = fields.map(
    (field): Column<Found> => [
      html`<span class="mono">${field}</span>`,
      ({ finding, record }) =>
        fieldsOf(finding, rules).includes(field)
          ? html`<span class="visually-hidden">Concerned: </span>${showValue(finding, record, field)}`
          : // A record of another file has no such field.
            record.has(field) && showValue(finding, record, field),
      {
        style: ({ finding }) => (fieldsOf(finding, rules).includes(field) ? 'fault mono' : 'mono'),
        label: field,
      },
    ],
  )
  const listed: Column<Found> = [
    'Fields',
    ({ finding, record }) =>
      fieldsOf(finding, rules).map(
        (field) =>
          html`<div><span class="soft">${field}</span> <span class="mono">${showValue(finding, record, field)}</span></div>`,
      ),
    { style: ({ finding }) => (fieldsOf(finding, rules).length > 0 ? 'fault fields' : 'fields') },
  ]
  return table<Found>(
    'Records with findings',
    records,
    [
      ['Line', ({ finding }) => finding.line, { style: 'number', label: 'Line' }],
      ['File', ({ finding }) => finding.file],
      ['Record', ({ finding }) => showKeys(finding, isHeader(finding, rules))],
      ...ownColumns,
      ...(all.length > fields.length ? [listed] : []),
      ['What is wrong', (found) => showWrong(found, rules), 'wrong'],
    ],
    {
      class: 'grid cards',
      row: ({ finding }) => (finding.errorType === 'Warning' ? { class: 'warned' } : {}),
    },
  )
}

const isHeader = ({ errorCode = '' }: types.Finding, rules: Catalogue | undefined): boolean =>
  rules?.byCode.get(errorCode)?.kind === 'header'

function showKeys({ localId, studentId, courseCode }: types.Finding, isOfHeader: boolean): VNode {
  return html`${isOfHeader ? html`<span class="soft">header</span>` : localId}
    ${studentId !== undefined && studentId !== localId && html`<br /><span class="soft">learner ${studentId}</span>`}
    ${courseCode !== undefined && html`<br /><span class="soft">course ${courseCode}</span>`}`
}

function showWrong({ finding, record }: Found, rules: Catalogue | undefined): VNode {
  const { errorCode = '', errorType = 'Error', errorDescription, recordText, field } = finding
  const whole = isHeader(finding, rules) ? 'Whole header' : 'Whole record'
  return html`${tag(errorType)} ${errorDescription} ${showCode(rules, errorCode)}
    ${recordText !== undefined && showWhole(whole, recordText, record, field)}`
}

/** The value of a field that a finding is about, or that its record has. */
function showValue(
  finding: types.Finding,
  record: ReadonlyMap<string, string>,
  field: string,
): VNode | string {
  const value = field === finding.field ? (finding.value ?? record.get(field)) : record.get(field)
  return value === undefined || value === '' ? html`<span class="soft">empty</span>` : shorten(value)
}

/** The field of a finding, or those of its rule. */
function fieldsOf({ field, errorCode = '' }: types.Finding, rules: Catalogue | undefined): readonly string[] {
  return field === undefined ? (rules?.byCode.get(errorCode)?.fields ?? []) : [field]
}

/** The most fields of a record that are listed; a longer one is shown as text. */
const MOST_LISTED = 500

function showWhole(
  title: string,
  text: string,
  record: ReadonlyMap<string, string>,
  faulty: string | undefined,
): VNode {
  return html`<details><summary>${title}</summary>${
    record.size === 0 || record.size > MOST_LISTED
      ? html`<pre tabindex="0">${text}</pre>`
      : html`<dl class="pairs">${[...record].map(
          ([name, value]) =>
            html`<dt class="mono">${name}</dt><dd>${name === faulty ? html`<mark>${value}</mark>` : value}</dd>`,
        )}</dl>`
  }</details>`
}
