import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import type * as types from '../../../client/src/types.ts'
import { markTransfer } from '../../api/serving/last-response.ts'
import { type Api, ApiProblem, type Having, readProblem } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { Select } from '../fields.ts'
import { readFiles, readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { count, link, showTime, submissionLink } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { type Catalogue, readRules } from '../rules.ts'
import { Pager, Table } from '../table.ts'

/** A submission from `/v1/submissions/{token}`. */
export type Submission = Having<
  Omit<types.Submission, 'files' | 'validationRun'>,
  'submissionToken' | 'returnId' | 'eid' | 'submissionStatus'
> & { readonly files?: readonly SubmittedFile[]; readonly validationRun?: Run }

type SubmittedFile = Having<types.SubmissionFile, 'fileType' | 'file' | 'records'>

export type Run = Having<types.ValidationRun, 'runId' | 'status'>

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
  { method: 'GET', path: '/submissions/:token', handle: showSubmission },
  { method: 'POST', path: '/submissions/:token/files', handle: receiveForm },
  { method: 'PUT', path: '/submissions/:token/files/:resource', handle: receiveFile },
  { method: 'POST', path: '/submissions/:token/runs', handle: requestRun },
  { method: 'GET', path: '/submissions/:token/progress', handle: followRun },
  { method: 'POST', path: '/submissions/:token/cancel-run', handle: cancelRun },
  { method: 'POST', path: '/submissions/:token/submit', handle: submit },
  { method: 'GET', path: '/submissions/:token/delete', handle: confirmDelete },
  { method: 'POST', path: '/submissions/:token/delete', handle: deleteSubmission },
]

/** Registers the multipart parser for forms with files. */
export async function registerUploads(app: FastifyInstance): Promise<void> {
  await app.register(multipart, {
    limits: { fileSize: Number.POSITIVE_INFINITY, files: 20 },
    throwFileSizeLimit: false,
  })
}

export const tokenOf = ({ request }: Context): string => (request.params as { token: string }).token
const pathOf = (context: Context, rest = ''): string =>
  `/submissions/${encodeURIComponent(tokenOf(context))}${rest}`

