import type * as types from '../../../client/src/types.ts'
import { formatOptional } from '../../foundation/text/format-number.ts'
import { ApiProblem } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { Field, Select } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { link, readPage, submissionLink } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { Pager, Table } from '../table.ts'
import { Time, Until } from '../time.ts'
import { showStanding, showWindow } from './standing.ts'
import { describeStatus, nameReturn, readWorkbench, type Submission, stepLink } from './workbench.ts'

const PAGE_SIZE = 50

export const submissionPages: readonly Route[] = [
  { method: 'GET', path: '/submissions', handle: listSubmissions },
  {
    method: 'POST',
    path: '/submissions',
    handle: createSubmission,
    again: listSubmissions,
    scope: 'submissions:write',
  },
  { method: 'GET', path: '/submissions/:token', handle: openSubmission },
]

interface Page {
  readonly results: readonly Submission[]
  readonly totalCount: number
}

/** A line of the list: a return, a submission, or both. */
interface Line {
  readonly known?: types.OwnReturn
  readonly submission?: Submission | undefined
}

async function listSubmissions(context: Context): Promise<Shown> {
  const { api, principal, query, eid } = context
  const eids = [...principal.eids].sort()
  if (eid === undefined) {
    return {
      title: 'Submissions',
      content: html`<h1>Submissions</h1>
        <p class="problem">Your key covers no organisation, so there are no submissions to show. The operator of this
          service creates a key that covers yours.</p>`,
    }
  }
  const page = readPage(query)
  const head = html`<h1>Submissions</h1>
    ${
      eids.length > 1 &&
      html`<form class="row" method="get" action="/console/submissions" data-live>
        <${Select} name="eid" label="Organisation" value=${eid} options=${eids} />
        <button type="submit">Show</button>
      </form>`
    }`
  const read = await Promise.all([
    api.call<Page>('/submissions', { query: { page, pageSize: PAGE_SIZE } }),
    api.call<types.ReturnPage>('/returns', { query: { pageSize: 100 } }),
  ]).catch(takeRefusal)
  // One organisation is suspended, or not covered; the others can be chosen.
  if (read instanceof ApiProblem) {
    const { status, detail } = read.problem
    return { title: 'Submissions', status, content: html`${head}<p class="problem">${detail}</p>` }
  }
  const [{ results, totalCount }, returns] = read
  const expected = returns.results ?? []
  const lines = page === 1 ? joinLines(expected, results) : results.map((submission) => ({ submission }))
  const mayWrite = principal.scopes.has('submissions:write')
  return {
    title: 'Submissions',
    content: html`${head}
      ${
        mayWrite &&
        expected.length === 0 &&
        html`<${PostForm} class="row" action="/console/submissions" eid=${eid}>
        <${Field} name="returnId" label="Return, such as 202512" required value=${query.get('returnId') ?? ''} />
        <button type="submit">Start a submission</button>
      <//>`
      }
      ${lines.length === 0 ? html`<p>Organisation ${eid} has no submissions yet.</p>` : showLines(lines, eid, mayWrite)}
      <${Pager} page=${page} pages=${Math.ceil(totalCount / PAGE_SIZE)} to=${(number: number) => link('/console/submissions', { eid, page: number })} />`,
  }
}

function takeRefusal(error: unknown): ApiProblem {
  if (error instanceof ApiProblem && error.problem.status === 401) return error
  throw error
}

/** The returns with their submissions, by what is to be done first, and then the other submissions. */
function joinLines(returns: readonly types.OwnReturn[], submissions: readonly Submission[]): readonly Line[] {
  const byToken = new Map(submissions.map((each) => [each.submissionToken, each]))
  const lines = returns.map((known) => ({ known, submission: byToken.get(known.submissionToken ?? '') }))
  const joined = new Set(returns.map(({ submissionToken }) => submissionToken))
  const due = ({ known }: Line) => Date.parse(known?.dueDate ?? '')
  const others = submissions.filter(({ submissionToken }) => !joined.has(submissionToken))
  return [
    ...lines.toSorted((one, other) => rank(one) - rank(other) || due(one) - due(other)),
    ...others
      .toSorted((one, other) => Number(isDeleted(one)) - Number(isDeleted(other)))
      .map((submission) => ({ submission })),
  ]
}

const isDeleted = (submission: Submission | undefined): boolean =>
  submission?.submissionStatus === 'Cancelled'

/** What is overdue first, then what is open by when it is due, then what is done or missed; what is not open is last. */
function rank({ known = {} }: Line): number {
  const { window, returnStatus } = known
  if (window === 'NotOpen') return 4
  if (returnStatus === 'Reopened') return 0
  if (returnStatus === 'Submitted') return 3
  return window === 'Overdue' ? 0 : window === 'Open' ? 1 : 2
}

const COLUMNS = [
  'Return',
  'Due',
  'State',
  { name: 'Errors', number: true },
  { name: 'Warnings', number: true },
  'Checked',
  { name: 'Start', hidden: true },
]

function showLines(lines: readonly Line[], eid: string, mayWrite: boolean): VNode {
  return html`<${Table} region class="cards" label="Submissions" caption=${`Organisation ${eid}`} columns=${COLUMNS}>
    ${lines.map(({ known, submission }) => {
      const token = known?.submissionToken ?? submission?.submissionToken
      const name = known?.name ?? nameReturn(submission ?? { returnId: known?.returnId ?? '' })
      const run = submission?.validationRun
      const canStart = token === undefined && (known?.window === 'Open' || known?.window === 'Overdue')
      return html`<tr class=${isDeleted(submission) ? 'soft' : undefined}>
        <th scope="row">${token === undefined ? name : html`<a href=${link(submissionLink(token), { eid })}>${name}</a>`}${known?.notes !== undefined && html`<br /><span class="soft">${known.notes}</span>`}</th>
        <td class="when"><${Until} at=${known?.dueDate ?? submission?.dueDate} zone=${known?.timeZone} /> ${known !== undefined && showWindow(known, known.returnStatus === 'Submitted')}</td>
        <td>${showState(known, submission)}</td>
        <td class="number">${formatOptional(known?.errorCount ?? run?.errorCount)}</td>
        <td class="number">${formatOptional(known?.warningCount ?? run?.warningCount)}</td>
        <td class="when"><${Time} at=${run?.dateCompleted} /></td>
        <td>${
          canStart &&
          mayWrite &&
          html`<${PostForm} action="/console/submissions" eid=${eid}>
            <input type="hidden" name="returnId" value=${known?.returnId} /><button type="submit" class="quiet">Start<span class="visually-hidden"> ${name}</span></button>
          <//>`
        }</td>
      </tr>`
    })}
  <//>`
}

function showState(known: types.OwnReturn | undefined, submission: Submission | undefined): VNode | string {
  const reopenedUntil = submission?.reopenedUntil
  if (known !== undefined) return showStanding(known)
  if (reopenedUntil !== undefined) return showStanding({ returnStatus: 'Reopened', reopenedUntil })
  return describeStatus(submission?.submissionStatus ?? '')
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
