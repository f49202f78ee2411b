import type * as types from '../../../client/src/types.ts'
import { count, formatNumber, formatOptional } from '../../foundation/text/format-number.ts'
import type { Complete, Having } from '../api.ts'
import { type Context, get, type Outcome, type Route, type Shown } from '../context.ts'
import { html, tag, type VNode, views } from '../html.ts'
import { cut, readList } from '../lists.ts'
import { shorten } from '../record-text.ts'
import { type Catalogue, type Rule, ruleLink, showCode, summarise, titlesOf } from '../rules.ts'
import { type Column, sortRows, table } from '../table.ts'
import { readOrigins } from './activity.ts'
import { findExplanation } from './explanations.ts'
import { FILTERS, findEarlier, findingsOf, readRuns } from './findings.ts'
import { findRepairs, markRepair, type Repairs, showRepairNotice, showUndo } from './repairs.ts'
import {
  type Checked,
  linkTo,
  ofCheck,
  pathOf,
  RECORDS,
  readExplanations,
  recordsLink,
  showStep,
  showVerdict,
  stepLink,
  type Workbench,
} from './workbench.ts'

export type Cause = Having<
  types.Cause,
  'key' | 'kind' | 'severity' | 'codes' | 'findings' | 'records' | 'learners' | 'sentence' | 'fix'
>

type CodeSummary = Having<types.CodeSummary, 'errorCode' | 'count'>

type Summary = Omit<types.ResultsSummary, 'codes' | 'notRun' | 'undecided'> & {
  readonly codes?: readonly CodeSummary[]
  readonly notRun?: readonly Complete<types.CheckNotRun>[]
  readonly undecided?: readonly Complete<types.ResultsSummaryUndecided>[]
}

const PERSONAL = { personal: true }

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

export const fixPages: readonly Route[] = [
  get('/submissions/:token/findings', ofCheck(showCauses), PERSONAL),
  get('/submissions/:token/findings/codes', ofCheck(showCodes), PERSONAL),
  get('/submissions/:token/findings/learners', ofCheck(showLearners), PERSONAL),
  get('/submissions/:token/findings.csv', downloadFindings, PERSONAL),
  get('/submissions/:token/marked.xlsx', download('/marked-files', 'marked.xlsx', XLSX), PERSONAL),
  get(
    '/submissions/:token/corrected.zip',
    download('/corrected-files', 'corrected-files.zip', 'application/zip'),
    PERSONAL,
  ),
]

const VIEWS = [
  ['/findings', 'By cause'],
  ['/findings/learners', 'By learner'],
  ['/findings/codes', 'By code'],
  [RECORDS, 'All records'],
] as const

/** The ways to look at findings. */
export function showViews(context: Context, current: string): VNode {
  const links = VIEWS.map(([path, name]) => [linkTo(context, path), name] as const)
  return views('Views of the findings', links, linkTo(context, current))
}

/** What to do with the findings as a whole. */
function showDownloads(context: Context, mayWrite: boolean): VNode {
  return html`<div class="no-print">
    <p class="actions">
      <a class="button quiet" href=${linkTo(context, '/marked.xlsx')} download>Download marked workbook</a>
      <a class="button quiet" href=${linkTo(context, '/corrected.zip')} download>Download corrected files</a>
      <a class="button quiet" href=${linkTo(context, '/findings.csv')} download>Download as CSV</a>
    </p>
    <p class="soft">The corrected files have what has one possible answer. The marked workbook has every finding beside its row${mayWrite && html`: correct it there, and <a href=${stepLink(context, 'files')}>send it back</a>`}.</p>
  </div>`
}

/** The causes shown at first. */
const CAUSES_SHOWN = 50

