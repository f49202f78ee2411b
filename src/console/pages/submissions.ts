import type * as types from '../../../client/src/types.ts'
import { ApiProblem } from '../api.ts'
import { type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { Field, Select } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { link, submissionLink } from '../links.ts'
import { readList, readPage } from '../lists.ts'
import { Filters, PostForm } from '../post-form.ts'
import { type Column, sortRows, table } from '../table.ts'
import { showTime, Until } from '../time.ts'
import { isPast, nameState, showStanding, showWindow, standingOf } from './states.ts'
import {
  coversFiles,
  nameReturn,
  type Run,
  readWorkbench,
  type Submission,
  stepLink,
  WRITING,
} from './workbench.ts'

const PAGE_SIZE = 50

export const submissionPages: readonly Route[] = [
  get('/submissions', listSubmissions),
  post('/submissions', createSubmission, listSubmissions, WRITING),
  get('/submissions/:token', openSubmission),
]

/** A line of the list: a return, with its submission if there is one. */
type Line = types.OwnReturn & { readonly submission?: Submission | undefined }

async function listSubmissions(context: Context): Promise<Shown> {
  const { api, principal, query, eid } = context
  const eids = [...principal.eids].sort()
  if (eid === undefined) {
    return {
      title: 'Submissions',
      content: html`<h1>Submissions</h1>
        <p class="problem">Your sign-in covers no organisation, so there are no submissions to show. Ask the operator
          of this service to have it cover yours.</p>`,
    }
  }
  const head = html`<h1>Submissions</h1>
    ${
      eids.length > 1 &&
      html`<${Filters} action="/console/submissions" keep=${{ sort: query.get('sort') ?? undefined }}>
        <${Select} name="eid" label="Organisation" value=${eid} options=${eids} />
      <//>`
    }`
  const read = await Promise.all([
    readList<Submission>(context, '/submissions', PAGE_SIZE),
    api.call<types.ReturnPage>('/returns', { query: { pageSize: 100 } }),
  ]).catch(takeRefusal)
  // One organisation is suspended, or not covered; the others can be chosen.
  if (read instanceof ApiProblem) {
    const { status, detail } = read.problem
    return { title: 'Submissions', status, content: html`${head}<p class="problem">${detail}</p>` }
  }
  const [{ results, pager }, returns] = read
  const expected = returns.results ?? []
  const isWhole = pager === false && expected.length === returns.totalCount
  const lines =
    readPage(query) === 1 ? joinLines(expected, results) : results.map((submission) => lineOf(submission))
  const mayWrite = principal.scopes.has('submissions:write')
  return {
    title: 'Submissions',
    content: html`${head}
      ${
        mayWrite &&
        expected.length === 0 &&
        html`<${PostForm} class="row" action=${link('/console/submissions', { eid })}>
        <${Field} name="returnId" label="Return, such as 202512" required value=${query.get('returnId') ?? ''} />
        <button type="submit">Start a submission</button>
      <//>`
      }
      ${showLines(context, lines, eid, isWhole)}
      ${pager}`,
  }
}

function takeRefusal(error: unknown): ApiProblem {
  if (error instanceof ApiProblem && error.problem.status === 401) return error
  throw error
}

/** A return and its submission; what only the submission says is that of its return. */
function lineOf(submission: Submission | undefined, known: types.OwnReturn = {}): Line {
  if (submission === undefined) return { name: nameReturn({ returnId: '', ...known }), ...known }
  const { submissionToken, dueDate, reopenedUntil, validationRun } = submission
  const { errorCount, warningCount }: Partial<Run> = (coversFiles(submission) && validationRun) || {}
  const returnStatus = standingOf(submission)
  const own = { submissionToken, dueDate, reopenedUntil, returnStatus, errorCount, warningCount }
  return { ...(own as types.OwnReturn), name: nameReturn(submission), ...known, submission }
}

/** The returns with their submissions, by what is to be done first, and then the other submissions. */
function joinLines(returns: readonly types.OwnReturn[], submissions: readonly Submission[]): readonly Line[] {
  const byToken = new Map(submissions.map((each) => [each.submissionToken, each]))
  const lines = returns.map((known) => lineOf(byToken.get(known.submissionToken ?? ''), known))
  const joined = new Set(returns.map(({ submissionToken }) => submissionToken))
  const due = ({ dueDate = '' }: Line) => Date.parse(dueDate)
  const others = submissions
    .filter(({ submissionToken }) => !joined.has(submissionToken))
    .map((submission) => lineOf(submission))
  return [
    ...lines.toSorted((one, other) => rank(one) - rank(other) || due(one) - due(other)),
    ...others.toSorted((one, other) => Number(isDeleted(one)) - Number(isDeleted(other))),
  ]
}

const isDeleted = ({ submission }: Line): boolean => submission?.submissionStatus === 'Cancelled'

/** What is overdue first, then what is open by when it is due, then what is done or missed; what is not open is last. */
function rank({ window, returnStatus, reopenedUntil = '' }: Line): number {
  if (window === 'NotOpen') return 4
  if (returnStatus === 'Submitted') return 3
  if (returnStatus === 'Reopened') return isPast(reopenedUntil) ? 2 : 0
  return window === 'Overdue' ? 0 : window === 'Open' ? 1 : 2
}

/** @param isWhole whether they are all that there are, so that they can be ordered */
function showLines(context: Context, lines: readonly Line[], eid: string, isWhole: boolean): VNode {
  const sortedOn = isWhole ? context : undefined
  const mayWrite = context.principal.scopes.has('submissions:write')
  const showName = ({ submissionToken: token, name }: Line) =>
    token === undefined ? name : html`<a href=${link(submissionLink(token), { eid })}>${name}</a>`
  const showStart = ({ submissionToken, window, returnId, name }: Line) =>
    mayWrite &&
    submissionToken === undefined &&
    (window === 'Open' || window === 'Overdue') &&
    html`<${PostForm} action=${link('/console/submissions', { eid })} keep=${{ returnId }}>
      <button type="submit" class="quiet">Start<span class="visually-hidden"> ${name}</span></button>
    <//>`
  const columns: readonly Column<Line>[] = [
    [
      'Return',
      (line) =>
        html`${showName(line)}${line.notes !== undefined && html`<br /><span class="soft">${line.notes}</span>`}`,
      { sort: ({ name }) => name },
    ],
    ...(lines.some(({ dueDate }) => dueDate !== undefined) ? [DUE] : []),
    ['State', showStanding, { sort: ({ returnStatus = '' }) => nameState('submission', returnStatus) }],
    ['Errors', ({ errorCount }) => errorCount, 'number'],
    ['Warnings', ({ warningCount }) => warningCount, 'number'],
    ['Checked', (line) => showTime(checkedAt(line)), { sort: checkedAt }],
    ['', showStart, { hidden: 'Start' }],
  ]
  return table<Line>('Submissions', sortRows(sortedOn, lines, columns), columns, {
    caption: `Organisation ${eid}`,
    empty: `Organisation ${eid} has no submissions yet.`,
    row: (line) => (isDeleted(line) ? { class: 'soft' } : {}),
    sortedOn,
  })
}

const DUE: Column<Line> = [
  'Due',
  (line) => line.dueDate !== undefined && html`<${Until} at=${line.dueDate} /> ${showWindow(line)}`,
  { sort: ({ dueDate }) => dueDate },
]

function checkedAt({ submission }: Line): string | undefined {
  const run = submission?.validationRun
  return run?.status === 'Processed' ? run.dateCompleted : undefined
}

async function createSubmission({ api, request, eid }: Context): Promise<Outcome> {
  const form = await readForm(request)
  const created = await api.call<Submission>('/submissions', {
    method: 'POST',
    body: { returnId: (form.get('returnId') ?? '').trim() },
  })
  return { redirect: link(submissionLink(created.submissionToken), { eid }) }
}

/** Leads to the step where the person should go on. */
async function openSubmission(context: Context): Promise<Outcome> {
  const { step } = await readWorkbench(context)
  return { redirect: stepLink(context, step) }
}
