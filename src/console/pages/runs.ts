import type * as types from '../../../client/src/types.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { PostForm } from '../post-form.ts'
import { orderFiles, titlesOf } from '../rules.ts'
import { table } from '../table.ts'
import { showTime } from '../time.ts'
import { findEarlier, findingsOf, readRuns } from './findings.ts'
import { nameState, showState } from './states.ts'
import {
  hasFindings,
  isGoing,
  linkTo,
  pathOf,
  type Run,
  readWorkbench,
  type Submission,
  showStep,
  showVerdict,
  stepLink,
  type Workbench,
  WRITING,
} from './workbench.ts'

export const runPages: readonly Route[] = [
  get('/submissions/:token/check', showCheck),
  post('/submissions/:token/runs', requestRun, showCheck, WRITING),
  get('/submissions/:token/progress', followRun),
  post('/submissions/:token/cancel-run', cancelRun, showCheck, WRITING),
  get('/submissions/:token/compare', compareRuns, { personal: true }),
]

async function showCheck(context: Context): Promise<Shown> {
  const [workbench, runs] = await Promise.all([readWorkbench(context), readRuns(context)])
  const { run } = workbench
  return showStep(workbench, 'check', {
    title: 'Check',
    content: html`
      ${run === undefined ? html`<p>No check is stored.</p>` : showRun(workbench, run)}
      ${(run === undefined || !isGoing(run)) && showStart(workbench)}
      ${runs.length > 0 && html`<h2>Checks so far</h2>`}
      ${runs.length > 0 && runTable(context, runs)}`,
  })
}

function showStart(workbench: Workbench): VNode | false {
  const { mayWrite, missing, submission, isCurrent } = workbench
  if (!mayWrite || (submission.files ?? []).length === 0) return false
  return html`<${PostForm} id="check" action=${linkTo(workbench, '/runs')}>
    ${missing.length > 0 && html`<p>Missing: ${missing.map(({ title }) => title).join(', ')}. Checks that need ${missing.length === 1 ? 'it' : 'them'} do not run.</p>`}
    <p><button type="submit" class=${isCurrent ? 'quiet' : undefined}>${isCurrent ? 'Check the files again' : 'Check the files'}</button></p>
  <//>`
}

