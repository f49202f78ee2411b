import type * as types from '../../../client/src/types.ts'
import { count, formatBytes, formatNumber } from '../../foundation/text/format-number.ts'
import type { Having } from '../api.ts'
import { type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { Field } from '../fields.ts'
import { readForm } from '../forms.ts'
import { crumbs, html, pairs } from '../html.ts'
import { readList } from '../lists.ts'
import { PostForm } from '../post-form.ts'
import { type Column, sortRows, table } from '../table.ts'
import { showTime } from '../time.ts'
import { showState } from './states.ts'

export const organisationPages: readonly Route[] = [
  get('/operator/organisations', listOrganisations),
  get('/operator/organisations/:organisation', showOrganisation),
  post('/operator/organisations/:organisation/suspend', suspend, showOrganisation),
  post('/operator/organisations/:organisation/resume', resume, showOrganisation),
]

type Organisation = Having<
  types.Organisation,
  'eid' | 'state' | 'keys' | 'submissions' | 'fileBytes' | 'runs' | 'activeRuns' | 'findings'
>

const OPERATOR_LINK = ['/console/operator', 'Operator'] as const
const HOME = '/console/operator/organisations'
const PAGE_SIZE = 100

export const organisationLink = (eid: string, rest = '') => `${HOME}/${encodeURIComponent(eid)}${rest}`
const eidOf = ({ params: { organisation = '' } }: Context) => organisation
const pathOf = (context: Context, rest = '') => `/organisations/${encodeURIComponent(eidOf(context))}${rest}`

async function listOrganisations(context: Context): Promise<Shown> {
  const { results, totalCount, pager } = await readList<Organisation>(context, '/organisations', PAGE_SIZE)
  const sortedOn = pager === false ? context : undefined
  const [has, is] = totalCount === 1 ? ['has', 'is'] : ['have', 'are']
  return {
    title: 'Organisations',
    content: html`${crumbs(OPERATOR_LINK)}
      <h1>Organisations</h1>
      <p>${count(totalCount, 'organisation')} that a key covers, that ${has} submissions, or that ${is} suspended.</p>
      ${table('Organisations', sortRows(sortedOn, results, COLUMNS), COLUMNS, { sortedOn })}
      ${pager}`,
  }
}

const COLUMNS: readonly Column<Organisation>[] = [
  [
    'Organisation',
    ({ eid }) => html`<a href=${organisationLink(eid)}>${eid}</a>`,
    { sort: ({ eid }) => eid },
  ],
  ['State', ({ state }) => showState('organisation', state), { sort: ({ state }) => state }],
  ['Valid keys', ({ keys }) => keys, 'number'],
  ['Submissions', ({ submissions }) => submissions, 'number'],
  [
    'Files',
    ({ fileBytes }) => formatBytes(fileBytes),
    { style: 'number', sort: ({ fileBytes }) => fileBytes },
  ],
  ['Active checks', ({ activeRuns }) => activeRuns, 'number'],
  ['Findings', ({ findings }) => findings, 'number'],
]

async function showOrganisation(context: Context): Promise<Shown> {
  const organisation = await context.api.call<Organisation>(pathOf(context))
  const { eid, state, suspended, reason, keys, submissions, fileBytes, runs, activeRuns, findings } =
    organisation
  const facts = [
    [
      'State',
      html`${showState('organisation', state)}${suspended !== undefined && html` since ${showTime(suspended)}`}`,
    ],
    ['Reason', reason],
    ['Valid keys', formatNumber(keys)],
    ['Submissions', formatNumber(submissions)],
    ['Files', formatBytes(fileBytes)],
    ['Checks', `${formatNumber(runs)}, of which ${formatNumber(activeRuns)} waiting or running`],
    ['Findings', formatNumber(findings)],
  ] as const
  return {
    title: `Organisation ${eid}`,
    content: html`${crumbs(OPERATOR_LINK, [HOME, 'Organisations'])}
      <h1>Organisation ${eid}</h1>
      ${pairs(facts)}
      ${state === 'Suspended' ? showResume(eid) : showSuspend(eid)}`,
  }
}

function showSuspend(eid: string) {
  return html`<h2>Suspend</h2>
    <p>Every request for its data is refused within a second, with any credential, and its checks that wait or run are
      cancelled. Nothing is deleted.</p>
    <${PostForm} action=${organisationLink(eid, '/suspend')}>
      <p><${Field} name="reason" label="Reason, for operators, without personal data" /></p>
      <button type="submit" class="danger">Suspend</button>
    <//>`
}

function showResume(eid: string) {
  return html`<h2>Resume</h2>
    <p>Its requests are accepted again within a second. Checks that were cancelled are not started again.</p>
    <${PostForm} action=${organisationLink(eid, '/resume')}><button type="submit">Resume</button><//>`
}

async function suspend(context: Context): Promise<Outcome> {
  const reason = (await readForm(context.request)).get('reason') ?? ''
  await context.api.call(pathOf(context, '/suspension'), { method: 'PUT', body: { reason } })
  return { redirect: organisationLink(eidOf(context)), notice: 'The organisation is suspended.' }
}

async function resume(context: Context): Promise<Outcome> {
  await context.api.call(pathOf(context, '/suspension'), { method: 'DELETE' })
  return { redirect: organisationLink(eidOf(context)), notice: 'The organisation is active again.' }
}
