import { count, formatOptional } from '../../foundation/text/format-number.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { Select } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { link, readPage, submissionLink } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { Pager, Table } from '../table.ts'
import { Time } from '../time.ts'
import { showReturns } from './returns.ts'
import { describeStatus, nameReturn, readWorkbench, type Submission, stepLink } from './workbench.ts'

interface Page<Item> {
  readonly page: number
  readonly pageSize: number
  readonly results: readonly Item[]
  readonly totalCount: number
}

const PAGE_SIZE = 50

export const submissionPages: readonly Route[] = [
  { method: 'GET', path: '/submissions', handle: listSubmissions },
  { method: 'POST', path: '/submissions', handle: createSubmission },
  { method: 'GET', path: '/submissions/:token', handle: openSubmission },
]

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
  const [list, returns] = await Promise.all([
    api.call<Page<Submission>>('/submissions', { query: { page, pageSize: PAGE_SIZE } }),
    page === 1 && showReturns(context),
  ])
  const mayWrite = principal.scopes.has('submissions:write')
  return {
    title: 'Submissions',
    content: html`<h1>Submissions</h1>
      ${
        eids.length > 1 &&
        html`<form class="row" method="get" action="/console/submissions" data-live>
          <${Select} name="eid" label="Organisation" value=${eid} options=${eids} />
          <button type="submit">Show</button>
        </form>`
      }
      ${
        mayWrite &&
        returns === false &&
        html`<${PostForm} class="row" action="/console/submissions" eid=${eid}>
        <label>Return<input name="returnId" required maxlength="64" value=${query.get('returnId') ?? ''} placeholder="202512" /></label>
        <button type="submit">Start a submission</button>
      <//>`
      }
      ${returns}
      ${list.totalCount === 0 && html`<p>Organisation ${eid} has no submissions yet.</p>`}
      ${list.results.length > 0 && showSubmissions(list, eid)}
      <${Pager} page=${page} pages=${Math.ceil(list.totalCount / PAGE_SIZE)} to=${(number: number) => link('/console/submissions', { eid, page: number })} />`,
  }
}

const SUBMISSION_COLUMNS = [
  'Return',
  'State',
  { name: 'Errors', number: true },
  { name: 'Warnings', number: true },
  'Started',
  'Checked',
]

function showSubmissions({ results, totalCount }: Page<Submission>, eid: string): VNode {
  const caption = `${count(totalCount, 'submission')} of organisation ${eid}`
  return html`<${Table} region class="cards" label="Submissions" caption=${caption} columns=${SUBMISSION_COLUMNS}>
    ${results.map((submission) => {
      const { submissionToken, submissionStatus, dateCreated, validationRun: run } = submission
      const at = link(submissionLink(submissionToken), { eid })
      return html`<tr>
        <th scope="row"><a href=${at}>${nameReturn(submission)}</a></th>
        <td>${describeStatus(submissionStatus)}</td>
        <td class="number">${formatOptional(run?.errorCount)}</td>
        <td class="number">${formatOptional(run?.warningCount)}</td>
        <td class="when"><${Time} at=${dateCreated} /></td>
        <td class="when"><${Time} at=${run?.dateCompleted} /></td>
      </tr>`
    })}
  <//>`
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