function showRun(workbench: Workbench, run: Run): VNode {
  const { mayWrite, isCurrent, isOpen } = workbench
  if (isGoing(run)) {
    return html`<div data-follow=${linkTo(workbench, '/progress')}
      data-done=${stepLink(workbench, 'fix')}>
      <p class="verdict" data-text role="status">${describeProgress(run)}</p>
      <progress aria-label="Progress of the check"></progress>
      ${showFileProgress(workbench, run)}
      <noscript><p><a href=${stepLink(workbench, 'check')}>Refresh</a></p></noscript>
      ${
        mayWrite &&
        html`<${PostForm} action=${linkTo(workbench, '/cancel-run')} keep=${{ run: run.runId }}>
          <p><button type="submit" class="quiet">Cancel the check</button></p>
        <//>`
      }
    </div>`
  }
  if (run.status !== 'Processed')
    return html`<p class="problem">The last check did not finish: ${nameState('check', run.status).toLowerCase()}. ${run.reason ?? ''}</p>`
  return html`${showVerdict(run)}
    ${!isCurrent && html`<p>The files have changed since this check.</p>`}
    ${
      hasFindings(run)
        ? html`<p><a class="button" href=${stepLink(workbench, 'fix')}>See the findings</a></p>`
        : isCurrent &&
          isOpen &&
          html`<p><a class="button" href=${stepLink(workbench, 'submit')}>Go on to submit</a></p>`
    }`
}

/** How many records of each file have been read. */
function showFileProgress({ submission, rules }: Workbench, run: Run): VNode {
  const progress = new Map(listFileProgress(run).map(({ file, text }) => [file, text]))
  const titles = titlesOf(rules)
  return table(
    'Progress by file',
    orderFiles(submission.files ?? [], titles),
    [
      ['File', ({ file }) => titles.get(file) ?? file],
      [
        'Records read',
        ({ file, records }) =>
          html`<span data-file=${file}>${progress.get(file) ?? describeRead(0, records)}</span>`,
        'number',
      ],
    ],
    { class: 'narrow' },
  )
}

const listFileProgress = ({ progress }: Run) =>
  (progress?.files ?? []).map(({ file = '', done = 0, total = 0 }) => ({
    file,
    text: describeRead(done, total),
  }))

const describeRead = (done: number, total: number): string =>
  `${formatNumber(done)} of ${formatNumber(total)}`

function describeProgress(run: Run): string {
  if (run.status === 'Queued') return 'The check is waiting for its turn.'
  const { stage, done, total } = run.progress ?? {}
  if (done === undefined || total === undefined) return 'The check is running.'
  return `${stage ?? 'The check is running'}: ${formatNumber(done)} of ${formatNumber(total)} records.`
}

function runTable(context: Context, runs: readonly Run[]): VNode {
  const earlier = findEarlier(runs)
  const isEarlier = ({ runId }: Run) => runId === earlier?.runId
  return table<Run>(
    'Checks so far',
    runs,
    [
      ['Check', ({ runId }) => runId, { style: 'number', label: 'Check' }],
      ['When', ({ dateCompleted, dateReceived }) => showTime(dateCompleted ?? dateReceived)],
      ['State', ({ status }) => showState('check', status)],
      ['Errors', ({ errorCount }) => errorCount, 'number'],
      ['Warnings', ({ warningCount }) => warningCount, 'number'],
      [
        '',
        (run) => isEarlier(run) && html`<a href=${linkTo(context, '/compare')}>compare with the newest</a>`,
        { hidden: 'Comparison' },
      ],
    ],
    { class: 'narrow cards' },
  )
}

async function requestRun(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context, '/validation-runs'), { method: 'POST' })
  return { redirect: stepLink(context, 'check') }
}

async function followRun(context: Context): Promise<Outcome> {
  const { validationRun: run } = await context.api.call<Submission>(pathOf(context))
  if (run === undefined) return { data: { state: 'None', text: '' } }
  const { done, total } = run.progress ?? {}
  return {
    data: { state: run.status, text: describeProgress(run), done, total, files: listFileProgress(run) },
  }
}

async function cancelRun(context: Context): Promise<Outcome> {
  const run = (await readForm(context.request)).get('run') ?? ''
  await context.api.call(pathOf(context, `/validation-runs/${encodeURIComponent(run)}`), { method: 'DELETE' })
  return { redirect: stepLink(context, 'check') }
}

/** The most findings of each kind in the comparison. */
const COMPARED = 50

async function compareRuns(context: Context): Promise<Shown> {
  const { api } = context
  const workbench = await readWorkbench(context)
  const kinds = [
    { status: 'new', name: 'New', style: 'error' },
    { status: 'fixed', name: 'Fixed', style: 'good' },
    { status: 'open', name: 'Still open', style: 'warning' },
  ] as const
  const shown = await Promise.all(
    kinds.map(async (kind) => {
      const changes = await api.call<types.ResultsChanges>(findingsOf(context, '/changes'), {
        query: { status: kind.status, pageSize: COMPARED },
      })
      return {
        ...kind,
        from: changes.from,
        to: changes.to,
        partial: changes.partial === true,
        number: changes[`${kind.status}Count`] ?? 0,
        entries: changes.results ?? [],
      }
    }),
  )
  return showStep(workbench, 'check', {
    title: 'Two checks compared',
    content: html`
      <h2>Check ${shown[0]?.from} and check ${shown[0]?.to}</h2>
      <p class="verdict">${shown.map(
        ({ name, style, number }, index) =>
          html`${index > 0 && ', '}<span class=${style}>${name}: ${formatNumber(number)}</span>`,
      )}</p>
      ${
        shown.some(({ partial }) => partial) &&
        html`<p>Not all findings of these checks are stored: one that only one of them stores counts as new or fixed.</p>`
      }
      <div class="side-by-side">${shown.map(
        ({ name, style, number, entries }) => html`<section>
          <h2 class=${style}>${name}</h2>
          ${entries.map((entry) => showCompared(entry, workbench))}
          ${number > entries.length && html`<p class="soft">The first ${entries.length} of ${formatNumber(number)}.</p>`}
        </section>`,
      )}</div>`,
  })
}

function showCompared(
  { errorCode, errorDescription, fileType, localId }: types.ValidationEntry,
  { rules }: Workbench,
): VNode {
  const file = rules?.definition.files.find((each) => each.fileType === fileType)
  const place = [file?.title ?? fileType, localId].filter(Boolean).join(' · ')
  return html`<p><strong>${errorCode}</strong> ${errorDescription} <span class="soft">${place}</span></p>`
}