async function showCauses(workbench: Checked): Promise<Shown> {
  const { api, run, isOpen, isCurrent, mayWrite, explained } = workbench
  const found = (run.errorCount ?? 0) + (run.warningCount ?? 0)
  const [{ causes, note }, summary, runs, { explanations = [] }, origins, repairs] = await Promise.all([
    api.call<{ causes: readonly Cause[]; note?: string }>(findingsOf(workbench, '/causes')),
    api.call<Summary>(findingsOf(workbench, '/summary')),
    readRuns(workbench),
    readExplanations(workbench),
    mayWrite ? readOrigins(workbench) : undefined,
    mayWrite && isCurrent && found > 0 ? findRepairs(workbench) : undefined,
  ])
  const stateOf = (cause: Cause) => findExplanation(explanations, cause)?.state
  const { shown, more } = cut(workbench, causes, CAUSES_SHOWN, 'cause')
  const errors = causes.filter(({ severity }) => severity === 'Error').length
  const isExplained = note === undefined && causes.every((cause) => stateOf(cause) === 'Explained')
  const hasErrors = (run.errorCount ?? 0) > 0 || run.stoppedCount !== undefined
  const next =
    found === 0
      ? 'Nothing is left to fix.'
      : (explained?.open ?? []).length > 0
        ? 'No errors are left. Correct or explain the warnings first.'
        : isExplained
          ? 'No errors are left, and all warnings are explained.'
          : 'No errors are left, and the warnings need no explanation.'
  const earlier = findEarlier(runs)
  return showStep(workbench, 'fix', {
    title: 'Fix',
    content: html`
      ${showChecked(workbench, causes.length)}
      ${!hasErrors && isOpen && isCurrent && html`<p>${next} <a class="button" href=${stepLink(workbench, 'submit')}>Go on to submit</a></p>`}
      ${errors > 0 && html`<p>All are errors, unless they are called a warning. Begin at the top of a file: what follows from a cause disappears with it.</p>`}
      ${repairs !== undefined && showRepairNotice(workbench, repairs)}
      ${origins?.canUndo === true && showUndo(workbench)}
      ${showPartial(summary)}
      ${found > 0 && showDownloads(workbench, mayWrite)}
      ${found > 0 && showViews(workbench, '/findings')}
      ${
        earlier !== undefined &&
        html`<p class="soft">${found > 0 && html`<a href=${recordsLink(workbench, { new: 'true' })}>Only findings that check ${earlier.runId} did not have</a> · `}<a href=${linkTo(workbench, '/compare')}>What was fixed since</a></p>`
      }
      ${note !== undefined && html`<p>These findings were published without causes. See them <a href=${linkTo(workbench, '/findings/codes')}>by code</a>.</p>`}
      ${shown.length > 0 && listCauses(workbench, shown, stateOf, repairs)}
      ${more}
      ${showNotRun(summary, workbench)}`,
  })
}

/** What the check found, and whether the files are still those that it read. */
const showChecked = (workbench: Checked, causes?: number): (VNode | false)[] => [
  showVerdict(workbench.run, causes),
  showStale(workbench),
]

export function showStale(workbench: Workbench): VNode | false {
  const { isCurrent, isOpen } = workbench
  if (isCurrent || !isOpen) return false
  return html`<p class="problem">The files have changed since this check. <a href=${stepLink(workbench, 'check')}>Check them again</a> to see what is left.</p>`
}

/** The causes by file, in the order of the definition; in a file, those to fix first at the top. */
function listCauses(
  workbench: Workbench,
  causes: readonly Cause[],
  stateOf: (cause: Cause) => string | undefined,
  repairs: Repairs | 'pending' | undefined,
): VNode {
  const titles = titlesOf(workbench.rules)
  const order = [...titles.keys()]
  const placeOf = (file: string) => order.indexOf(resourceOf(file))
  const byFile = [...Map.groupBy(causes, ({ file = '' }) => file)].toSorted(
    ([one], [other]) => placeOf(one) - placeOf(other),
  )
  const learners: readonly Column<Cause>[] = causes.some((cause) => cause.learners > 0)
    ? [['Learners', (cause) => cause.learners > 0 && cause.learners, 'number']]
    : []
  const rows = byFile.flatMap(([file, group]): (Cause | VNode)[] => [
    html`<tr class="group"><th scope="rowgroup" colspan=${3 + learners.length}>${titles.get(resourceOf(file)) ?? file} <span class="soft">${file}</span></th></tr>`,
    ...group,
  ])
  return table<Cause>(
    'Causes',
    rows,
    [
      [
        'What is wrong, and what to do',
        (cause) => showCause(workbench, cause, stateOf(cause), repairs),
        'what',
      ],
      ['Rules', ({ codes }) => listCodes(codes, workbench), 'code'],
      ['Records', (cause) => cause.records > 0 && !isWider(cause) && cause.records, 'number'],
      ...learners,
    ],
    { class: 'causes cards' },
  )
}

