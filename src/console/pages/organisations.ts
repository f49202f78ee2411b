import type * as types from '../../../client/src/types.ts'
import { lookUp } from '../../foundation/look-up.ts'
import { count, formatBytes, formatNumber } from '../../foundation/text/format-number.ts'
import type { Having } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { Field } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html } from '../html.ts'
import { link, readPage } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { Pager, Table } from '../table.ts'
import { Time } from '../time.ts'

export const organisationPages: readonly Route[] = [
  { method: 'GET', path: '/operator/organisations', handle: listOrganisations },
  { method: 'GET', path: '/operator/organisations/:organisation', handle: showOrganisation },
  {
    method: 'POST',
    path: '/operator/organisations/:organisation/suspend',
    handle: suspend,
    again: showOrganisation,
  },
  {
    method: 'POST',
    path: '/operator/organisations/:organisation/resume',
    handle: resume,
    again: showOrganisation,
  },
]

type Organisation = Having<
  types.Organisation,
  'eid' | 'state' | 'keys' | 'submissions' | 'fileBytes' | 'runs' | 'activeRuns' | 'findings'
>

interface Page {
  readonly results: readonly Organisation[]
  readonly totalCount: number
}

const HOME = '/console/operator/organisations'
const PAGE_SIZE = 100

const COLUMNS = [
  'Organisation',
  'State',
  { name: 'Valid keys', number: true },
  { name: 'Submissions', number: true },
  { name: 'Files', number: true },
  { name: 'Active runs', number: true },
  { name: 'Findings', number: true },
]

export const organisationLink = (eid: string, rest = '') => `${HOME}/${encodeURIComponent(eid)}${rest}`
const eidOf = ({ request }: Context) => (request.params as { organisation: string }).organisation
const pathOf = (context: Context, rest = '') => `/organisations/${encodeURIComponent(eidOf(context))}${rest}`

async function listOrganisations({ api, query }: Context): Promise<Shown> {
  const page = readPage(query)
  const { results, totalCount } = await api.call<Page>('/organisations', {
    query: { page, pageSize: PAGE_SIZE },
  })
  return {
    title: 'Organisations',
    content: html`<h1>Organisations</h1>
      <p>${count(totalCount, 'organisation')} that a key covers, that ${totalCount === 1 ? 'has' : 'have'} submissions, or that${' '}
        ${totalCount === 1 ? 'is' : 'are'} suspended. <a href="/console/operator">Operator</a></p>
      <${Table} region class="cards" label="Organisations" columns=${COLUMNS}>${results.map(showRow)}<//>
      <${Pager} page=${page} pages=${Math.ceil(totalCount / PAGE_SIZE)} to=${(each: number) => link(HOME, { page: each })} />`,
  }
}

function showRow({ eid, state, keys, submissions, fileBytes, activeRuns, findings }: Organisation) {
  const numbers = [keys, submissions].map((each) => formatNumber(each))
  const others = [activeRuns, findings].map((each) => formatNumber(each))
  return html`<tr>
    <th scope="row"><a href=${organisationLink(eid)}>${eid}</a></th>
    <td>${showState(state)}</td>
    ${[...numbers, formatBytes(fileBytes), ...others].map((each) => html`<td class="number">${each}</td>`)}
  </tr>`
}

const showState = (state: string) =>
  state === 'Suspended' ? html`<strong class="warning">Suspended</strong>` : state

const NOTICES = lookUp<string>({
  suspended: 'The organisation is suspended.',
  resumed: 'The organisation is active again.',
})

async function showOrganisation(context: Context): Promise<Shown> {
  const organisation = await context.api.call<Organisation>(pathOf(context))
  const { eid, state, suspended, reason, keys, submissions, fileBytes, runs, activeRuns, findings } =
    organisation
  const facts: readonly (readonly [ReturnType<typeof html> | string, ReturnType<typeof html> | string])[] = [
    ['State', suspended === undefined ? state : html`${showState(state)} since <${Time} at=${suspended} />`],
    ...(reason === undefined ? [] : [['Note', reason] as const]),
    ['Valid keys', formatNumber(keys)],
    ['Submissions', formatNumber(submissions)],
    ['Files', formatBytes(fileBytes)],
    ['Runs', `${formatNumber(runs)}, of which ${formatNumber(activeRuns)} queued or in progress`],
    ['Findings', formatNumber(findings)],
  ]
  return {
    title: `Organisation ${eid}`,
    notice: NOTICES[context.query.get('notice') ?? ''],
    content: html`<h1>Organisation ${eid}</h1>
      <dl class="pairs">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      ${state === 'Suspended' ? showResume(eid) : showSuspend(eid)}
      <p><a href=${HOME}>All organisations</a></p>`,
  }
}

function showSuspend(eid: string) {
  return html`<h2>Suspend</h2>
    <p>Every request for its data is refused within a second, with any credential, and its runs that are queued or in
      progress are cancelled. Nothing is deleted.</p>
    <${PostForm} action=${organisationLink(eid, '/suspend')}>
      <p><${Field} name="reason" label="Note for operators, without personal data" /></p>
      <button type="submit" class="danger">Suspend</button>
    <//>`
}

function showResume(eid: string) {
  return html`<h2>Resume</h2>
    <p>Its requests are accepted again within a second. Runs that were cancelled are not started again.</p>
    <${PostForm} action=${organisationLink(eid, '/resume')}><button type="submit">Resume</button><//>`
}

async function suspend(context: Context): Promise<Outcome> {
  const reason = (await readForm(context.request)).get('reason') ?? ''
  await context.api.call(pathOf(context, '/suspension'), { method: 'PUT', body: { reason } })
  return { redirect: link(organisationLink(eidOf(context)), { notice: 'suspended' }) }
}

async function resume(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context, '/suspension'), { method: 'DELETE' })
  return { redirect: link(organisationLink(eidOf(context)), { notice: 'resumed' }) }
}
