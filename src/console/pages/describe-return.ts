import type * as types from '../../../client/src/types.ts'
import { writeZoned } from '../../foundation/text/zoned-time.ts'
import { ApiProblem } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { link } from '../links.ts'
import { PostForm } from '../post-form.ts'

const PATH = '/operator/returns'
const HOME = `/console${PATH}`

/** The form with which the agency adds a return or changes one. */
export const describeReturnPages: readonly Route[] = [
  { method: 'GET', path: PATH, handle: showForm },
  { method: 'POST', path: PATH, handle: store },
]

export const describeReturnLink = (returnId?: string): string => link(HOME, { return: returnId })

type Fields = Readonly<Record<string, string>>

async function showForm({ api, query, services }: Context): Promise<Shown> {
  const returnId = query.get('return') ?? ''
  const path = `/returns/${encodeURIComponent(returnId)}/overview`
  const known =
    returnId === ''
      ? undefined
      : (await api.call<types.ReturnOverview>(path, { query: { pageSize: 1 } })).return
  return render(known === undefined ? {} : toFields(known, services.timeZone), services.timeZone)
}

/** Dates keep their instant, whatever the time zone is by now. */
function toFields(known: types.Return, zone: string): Fields {
  const show = (at: string | undefined) => (at === undefined ? '' : writeZoned(Date.parse(at), zone))
  return {
    id: known.returnId ?? '',
    name: known.name ?? '',
    definition: known.definition ?? '',
    type: known.returnType ?? '',
    opens: show(known.openWindowDate),
    due: show(known.dueDate),
    closes: show(known.closeWindowDate),
    organisations: known.organisations?.join('\n') ?? '',
    notes: known.notes ?? '',
  }
}

function render(fields: Fields, timeZone: string, problem?: string): Shown {
  const input = (name: string, label: string, more: Readonly<Record<string, unknown>> = {}): VNode =>
    html`<p><label>${label}<input name=${name} size="30" value=${fields[name] ?? ''} ...${more} /></label></p>`
  const area = (name: string, label: string, rows: number): VNode =>
    html`<p><label>${label}<textarea name=${name} rows=${rows}>${fields[name] ?? ''}</textarea></label></p>`
  const required = { required: true }
  return {
    title: 'Describe a return',
    ...(problem !== undefined && { status: 400 }),
    content: html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/console/operator">Operator</a></nav>
      <h1>Describe a return</h1>
      <p>Adds a return, or replaces the one with the same id. Once the service has a return, it accepts submissions only
        for its returns. A date is a day,
        a time such as 2026-01-31 17:00 in ${timeZone}, or a time with an offset. A day counts from its start for Opens,
        and to its end for the others.</p>
      ${problem !== undefined && html`<p class="problem" role="alert">${problem} Nothing was stored.</p>`}
      <${PostForm} action=${HOME}>
        ${input('id', 'Id, such as 202512', { ...required, maxlength: 64 })}
        ${input('name', 'Name', { ...required, maxlength: 200 })}
        ${input('definition', 'Definition, such as sdr', required)}
        <p><label>Type<select name="type">
          ${['Full', 'Indicative'].map((each) => html`<option selected=${each === fields.type}>${each}</option>`)}
        </select></label></p>
        ${input('opens', 'Opens', required)}
        ${input('due', 'Due, if before the end')}
        ${input('closes', 'Closes', required)}
        ${area('organisations', 'Organisations (EID), one on each line; empty for all', 4)}
        ${area('notes', 'Notes for those who submit it', 3)}
        <p><button type="submit">Save the return</button></p>
      <//>`,
  }
}

async function store({ api, request, services }: Context): Promise<Outcome> {
  const form = await readForm(request)
  const fields = Object.fromEntries([...form].map(([name, value]) => [name, value.trim()]))
  const { id = '', name = '', definition = '', type, opens = '', due, closes = '', notes } = fields
  const organisations = (fields.organisations ?? '').split(/[\s,]+/).filter((eid) => eid !== '')
  const body = {
    ...{ name, definition, opens, closes },
    ...(type && { type }),
    ...(due && { due }),
    ...(notes && { notes }),
    ...(organisations.length > 0 && { organisations }),
  }
  const shown = (problem: string) => render(fields, services.timeZone, problem)
  if (id === '') return shown('The id is missing.')
  try {
    await api.call(`/returns/${encodeURIComponent(id)}`, { method: 'PUT', body })
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.problem.status !== 400) throw error
    return shown(error.problem.detail)
  }
  return { redirect: link(`/console/returns/${encodeURIComponent(id)}`, { notice: 'saved' }) }
}