async function listSubmissions({ api, principal, query, eid }: Context): Promise<Shown> {
  const eids = [...principal.eids].sort()
  if (eid === undefined) {
    return {
      title: 'Submissions',
      content: html`<h1>Submissions</h1>
        <p class="problem">Your key covers no organisation, so there are no submissions to show. The operator creates a
          key with <code>--eid</code>.</p>`,
    }
  }
  const page = Number(query.get('page') ?? 1)
  const list = await api.call<Page<Submission>>('/submissions', { query: { page, pageSize: PAGE_SIZE } })
  const pages = Math.max(1, Math.ceil(list.totalCount / PAGE_SIZE))
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
        html`<${PostForm} class="row" action="/console/submissions" eid=${eid}>
        <label>Return<input name="returnId" required maxlength="64" value=${query.get('returnId') ?? ''} placeholder="202512" /></label>
        <button type="submit">Start a submission</button>
      <//>`
      }
      ${list.results.length === 0 && html`<p>Organisation ${eid} has no submissions yet.</p>`}
      ${list.results.length > 0 && showSubmissions(list, eid)}
      <${Pager} page=${page} pages=${pages} to=${(number: number) => link('/console/submissions', { eid, page: number })} />`,
  }
}

const SUBMISSION_COLUMNS = [
  'Submission',
  'Return',
  'Status',
  { name: 'Errors', number: true },
  { name: 'Warnings', number: true },
  'Checked',
]

function showSubmissions({ results, totalCount }: Page<Submission>, eid: string): VNode {
  const caption = `${count(totalCount, 'submission')} of organisation ${eid}`
  return html`<${Table} region label="Submissions" caption=${caption} columns=${SUBMISSION_COLUMNS}>
    ${results.map(({ submissionToken, returnId, submissionStatus, validationRun: run }) => {
      const at = link(submissionLink(submissionToken), { eid })
      return html`<tr>
        <th scope="row"><a href=${at} class="mono">${submissionToken}</a></th>
        <td>${returnId}</td>
        <td>${submissionStatus}</td>
        <td class="number">${run?.errorCount}</td>
        <td class="number">${run?.warningCount}</td>
        <td class="when">${showTime(run?.dateCompleted)}</td>
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

/** Notices shown after a redirect. */
const NOTICES: Readonly<Record<string, string>> = {
  received: 'The files have arrived. Check them now.',
  cancelled: 'The check was cancelled.',
  submitted: 'Submitted. It can no longer be changed.',
}

async function showSubmission(context: Context): Promise<Shown> {
  const { api, principal, query, eid } = context
  const submission = await api.call<Submission>(pathOf(context))
  const [runs, rules] = await Promise.all([readRuns(context), readRules(api, submission.definition)])
  const run = submission.validationRun
  const open = ['Pending', 'Validating', 'Validated'].includes(submission.submissionStatus)
  const mayWrite = principal.scopes.has('submissions:write') && open
  const going = run !== undefined && isGoing(run)
  const mayEnd = run?.status === 'Processed' && (run.errorCount ?? 1) === 0
  const at = submissionLink(submission.submissionToken)
  return {
    title: `Submission ${submission.submissionToken}`,
    notice: NOTICES[query.get('notice') ?? ''],
    content: html`<p class="soft"><a href=${link('/console/submissions', { eid })}>Submissions</a></p>
      <h1>Return ${submission.returnId}</h1>
      <dl class="pairs">
        <dt>Submission</dt><dd class="mono">${submission.submissionToken}</dd>
        <dt>Organisation</dt><dd>${submission.eid}</dd>
        <dt>Status</dt><dd>${submission.submissionStatus}</dd>
        ${submission.tokenExpiry !== undefined && html`<dt>Open until</dt><dd>${showTime(submission.tokenExpiry)}</dd>`}
      </dl>
      ${run !== undefined && showRun(run, at, eid, going, mayWrite)}
      ${showFiles(submission, rules, mayWrite, eid)}
      ${runs.length > 1 && html`<h2>Earlier checks</h2>${runChart(runs)}${runTable(runs, at, eid)}`}
      ${
        mayWrite &&
        html`<h2>Finish</h2>
        <${PostForm} action=${`${at}/submit`} eid=${eid}>
          <button type="submit" disabled=${!mayEnd}>Submit</button>
          ${!mayEnd && html`<span class="soft"> Possible when the newest check covers the current files and has no errors.</span>`}<//>
        <p><a class="error" href=${link(`${at}/delete`, { eid })}>Delete this submission</a></p>`
      }`,
  }
}

const isGoing = ({ status }: Run): boolean => status === 'Queued' || status === 'InProgress'

function showRun(run: Run, at: string, eid: string | undefined, going: boolean, mayWrite: boolean): VNode {
  if (going) {
    return html`<div data-follow=${link(`${at}/progress`, { eid })}>
      <p class="verdict" data-text role="status">${describeProgress(run)}</p>
      <progress aria-label="Progress of the check"></progress>
      <noscript><p><a href=${link(at, { eid })}>Refresh</a></p></noscript>
      ${
        mayWrite &&
        html`<${PostForm} action=${`${at}/cancel-run`} eid=${eid}>
          <input type="hidden" name="run" value=${run.runId} />
          <button type="submit" class="quiet">Cancel the check</button>
        <//>`
      }
    </div>`
  }
  if (run.status !== 'Processed') {
    return html`<p class="problem">The last check did not finish: ${run.status}. ${run.reason ?? ''}</p>`
  }
  const { errorCount: errors = 0, warningCount: warnings = 0 } = run
  if (errors + warnings === 0) return html`<p class="verdict"><span class="good">No findings.</span></p>`
  return html`<p class="verdict">
    <span class=${errors > 0 ? 'error' : 'good'}>${count(errors, 'error')}</span>,${' '}
    <span class="warning">${count(warnings, 'warning')}</span>.${' '}
    <a href=${link(`${at}/findings`, { eid })}>See the findings</a>
  </p>`
}

function describeProgress(run: Run): string {
  if (run.status === 'Queued') return 'The check is waiting for its turn.'
  const { done, total } = run.progress ?? {}
  if (done === undefined || total === undefined) return 'The check is running.'
  return `The check is running: ${done.toLocaleString('en-NZ')} of ${total.toLocaleString('en-NZ')}.`
}

function showFiles(
  { files = [], submissionToken }: Submission,
  rules: Catalogue | undefined,
  mayWrite: boolean,
  eid: string | undefined,
): VNode {
  const at = submissionLink(submissionToken)
  const received = new Map<string, SubmittedFile>(files.map((file) => [file.fileType, file]))
  const rows = rules?.definition.files.map((resource) => {
    const file = received.get(resource.fileType)
    return html`<tr>
      <th scope="row">${resource.title}</th>
      ${
        mayWrite &&
        html`<td><input type="file" name=${resource.file} aria-label=${`File for ${resource.title}`} accept=".csv,.ndjson,.gz"
        data-put=${link(`${at}/files/${resource.file}`, { eid })} data-names=${[resource.file, ...resource.fileNames].join(' ').toLowerCase()} /></td>`
      }
      <td class="number">${file === undefined ? '–' : file.records.toLocaleString('en-NZ')}</td>
      <td class="when">${showTime(file?.received)}</td>
    </tr>`
  })
  const columns = [
    'File',
    ...(mayWrite ? [files.length > 0 ? 'Replace' : 'Choose'] : []),
    { name: 'Records', number: true },
    'Received',
  ]
  const table = html`<${Table} label="Files" columns=${columns}>${rows}<//>`
  if (!mayWrite) return html`<h2>Files</h2>${table}`
  return html`<h2>Files</h2>
    <${PostForm} class="drop" enctype="multipart/form-data" action=${link(`${at}/files`, { eid })} data-upload data-then="check">
      <p>Choose the files, or drop them here. CSV or NDJSON, also compressed with gzip.</p>
      ${table}
      <p role="status" data-text></p>
      <progress hidden value="0" aria-label="Progress of the upload"></progress>
      <p><button type="submit">Send the files</button></p>
    <//>
    <${PostForm} id="check" action=${`${at}/runs`} eid=${eid}><p><button type="submit">Check the files</button></p><//>`
}

const RUN_COLUMNS = [
  'Check',
  'When',
  'Status',
  { name: 'Errors', number: true },
  { name: 'Warnings', number: true },
  { name: 'Comparison', hidden: true },
]

function runTable(runs: readonly Run[], at: string, eid: string | undefined): VNode {
  return html`<${Table} label="Earlier checks" columns=${RUN_COLUMNS}>
    ${runs.map(({ runId, dateCompleted, dateReceived, status, errorCount, warningCount }, index) => {
      const other = link(`${at}/compare`, { eid, from: runId })
      return html`<tr>
        <th scope="row">${runId}</th>
        <td class="when">${showTime(dateCompleted ?? dateReceived)}</td>
        <td>${status}</td>
        <td class="number">${errorCount}</td>
        <td class="number">${warningCount}</td>
        <td>${index > 0 && status === 'Processed' && html`<a href=${other}>compare with the newest</a>`}</td>
      </tr>`
    })}
  <//>`
}

/** Errors and warnings of each run, oldest first. */
function runChart(runs: readonly Run[]): VNode {
  const done = runs.filter(({ status }) => status === 'Processed').toReversed()
  const most = Math.max(1, ...done.map(({ errorCount = 0, warningCount = 0 }) => errorCount + warningCount))
  const height = (number: number) => (number / most) * 90
  const step = 40
  const width = Math.max(200, done.length * step + 20)
  const label = 'Errors and warnings of each check; the table below has the numbers'
  return html`<svg class="chart" viewBox=${`0 0 ${width} 125`} role="img" aria-label=${label}>
    <line class="axis" x1="0" x2=${width} y1="100" y2="100" />
    ${done.map(
      ({ runId, errorCount = 0, warningCount = 0 }, index) => html`
      <rect class="errors" x=${index * step + 8} width="26" y=${100 - height(errorCount)} height=${height(errorCount)} />
      <rect class="warnings" x=${index * step + 8} width="26" y=${100 - height(errorCount + warningCount)} height=${height(warningCount)} />
      <text x=${index * step + 21} y="114" text-anchor="middle">${runId}</text>`,
    )}
  </svg>`
}

export async function readRuns(context: Context): Promise<readonly Run[]> {
  const { results } = await context.api.call<{ results: readonly Run[] }>(pathOf(context, '/validation-runs'))
  return results
}

async function receiveForm(context: Context): Promise<Outcome> {
  const { request, api, eid } = context
  if (!request.isMultipart()) return { redirect: link(submissionLink(tokenOf(context)), { eid }) }
  markTransfer(request.raw)
  for await (const part of readFiles(request)) {
    if (part.filename === '') {
      part.file.resume()
      continue
    }
    const response = await put(api, context, part.fieldname, part.filename, part.file)
    if (response.statusCode >= 400) throw new ApiProblem(readProblem(response))
  }
  return { redirect: link(submissionLink(tokenOf(context)), { eid, notice: 'received' }) }
}

async function receiveFile(context: Context): Promise<Outcome> {
  const { request, api } = context
  const { resource } = request.params as { resource: string }
  markTransfer(request.raw)
  const response = await api.send(pathOf(context, `/files/${encodeURIComponent(resource)}`), {
    method: 'PUT',
    body: request.raw,
    headers: {
      'content-type': request.headers['content-type'] ?? 'text/csv',
      ...(request.headers['content-encoding'] && { 'content-encoding': request.headers['content-encoding'] }),
    },
  })
  return { data: JSON.parse(response.body) as object, status: response.statusCode }
}

function put(api: Api, context: Context, resource: string, filename: string, file: NodeJS.ReadableStream) {
  return api.send(pathOf(context, `/files/${encodeURIComponent(resource)}`), {
    method: 'PUT',
    body: file,
    headers: {
      'content-type': /\.ndjson/i.test(filename) ? 'application/x-ndjson' : 'text/csv',
      ...(/\.gz$/i.test(filename) && { 'content-encoding': 'gzip' }),
    },
  })
}

const returnTo = (context: Context, notice?: string) => ({
  redirect: link(submissionLink(tokenOf(context)), { eid: context.eid, notice }),
})

async function requestRun(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context, '/validation-runs'), { method: 'POST' })
  return returnTo(context)
}

