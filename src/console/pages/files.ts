import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { markTransfer } from '../../api/request/transfers.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { type Api, ApiProblem, readProblem } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { orMalformed, readFiles } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { link, submissionLink } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { Table } from '../table.ts'
import { Time } from '../time.ts'
import { readSenders } from './activity.ts'
import {
  pathOf,
  readWorkbench,
  type SubmittedFile,
  showStep,
  stepLink,
  tokenOf,
  type Workbench,
} from './workbench.ts'

/** The field of a form for an archive or a workbook with all files: no file of a definition has such a name. */
const CONTAINER = '*'

export const filePages: readonly Route[] = [
  { method: 'GET', path: '/submissions/:token/files', handle: showFiles },
  {
    method: 'POST',
    path: '/submissions/:token/files',
    handle: receiveForm,
    again: showFiles,
    scope: 'submissions:write',
  },
  { method: 'PUT', path: '/submissions/:token/files', handle: receiveFile, scope: 'submissions:write' },
  {
    method: 'PUT',
    path: '/submissions/:token/files/:resource',
    handle: receiveFile,
    scope: 'submissions:write',
  },
]

/** Registers the multipart parser for forms with files. */
export async function registerUploads(app: FastifyInstance): Promise<void> {
  await app.register(multipart, {
    limits: { fileSize: Number.POSITIVE_INFINITY, files: 20 },
    throwFileSizeLimit: false,
  })
}

async function showFiles(context: Context): Promise<Shown> {
  const [workbench, senders] = await Promise.all([readWorkbench(context), readSenders(context)])
  const { missing, submission, mayWrite } = workbench
  const received = submission.files?.length ?? 0
  return showStep(context, workbench, 'files', {
    title: 'Files',
    notice: context.query.get('notice') === 'received' ? 'The files have arrived.' : undefined,
    content: html`
      ${submission.notes !== undefined && html`<p>${submission.notes}</p>`}
      ${received === 0 ? html`<p>No files yet.</p>` : missing.length > 0 && html`<p>Missing: ${missing.map(({ title }) => title).join(', ')}.</p>`}
      ${received > 0 && missing.length === 0 && html`<p>All ${count(received, 'file')} are here.</p>`}
      ${mayWrite ? showForm(context, workbench, senders) : showTable(context, workbench, senders)}`,
  })
}

function showForm(context: Context, workbench: Workbench, senders: ReadonlyMap<string, string>): VNode {
  const at = submissionLink(tokenOf(context))
  const { missing, submission, isCurrent } = workbench
  const hasFiles = (submission.files?.length ?? 0) > 0
  return html`<${PostForm} class="drop" enctype="multipart/form-data" action=${link(`${at}/files`, { eid: context.eid })}
      data-upload data-then=${stepLink(context, 'files', { notice: 'received' })}>
      <p>Drop the files anywhere on this page, or choose them: CSV, NDJSON, a ZIP archive or a workbook (XLSX).</p>
      <p><label>All files in one archive or workbook
        <input type="file" name=${CONTAINER} accept=".zip,.xlsx,.xlsm" data-container
          data-put=${link(`${at}/files`, { eid: context.eid })} /></label></p>
      ${showTable(context, workbench, senders)}
      <p role="status" data-text></p>
      <progress hidden value="0" aria-label="Progress of the upload"></progress>
      <p class="actions">
        <button type="submit" class=${missing.length === 0 ? 'quiet' : undefined}>Send the files</button>
        <span hidden><label class="choice"><input type="checkbox" checked data-switch />Check them when all have arrived</label></span>
      </p>
    <//>
    <${PostForm} id="check" action=${`${at}/runs`} eid=${context.eid}>
      ${hasFiles && html`<p><button type="submit" class=${missing.length === 0 && !isCurrent ? undefined : 'quiet'}>Check the files</button></p>`}
    <//>
    <p class="no-print"><a class="error" href=${link(`${at}/delete`, { eid: context.eid })}>Delete this submission</a></p>`
}

function showTable(
  context: Context,
  { submission, rules, mayWrite }: Workbench,
  senders: ReadonlyMap<string, string>,
): VNode {
  const { files = [] } = submission
  const at = submissionLink(tokenOf(context))
  const received = new Map<string, SubmittedFile>(files.map((file) => [file.file, file]))
  const columns = [
    'File',
    { name: 'Records', number: true },
    'Received',
    'Sent by',
    ...(mayWrite ? [files.length > 0 ? 'Replace' : 'Choose'] : []),
  ]
  return html`<${Table} label="Files" class="files cards" columns=${columns}>${rules?.definition.files.map(
    (resource) => {
      const file = received.get(resource.file)
      return html`<tr>
      <th scope="row">${resource.title}${file?.notes?.map((note) => html`<div class="note">${note}</div>`)}</th>
      <td class="number">${file === undefined ? html`<span class="soft">missing</span>` : formatNumber(file.records)}</td>
      <td class="when"><${Time} at=${file?.received} /></td>
      <td>${senders.get(resource.file) ?? ''}</td>
      ${
        mayWrite &&
        html`<td><input type="file" name=${resource.file} aria-label=${`File for ${resource.title}`}
          accept=".csv,.tsv,.txt,.ndjson,.gz,.zip,.xlsx,.xlsm" data-received=${file === undefined ? undefined : 'yes'} data-put=${link(`${at}/files/${resource.file}`, { eid: context.eid })}
          data-names=${[resource.file, ...resource.fileNames].join(' ').toLowerCase()} /></td>`
      }
    </tr>`
    },
  )}<//>`
}

async function receiveForm(context: Context): Promise<Outcome> {
  const { request, api } = context
  if (!request.isMultipart()) return { redirect: stepLink(context, 'files') }
  markTransfer(request.raw)
  for await (const part of readFiles(request)) {
    if (part.filename === '') {
      part.file.resume()
      continue
    }
    // It is refused, not thrown, unless its bytes end before the form does.
    const response = await orMalformed(() => put(api, context, part.fieldname, part.filename, part.file))
    if (response.statusCode >= 400) throw new ApiProblem(readProblem(response))
  }
  return { redirect: stepLink(context, 'files', { notice: 'received' }) }
}

async function receiveFile(context: Context): Promise<Outcome> {
  const { request, api } = context
  const { resource } = request.params as { resource?: string }
  markTransfer(request.raw)
  const response = await api.send(pathOf(context, pathTo(resource)), {
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
  const isContainer = resource === CONTAINER
  return api.send(pathOf(context, pathTo(isContainer ? undefined : resource)), {
    method: 'PUT',
    body: file,
    headers: {
      'content-type': isContainer
        ? 'application/octet-stream'
        : /\.ndjson/i.test(filename)
          ? 'application/x-ndjson'
          : 'text/csv',
      ...(/\.gz$/i.test(filename) && { 'content-encoding': 'gzip' }),
    },
  })
}

/** The path of a file, or of all in one archive or workbook. */
const pathTo = (resource: string | undefined) =>
  resource === undefined ? '/files' : `/files/${encodeURIComponent(resource)}`