/** What is wrong with a file as a whole is also found in records of others. */
const isWider = ({ kind, example, file }: Cause): boolean =>
  kind === 'file' || (example?.file !== undefined && example.file !== file)

/** The name in the definition of a file as findings name it, such as `return.xlsx/enrolments` or `enrolments.csv`. */
const resourceOf = (file: string): string => (file.split('/').at(-1) ?? '').replace(/\.[a-z]+$/, '')

/** The most rules that are listed for a cause. */
const MOST_RULES = 4

function listCodes(codes: readonly string[], { rules }: Workbench): VNode {
  const more = codes.length - MOST_RULES
  return html`${codes.slice(0, MOST_RULES).map((code, at) => html`${at > 0 && html`<br />`}${showCode(rules, code)}`)}${more > 0 && html`<br />and ${count(more, 'other')}`}`
}

function showCause(
  context: Workbench,
  cause: Cause,
  state: string | undefined,
  repairs: Repairs | 'pending' | undefined,
): VNode {
  const { key, kind, severity, sentence, fix, records, example } = cause
  return html`<h2><a href=${kind === 'file' && records === 0 ? stepLink(context, 'files') : recordsLink(context, { cause: key })}>${sentence}</a></h2>
    <p>${fix}${markRepair(key, repairs)}${severity === 'Warning' && html` ${tag(severity)}`}${
      (context.mayWrite || state === 'Explained') &&
      severity === 'Warning' &&
      html` <a href=${recordsLink(context, { cause: key })}>${describeState(state)}<span class="visually-hidden">: ${sentence}</span></a>`
    }</p>
    ${
      example !== undefined &&
      records > 0 &&
      html`<p class="example soft">${isWider(cause) ? `Found in ${count(records, 'record')}, such as ${example.file}, line` : 'Line'} ${formatOptional(example.line)}${example.field !== undefined && html`: ${example.field}`}${
        example.value !== undefined && html` <q class="mono">${shorten(example.value, 60)}</q>`
      }</p>`
    }`
}

function describeState(state: string | undefined): string {
  if (state === 'Explained') return 'Explained'
  return state === 'Reopened' ? 'Explain again' : 'Explain'
}

/** Says which codes have more findings than the list of records. */
function showPartial({ codes = [] }: Summary): VNode | false {
  const partial = codes.filter(({ stored }) => stored !== undefined)
  if (partial.length === 0) return false
  const codesOf = count(partial.length, 'code')
  return html`<details>
    <summary>The records of ${codesOf} are partial: they are too many to store. The counts are complete.</summary>
    <ul>${partial.map(
      ({ errorCode, stored = 0, count: found }) =>
        html`<li>${errorCode}: the first ${formatNumber(stored)} of ${formatNumber(found)}</li>`,
    )}</ul>
  </details>`
}

function showNotRun({ notRun = [], undecided = [] }: Summary, { rules }: Workbench): VNode[] {
  const partly = new Set(undecided.map(({ errorCode }) => errorCode)).size
  const list = (summary: string, items: readonly VNode[]) =>
    html`<details><summary>${summary}</summary><ul>${items}</ul></details>`
  const whole = notRun.map(
    ({ errorCode, reason, blocks }) =>
      html`<li>${showCode(rules, errorCode)}: ${reason}${blocks && ' The return cannot be submitted without it.'}</li>`,
  )
  const byField = [...Map.groupBy(undecided, ({ file, field }) => `${file}\n${field}`).values()]
  const unknown = byField
    .toSorted((one, other) => mostRecords(other) - mostRecords(one))
    .map((group) => showUnknown(group, rules))
  return [
    ...(notRun.length > 0 ? [list(`${count(notRun.length, 'rule')} could not run`, whole)] : []),
    ...(partly > 0 ? [list(`${count(partly, 'rule')} did not run for some records`, unknown)] : []),
  ]
}

type Undecided = NonNullable<Summary['undecided']>

const mostRecords = (group: Undecided): number => Math.max(...group.map(({ records }) => records))

/** The rules that a field kept from running, as one sentence: it can be many. */
function showUnknown(group: Undecided, rules: Catalogue | undefined): VNode {
  const [first] = group
  const codes = group.map(
    ({ errorCode, records }, index) =>
      html`${index > 0 && ', '}${showCode(rules, errorCode)} (${count(records, 'record')})`,
  )
  return html`<li>${first?.field} of ${titlesOf(rules).get(first?.file ?? '') ?? first?.file} has unknown values. Not run because of them: ${codes}.</li>`
}