/** The state of the latest run, for the script of the page. */
async function followRun(context: Context): Promise<Outcome> {
  const { validationRun: run } = await context.api.call<Submission>(pathOf(context))
  if (run === undefined) return { data: { state: 'None', text: '' } }
  const { done, total } = run.progress ?? {}
  return { data: { state: run.status, text: describeProgress(run), done, total } }
}

async function cancelRun(context: Context): Promise<Outcome> {
  const run = (await readForm(context.request)).get('run') ?? ''
  await context.api.call(pathOf(context, `/validation-runs/${encodeURIComponent(run)}`), { method: 'DELETE' })
  return returnTo(context, 'cancelled')
}

async function submit(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context, '/submit'), { method: 'POST' })
  return returnTo(context, 'submitted')
}

function confirmDelete(context: Context): Shown {
  const at = submissionLink(tokenOf(context))
  return {
    title: 'Delete the submission',
    content: html`<h1>Delete the submission?</h1>
      <p>Every record and every finding of <span class="mono">${tokenOf(context)}</span> is deleted. This cannot be undone.</p>
      <${PostForm} action=${`${at}/delete`} eid=${context.eid}>
        <button type="submit" class="danger">Delete</button> <a href=${link(at, { eid: context.eid })}>Keep it</a>
      <//>`,
  }
}

async function deleteSubmission(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context), { method: 'DELETE' })
  return { redirect: link('/console/submissions', { eid: context.eid }) }
}
