import { actorOf } from '../../api/access/principal.ts'
import { EMPTY_RETURN, isEmptyReturn } from '../../foundation/text/empty-return.ts'
import { count } from '../../foundation/text/format-number.ts'
import { type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { link } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { orderFiles, titlesOf } from '../rules.ts'
import { table } from '../table.ts'
import { showTime, Until } from '../time.ts'
import { type Origins, readOrigins, showSender } from './activity.ts'
import { readReceipt, receiptLink } from './receipt.ts'
import { REOPENED, reopenSubmission, showReopenForm } from './returns.ts'
import { isPast } from './states.ts'
import {
  isPublished,
  linkTo,
  listObstacles,
  pathOf,
  readExplanations,
  readWorkbench,
  type Submission,
  showStep,
  stepLink,
  tokenOf,
  type Workbench,
  WRITING,
} from './workbench.ts'

export const submitPages: readonly Route[] = [
  get('/submissions/:token/submit', showSubmit),
  post('/submissions/:token/submit', submit, showSubmit, WRITING),
  post('/submissions/:token/reopen', reopen, showSubmit, { scope: 'operate' }),
  get('/submissions/:token/delete', confirmDelete, WRITING),
  post('/submissions/:token/delete', deleteSubmission, confirmDelete, WRITING),
]

async function showSubmit(context: Context): Promise<Shown> {
  const workbench = await readWorkbench(context)
  const { submissionStatus: status } = workbench.submission
  return showStep(workbench, 'submit', {
    title: 'Submit',
    content:
      status === 'Submitted'
        ? await showSubmitted(workbench)
        : workbench.isOpen
          ? await showOpen(workbench)
          : showClosed(workbench.submission),
  })
}

/** Why it cannot be submitted any more, and what can be done. */
function showClosed(submission: Submission): VNode {
  if (isPublished(submission))
    return html`<p>A command published these findings. The submission has no files here, so it is not submitted here.</p>`
  const { closeWindowDate: closed, reopenedUntil } = submission
  if (closed === undefined || !isPast(closed))
    return html`<p>This submission has expired and can no longer be submitted. Start a new one for the return.</p>`
  return reopenedUntil === undefined
    ? html`<p>The return closed <${Until} at=${closed} />, and this submission was not submitted. Ask the agency for a later closing date.</p>`
    : html`<p>This submission was not submitted again in the time for which it was reopened, and the return has closed. Ask the agency for a later closing date, and start a new one then.</p>`
}

async function showOpen(workbench: Workbench): Promise<VNode> {
  const { submission, run, mayWrite } = workbench
  const open = listObstacles(workbench)
  if (open.length > 0)
    return html`<h2>Before you submit</h2><ul>${open.map(({ todo }) => html`<li>${todo}</li>`)}</ul>`
  const warnings = run?.warningCount ?? 0
  const { explanations = [] } = await readExplanations(workbench)
  const explained = explanations.filter(({ state }) => state === 'Explained').length
  return html`<h2>${workbench.reopened === undefined ? 'Ready to submit' : 'Submit again'}</h2>
    ${showUnchanged(workbench)}
    ${showFiles(workbench, await readOrigins(workbench))}
    ${showEmpty(submission.files)}
    ${warnings > 0 && html`<p><a href=${stepLink(workbench, 'fix')}>${count(warnings, 'warning')}</a> will be submitted as ${warnings === 1 ? 'it is' : 'they are'}${explained > 0 && `, with ${count(explained, 'explanation')}`}.</p>`}
    ${
      mayWrite
        ? html`<${PostForm} class="confirm" action=${stepLink(workbench, 'submit')}>
          <p><strong>Mahi freezes these files. It does not send them anywhere.</strong></p>
          <p>The receipt names who submits them: ${actorOf(workbench.principal).name}.</p>
          <button type="submit">Submit</button>
        <//>`
        : html`<p>Submitting needs the scope <code>submissions:write</code>, which your sign-in lacks. Ask the operator of this service for it.</p>`
    }`
}

/** A reopened submission whose files are as they were: nothing was corrected. */
function showUnchanged({ submission: { files = [] }, reopened }: Workbench): VNode | false {
  const at = reopened?.dateReopened
  if (at === undefined || files.some(({ received = '' }) => received > at)) return false
  return html`<p class="problem">No file has changed since the submission was reopened.</p>`
}

async function showSubmitted(workbench: Workbench): Promise<VNode> {
  const { submittedBy, dateSubmitted } = await readReceipt(workbench)
  const { run, submission } = workbench
  const { files = [] } = submission
  return html`<h2>Submitted by ${submittedBy?.name} at ${showTime(dateSubmitted)}</h2>
    ${
      files.length === 0
        ? html`<p>Mahi froze the files, and has deleted them since: they are kept no longer. The receipt has their digests.</p>`
        : html`<p>Mahi has frozen these files. It does not send them anywhere.</p>${showFiles(workbench, await readOrigins(workbench))}`
    }
    ${showEmpty(files)}
    ${
      run !== undefined &&
      html`<p>Check ${run.runId} found no errors and ${run.warningCount ? count(run.warningCount, 'warning') : 'no warnings'}.${
        (run.warningCount ?? 0) > 0 && html` <a href=${stepLink(workbench, 'fix')}>See the findings</a>`
      }</p>`
    }
    <p class="actions"><a class="button" href=${receiptLink(workbench)}>Receipt</a></p>
    ${
      workbench.principal.scopes.has('operate') &&
      html`<details class="explain no-print" open=${workbench.refused !== undefined}><summary>Reopen</summary>
        ${showReopenForm(linkTo(workbench, '/reopen'), tokenOf(workbench))}
      </details>`
    }`
}

function showEmpty(files: Parameters<typeof isEmptyReturn>[0] = []): VNode | false {
  return isEmptyReturn(files) && html`<p class="problem">${EMPTY_RETURN}</p>`
}

function showFiles({ submission: { files = [] }, rules }: Workbench, origins: Origins): VNode {
  const titles = titlesOf(rules)
  return table(
    'Files',
    orderFiles(files, titles),
    [
      ['File', ({ file }) => titles.get(file) ?? file],
      ['Records', ({ records }) => records, 'number'],
      ['Sent by', ({ file }) => showSender(origins, file)],
      ['SHA-256', ({ sha256 }) => sha256, 'mono digest'],
    ],
    { class: 'narrow cards' },
  )
}

async function submit(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context, '/submit'), { method: 'POST' })
  return { redirect: stepLink(context, 'submit'), notice: 'Submitted. It can no longer be changed.' }
}

async function reopen(context: Context): Promise<Outcome> {
  await reopenSubmission(context)
  return { redirect: stepLink(context, 'submit'), notice: REOPENED }
}

async function confirmDelete(context: Context): Promise<Shown> {
  const { submission, reopened } = await readWorkbench(context)
  return {
    title: 'Delete the submission',
    content: html`<h1>Delete the submission?</h1>
      <p>The files of this submission for return ${submission.returnId} are deleted, with their findings, explanations and receipts. This cannot be undone. Only its activity stays.</p>
      ${reopened !== undefined && html`<p class="problem">It was submitted and reopened. Once it is deleted, it counts as never submitted: receipt ${reopened.receipt} and the reason of the reopening are deleted, too.</p>`}
      <${PostForm} action=${linkTo(context, '/delete')}>
        <button type="submit" class="danger">Delete</button> <a href=${linkTo(context, '')}>Keep it</a>
      <//>`,
  }
}

async function deleteSubmission(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context), { method: 'DELETE' })
  return { redirect: link('/console/submissions', { eid: context.eid }) }
}