/** The codes shown at first: a definition may have thousands. */
const CODES_SHOWN = 25

async function showCodes(workbench: Checked): Promise<Shown> {
  const summary = await workbench.api.call<Summary>(findingsOf(workbench, '/summary'))
  const { codes = [] } = summary
  const ordered = codes.toSorted((a, b) => b.count - a.count || (a.errorCode < b.errorCode ? -1 : 1))
  const ruleOf = ({ errorCode }: CodeSummary) => workbench.rules?.byCode.get(errorCode)
  const columns: readonly Column<CodeSummary>[] = [
    [
      'Code',
      (kind) => showKind(workbench, kind, ruleOf(kind)),
      { style: 'code', sort: (kind) => kind.errorCode },
    ],
    ['Severity', ({ errorType = '' }) => tag(errorType), { sort: ({ errorType }) => errorType }],
    ['Findings', (kind) => kind.count, 'number'],
    ...(codes.some(({ students = 0 }) => students > 0)
      ? [['Learners', ({ students }) => students, 'number'] satisfies Column<CodeSummary>]
      : []),
    ['What is wrong', (kind) => explainKind(ruleOf(kind), workbench.rules)],
    ['How to fix it', (kind) => ruleOf(kind)?.fix],
  ]
  const { shown, more } = cut(workbench, sortRows(workbench, ordered, columns), CODES_SHOWN, 'code')
  return showStep(workbench, 'fix', {
    title: 'Findings by code',
    content: html`
      ${showChecked(workbench)}
      ${showPartial(summary)}
      ${showViews(workbench, '/findings/codes')}
      ${table('Findings by code', shown, columns, {
        caption: workbench.query.has('sort') ? undefined : 'Most frequent first',
        sortedOn: workbench,
      })}
      ${more}
      ${showNotRun(summary, workbench)}`,
  })
}

function showKind(context: Context, { errorCode }: CodeSummary, rule: Rule | undefined): VNode {
  return html`<a href=${recordsLink(context, { code: errorCode })}>${errorCode}</a>${rule?.replaces !== undefined && html`<br /><span class="soft">official ${rule.replaces}</span>`}`
}

const explainKind = (rule: Rule | undefined, rules: Catalogue | undefined): VNode | undefined =>
  rule &&
  html`${summarise(rule.message)} <a href=${ruleLink(rules?.definition.name ?? '', rule.code)}>The rule</a>`

const LEARNERS = 50

async function showLearners(workbench: Checked): Promise<Shown> {
  const path = findingsOf(workbench, '/learners')
  const { results, totalCount, pager } = await readList<types.LearnersPageResults>(workbench, path, LEARNERS)
  return showStep(workbench, 'fix', {
    title: 'Findings by learner',
    content: html`
      ${showChecked(workbench)}
      ${showViews(workbench, '/findings/learners')}
      ${table(
        'Learners',
        results,
        [
          [
            'Learner',
            ({ studentId }) =>
              html`<a href=${recordsLink(workbench, { student: studentId })}>${studentId}</a>`,
          ],
          ['Findings', ({ findings }) => findings, 'number'],
        ],
        {
          class: 'narrow',
          caption: `${count(totalCount, 'learner')}, those with most findings first`,
          empty: totalCount === 0 ? 'No finding is about a learner.' : undefined,
        },
      )}
      ${pager}`,
  })
}

/** Passes on a file of the API. */
function download(path: string, name: string, type: string) {
  return async (context: Context): Promise<Outcome> => {
    return { download: name, type, body: await context.api.stream(pathOf(context, path)) }
  }
}

const CSV = 'text/csv'

async function downloadFindings(context: Context): Promise<Outcome> {
  const filters = Object.entries(FILTERS).map(([name, filter]) => [filter, context.query.get(name)?.trim()])
  const call = { query: Object.fromEntries(filters), headers: { accept: CSV } }
  const body = await context.api.stream(findingsOf(context), call)
  // Without a byte order mark, spreadsheet programs show other letters instead of macrons.
  body.unshift('\ufeff', 'utf8')
  return { download: 'findings.csv', type: `${CSV}; charset=utf-8`, body }
}
