import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { markTransfer } from '../../api/request/transfers.ts'
import { count } from '../../foundation/text/format-number.ts'
import { ApiProblem, readProblem } from '../api.ts'
import { ASSETS } from '../assets.ts'
import { type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { FormFault } from '../faults.ts'
import { Field, Select } from '../fields.ts'
import { orMalformed, readUpload } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { PostForm } from '../post-form.ts'
import { type Catalogue, titlesOf } from '../rules.ts'
import { table } from '../table.ts'
import { showTime } from '../time.ts'
import { type Origins, readOrigins, showSender } from './activity.ts'
import {
  linkTo,
  pathOf,
  readWorkbench,
  type SubmittedFile,
  showStep,
  stepLink,
  type Workbench,
  WRITING,
} from './workbench.ts'

/** An archive or a workbook with all files: no file of a definition has such a name. */
const CONTAINER = '*'

export const filePages: readonly Route[] = [
  get('/submissions/:token/files', showFiles),
  post('/submissions/:token/files', receiveForm, showFiles, WRITING),
  { method: 'PUT', path: '/submissions/:token/files', handle: receiveFile, ...WRITING },
  { method: 'PUT', path: '/submissions/:token/files/:resource', handle: receiveFile, ...WRITING },
]

/** Registers the multipart parser for forms with files. */
export async function registerUploads(app: FastifyInstance): Promise<void> {
  await app.register(multipart, {
    limits: { fileSize: Number.POSITIVE_INFINITY, files: 1 },
    throwFileSizeLimit: false,
  })
}

async function showFiles(context: Context): Promise<Shown> {
  const workbench = await readWorkbench(context)
  const { missing, submission, mayWrite } = workbench
  const received = submission.files?.length ?? 0
  return showStep(workbench, 'files', {
    title: 'Files',
    content: html`
      ${submission.notes !== undefined && html`<p>${submission.notes}</p>`}
      <div data-state>
      ${received === 0 ? html`<p>No files are stored.</p>` : missing.length > 0 && html`<p>Missing: ${missing.map(({ title }) => title).join(', ')}.</p>`}
      ${received > 0 && missing.length === 0 && html`<p>${received === 1 ? 'The file is here.' : `All ${count(received, 'file')} are here.`}</p>`}
      ${received > 0 && showTable(workbench, await readOrigins(workbench))}
      </div>
      ${mayWrite && showForms(workbench)}`,
  })
}

/** What the script of the page recognises files by. */
function describeKinds(rules: Catalogue | undefined) {
  return (rules?.definition.files ?? []).map(({ file, title, fileNames }) => {
    const fields = rules?.rules.filter((rule) => rule.file === file).flatMap((rule) => rule.fields)
    return {
      file,
      title,
      names: [file, title, ...fileNames.map((name) => name.replace('*', ''))],
      columns: [...new Set(fields)],
    }
  })
}

function showForms(workbench: Workbench): VNode {
  const { missing, submission, isCurrent, rules } = workbench
  const { files = [] } = submission
  const kinds = rules?.definition.files.map(({ file, title }) => [file, title] as const) ?? []
  const isReady = files.length > 0 && missing.length === 0 && !isCurrent
  return html`<script type="module" src=${`${ASSETS}/upload.js`}></script>
    <${PostForm} class="drop" enctype="multipart/form-data" action=${linkTo(workbench, '/files')}
      data-upload data-put=${linkTo(workbench, '/filesFILE')} data-then=${stepLink(workbench, 'files')}
      data-kinds=${JSON.stringify(describeKinds(rules))} data-stored=${files.map(({ file }) => file).join(' ')}>
      <p><span data-how>Choose a file</span>: CSV, NDJSON, workbooks (XLSX), or a ZIP archive of these.${files.length > 0 && ' A file takes the place of the one of its kind.'}</p>
      <div class="row">
        <${Select} name="kind" label="What it is" value="*" options=${[['*', 'All files, in one archive or workbook'], ...kinds]} />
        <${Field} name="file" label="Files" type="file" required accept=".csv,.tsv,.txt,.ndjson,.gz,.zip,.xlsx,.xlsm" />
      </div>
      <table hidden class="files cards" data-found>
        <thead><tr><th scope="col">Chosen</th><th scope="col" class="number">Records</th><th scope="col">What it is</th><th scope="col">Outcome</th></tr></thead>
        <tbody></tbody>
      </table>
      <p role="status" data-text></p>
      <progress hidden value="0" aria-label="Progress of the upload"></progress>
      <p class="actions">
        <button type="submit" class=${isReady ? 'quiet' : undefined}>Send the file</button>
        <span hidden><label class="choice"><input type="checkbox" checked data-switch />Check them when all have arrived</label></span>
      </p>
    <//>
    <${PostForm} id="check" action=${linkTo(workbench, '/runs')}>
      ${files.length > 0 && html`<p><button type="submit" class=${isReady ? undefined : 'quiet'}>Check the files</button></p>`}
    <//>
    <p class="no-print"><a class="error" href=${linkTo(workbench, '/delete')}>Delete this submission</a></p>`
}

/** What is stored. */
function showTable({ submission, rules }: Workbench, origins: Origins): VNode {
  const { files = [] } = submission
  const received = new Map<string, SubmittedFile>(files.map((file) => [file.file, file]))
  return table<Catalogue['definition']['files'][number]>(
    'Stored files',
    rules?.definition.files ?? [],
    [
      [
        'Stored',
        ({ file, title }) =>
          html`${title}${received.get(file)?.notes?.map((note) => html`<div class="note">${note}</div>`)}`,
      ],
      [
        'Records',
        ({ file }) => received.get(file)?.records ?? html`<span class="soft">Missing</span>`,
        'number',
      ],
      ['Received', ({ file }) => showTime(origins.sent.get(file)?.time)],
      ['Sent by', ({ file }) => showSender(origins, file)],
    ],
    { class: 'files cards' },
  )
}

/** What the API says of what it has stored: a file, or all of an archive or workbook. */
interface Stored {
  readonly file?: string
  readonly files?: readonly { readonly file: string }[]
}

/** The name of an archive or a workbook. */
const PACKED = /\.(?:zip|xls[xm])$/i

/** The name of a spreadsheet or a document in another format: what is in it does not say so. */
const OTHER = /\.(?:ods|numbers|xls|xlsb|pdf)$/i

/** One file, from a browser without scripts. */
async function receiveForm(context: Context): Promise<Outcome> {
  const { request } = context
  if (!request.isMultipart()) return { redirect: stepLink(context, 'files') }
  markTransfer(request.raw)
  const { fields, file } = await readUpload(request)
  const kind = fields.get('kind') ?? CONTAINER
  if (file === undefined || file.filename === '') throw new FormFault('Choose a file.', { field: 'file' })
  const isOther = OTHER.test(file.filename)
  if (isOther || (kind === CONTAINER && !PACKED.test(file.filename))) {
    // A browser reads the response only once it has sent everything.
    file.file.resume()
    throw isOther
      ? new FormFault(`${file.filename} cannot be read. Save it as XLSX or CSV.`, { field: 'file' })
      : new FormFault(
          `${file.filename} is one file: choose what it is. The name of an archive or workbook with all files must end with .zip or .xlsx.`,
          { field: 'kind' },
        )
  }
  // It is refused, not thrown, unless its bytes end before the form does.
  const response = await orMalformed(() => put(context, kind, file.filename, file.file))
  if (response.statusCode >= 400) throw new ApiProblem(readProblem(response))
  const { file: one = '', files = [{ file: one }] } = JSON.parse(response.body) as Stored
  const titles = titlesOf((await readWorkbench(context)).rules)
  const stored = files.map((each) => titles.get(each.file) ?? each.file).join(', ')
  return { redirect: stepLink(context, 'files'), notice: `Stored: ${stored}.` }
}

async function receiveFile(context: Context): Promise<Outcome> {
  const { request, api, params } = context
  markTransfer(request.raw)
  const data = await api.call<object>(pathOf(context, pathTo(params.resource)), {
    method: 'PUT',
    body: request.raw,
    headers: {
      'content-type': request.headers['content-type'] ?? 'text/csv',
      ...(request.headers['content-encoding'] && { 'content-encoding': request.headers['content-encoding'] }),
    },
  })
  return { data }
}

function put(context: Context, resource: string, filename: string, file: NodeJS.ReadableStream) {
  const isContainer = resource === CONTAINER
  return context.api.send(pathOf(context, pathTo(isContainer ? undefined : resource)), {
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
