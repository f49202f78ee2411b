import type * as types from '../../../client/src/types.ts'
import { count, formatNumber, formatOptional } from '../../foundation/text/format-number.ts'
import { ApiProblem } from '../api.ts'
import type { Context, Outcome, Route, Shown } from '../context.ts'
import { Field } from '../fields.ts'
import { readForm } from '../forms.ts'
import { html, type VNode } from '../html.ts'
import { link, type Query, readPage, submissionLink } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { type Catalogue, readRules, showCode, summarise } from '../rules.ts'
import { Pager, Table } from '../table.ts'
import { Time, Until } from '../time.ts'
import { organisationLink } from './organisations.ts'
import { describeStanding, STANDINGS } from './standing.ts'

/** The pages of the collecting agency. */
export const returnPages: readonly Route[] = [
  { method: 'GET', path: '/returns', handle: listReturns },
  { method: 'GET', path: '/returns/:return', handle: showOverview },
  { method: 'GET', path: '/returns/:return/:organisation', handle: showOrganisation },
  { method: 'POST', path: '/returns/:return/:organisation/reopen', handle: reopen, again: showOrganisation },
]

const returnLink = (returnId: string, more: Query = {}): string =>
  link(`/console/returns/${encodeURIComponent(returnId)}`, more)

const standingLink = (returnId: string, eid: string, rest = '', more: Query = {}): string =>
  link(`${returnLink(returnId)}/${encodeURIComponent(eid)}${rest}`, more)

/** The order in which returns need the agency. */
const WINDOWS = ['Overdue', 'Open', 'Closed', 'NotOpen']

/** The returns of a page. The state of all organisations is read for each. */
const RETURNS = 20

async function listReturns({ api, query }: Context): Promise<Shown> {
  const page = readPage(query)
  const { results = [], totalCount = 0 } = await api.call<types.ReturnPage>('/returns', {
    query: { page, pageSize: RETURNS },
    ofAll: true,
  })
  const rank = ({ window }: types.OwnReturn) => WINDOWS.indexOf(String(window))
  const rows = await Promise.all(
    results
      .toSorted((one, other) => rank(one) - rank(other))
      .map(async (each) => ({ ...each, statuses: await readStatuses(api, each.returnId) })),
  )
  const columns = [
    'Return',
    'Due',
    'Progress',
    { name: 'Submitted', number: true },
    { name: 'Not started', number: true },
  ]
  return {
    title: 'Returns',
    content: html`<h1>Returns</h1>
      ${
        totalCount === 0 &&
        html`<p>No returns are described, so this service accepts every return, and expects none from anybody.</p>
          <p>Describe the returns that you collect, with their dates and organisations: <code>mahi returns import FILE</code>.</p>`
      }
      ${
        rows.length > 0 &&
        html`<${Table} region class="cards" label="Returns" columns=${columns}>${rows.map(
          ({ returnId = '', name, dueDate, timeZone, window, statuses }) => html`<tr>
            <th scope="row"><a href=${returnLink(returnId)}>${name ?? `Return ${returnId}`}</a></th>
            <td class="when"><${Until} at=${dueDate} zone=${timeZone} /> ${showPhase(window)}</td>
            <td>${showProgress(statuses)}</td>
            <td class="number">${formatNumber(statuses.Submitted ?? 0)} of ${formatNumber(sum(statuses))}</td>
            <td class="number">${formatOptional(statuses.NotStarted)}</td>
          </tr>`,
        )}<//>`
      }
      <${Pager} page=${page} pages=${Math.ceil(totalCount / RETURNS)} to=${(number: number) => link('/console/returns', { page: number })} />`,
  }
}

function showPhase(window: types.OwnReturn['window']): VNode | false {
  if (window === 'Overdue') return html`<span class="soft">overdue</span>`
  if (window === 'NotOpen') return html`<span class="soft">not open</span>`
  return window === 'Closed' && html`<span class="soft">closed</span>`
}

type Statuses = Readonly<Record<string, number>>

const sum = (statuses: Statuses): number => Object.values(statuses).reduce((all, each) => all + each, 0)

async function readStatuses(api: Context['api'], returnId = ''): Promise<Statuses> {
  const path = `/returns/${encodeURIComponent(returnId)}/overview`
  const { statuses = {} } = await api.call<types.ReturnOverview>(path, { query: { pageSize: 1 } })
  return statuses as Statuses
}

const BAR = 200

/** How far the organisations are, as a bar with a text for those who do not see it. */
function showProgress(statuses: Statuses): VNode {
  const all = sum(statuses)
  const parts = STANDINGS.map(([standing, name, style]) => ({ name, style, number: statuses[standing] ?? 0 }))
  const text = parts.map(({ name, number }) => `${name}: ${formatNumber(number)}`).join(', ')
  let at = 0
  return html`<svg class="progress" viewBox=${`0 0 ${BAR} 10`} preserveAspectRatio="none" role="img" aria-label=${text}>
    ${parts.map(({ style, number }) => {
      const width = all === 0 ? 0 : (number / all) * BAR
      at += width
      return number > 0 && html`<rect class=${style} x=${at - width} width=${width} height="10" />`
    })}
  </svg>`
}

const PAGE_SIZE = 100

/** The causes shown at first: those of most organisations. */
const CAUSES_SHOWN = 25

/** The most organisations that the API lists at once. */
const MOST = 1_000

async function showOverview({ api, request, query }: Context): Promise<Shown> {
  const { return: returnId } = request.params as { return: string }
  const page = readPage(query)
  const status = query.get('status') ?? undefined
  const path = `/returns/${encodeURIComponent(returnId)}`
  const [overview, { causes = [] }, missing] = await Promise.all([
    api.call<types.ReturnOverview>(`${path}/overview`, { query: { page, pageSize: PAGE_SIZE, status } }),
    api.call<types.ReturnCauses>(`${path}/causes`),
    api.call<types.ReturnOverview>(`${path}/overview`, { query: { pageSize: MOST, status: 'NotStarted' } }),
  ])
  const { return: described = {}, changes = {}, results = [], totalCount = 0 } = overview
  const statuses = (overview.statuses ?? {}) as Statuses
  const shown = query.has('all') ? causes : causes.slice(0, CAUSES_SHOWN)
  const title = described.name ?? `Return ${returnId}`
  const rules = await readRules(api, described.definition).catch(unlessRefused)
  return {
    title,
    content: html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/console/returns">Returns</a></nav>
      <h1>${title}</h1>
      <p class="facts">
        ${described.dueDate !== undefined && html`<span>Due <${Until} at=${described.dueDate} zone=${described.timeZone} /></span>`}
        ${described.closeWindowDate !== undefined && html`<span>Closes <${Until} at=${described.closeWindowDate} zone=${described.timeZone} /></span>`}
      </p>
      ${described.notes !== undefined && html`<p>${described.notes}</p>`}
      ${showProgress(statuses)}
      <nav aria-label="Organisations by state" class="views"><ul>
        <li><a href=${returnLink(returnId)} aria-current=${status === undefined ? 'page' : undefined}>All ${formatNumber(sum(statuses))}</a></li>
        ${STANDINGS.map(
          ([standing, name]) =>
            html`<li><a href=${returnLink(returnId, { status: standing })} aria-current=${standing === status ? 'page' : undefined}>${name} ${formatOptional(statuses[standing])}</a></li>`,
        )}
      </ul></nav>
      <p class="soft">In the last 24 hours: ${count(changes.started ?? 0, 'submission')} started, ${changes.submitted ?? 0} submitted, ${changes.reopened ?? 0} reopened.</p>
      ${showMissing(missing.results ?? [], missing.totalCount ?? 0)}
      <${Table} region class="cards" label="Organisations" columns=${['Organisation', 'State', { name: 'Errors', number: true }, { name: 'Warnings', number: true }, 'Started', 'Submitted']}>
        ${results.map(
          ({ eid = '', returnStatus, errorCount, warningCount, dateCreated, dateSubmitted }) => html`<tr>
            <th scope="row"><a href=${standingLink(returnId, eid)}>${eid}</a></th>
            <td>${describeStanding(returnStatus)}</td>
            <td class="number">${formatOptional(errorCount)}</td>
            <td class="number">${formatOptional(warningCount)}</td>
            <td class="when"><${Time} at=${dateCreated} /></td>
            <td class="when"><${Time} at=${dateSubmitted} /></td>
          </tr>`,
        )}
      <//>
      <${Pager} page=${page} pages=${Math.ceil(totalCount / PAGE_SIZE)}
        to=${(number: number) => returnLink(returnId, { status, page: number })} />
      ${causes.length > 0 && html`<h2>Most frequent causes</h2>${showCauses(shown, rules)}`}
      ${causes.length > shown.length && html`<p><a href=${returnLink(returnId, { status, all: 'yes' })}>Show ${count(causes.length - shown.length, 'more cause')}</a></p>`}`,
  }
}

/** Those who have not started, as text to copy into a reminder. */
function showMissing(results: readonly types.ReturnOverviewResults[], total: number): VNode | false {
  if (total === 0) return false
  const first = total > results.length ? `, the first ${formatNumber(results.length)}` : ''
  return html`<details class="no-print">
    <summary>${count(total, 'organisation')} not started, as a list to copy${first}</summary>
    <pre tabindex="0" data-copy="Copy the list">${results.map(({ eid }) => eid).join('\n')}</pre>
  </details>`
}

/** An operator may lack the scope for rules, and then sees their codes. */
function unlessRefused(error: unknown): undefined {
  if (!(error instanceof ApiProblem)) throw error
}

function showCauses(causes: NonNullable<types.ReturnCauses['causes']>, rules: Catalogue | undefined): VNode {
  const columns = [
    'Code',
    'What is wrong',
    'Severity',
    'File',
    'Field',
    { name: 'Organisations', number: true },
    { name: 'Records', number: true },
  ]
  return html`<${Table} region class="cards" label="Most frequent causes" columns=${columns}>
    ${causes.map(
      ({ code = '', severity = '', file, field, organisations, records }) => html`<tr>
        <th scope="row" class="code">${showCode(rules, code)}</th>
        <td>${summarise(rules?.byCode.get(code)?.message ?? '')}</td>
        <td><span class=${`tag ${severity.toLowerCase()}`}>${severity}</span></td>
        <td>${file}</td>
        <td class="mono">${field}</td>
        <td class="number">${formatOptional(organisations)}</td>
        <td class="number">${formatOptional(records)}</td>
      </tr>`,
    )}
  <//>`
}

/** How far an organisation is with a return: what the agency may know without its records. */
async function showOrganisation({ api, request, principal, query }: Context): Promise<Shown> {
  const { return: returnId, organisation } = request.params as { return: string; organisation: string }
  const { known, standing } = await findStanding(api, returnId, organisation)
  if (standing === undefined) return noOrganisation(returnId, organisation)
  const {
    submissionToken: token,
    returnStatus,
    errorCount,
    warningCount,
    dateCreated,
    dateSubmitted,
  } = standing
  const mayRead = principal.eids.has(organisation) && principal.scopes.has('validation-results:read')
  const facts = [
    ['State', describeStanding(returnStatus)],
    ['Errors', errorCount === undefined ? 'not known: no check covers the files' : formatNumber(errorCount)],
    ['Warnings', formatOptional(warningCount)],
    ['Started', dateCreated && html`<${Time} at=${dateCreated} />`],
    ['Submitted', dateSubmitted && html`<${Time} at=${dateSubmitted} />`],
    ['Submission', token && html`<span class="mono">${token}</span>`],
  ] as const
  return {
    title: `Organisation ${organisation} – ${known?.name ?? returnId}`,
    notice:
      query.get('notice') === 'reopened'
        ? 'Reopened. The organisation can change it again, and sees the reason.'
        : undefined,
    content: html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/console/returns">Returns</a> › <a href=${returnLink(returnId)}>${known?.name ?? `Return ${returnId}`}</a></nav>
      <h1>Organisation ${organisation}</h1>
      <dl class="pairs">${facts.map(([name, value]) => value !== undefined && value !== '' && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      <p class="actions">
        ${token !== undefined && mayRead && html`<a class="button" href=${link(submissionLink(token), { eid: organisation })}>Open the submission</a>`}
        ${token !== undefined && html`<a href=${organisationLink(organisation)}>What it uses, and suspending it</a>`}
      </p>
      ${token !== undefined && !mayRead && html`<p class="soft">Its records and findings need a key that covers the organisation and has the scope <code>validation-results:read</code>.</p>`}
      ${
        returnStatus === 'Submitted' &&
        token !== undefined &&
        html`<h2>Reopen</h2><${ReopenForm} action=${standingLink(returnId, organisation, '/reopen')} token=${token} />`
      }`,
  }
}

async function findStanding(
  api: Context['api'],
  returnId: string,
  organisation: string,
): Promise<{ known: types.Return | undefined; standing: types.ReturnOverviewResults | undefined }> {
  const path = `/returns/${encodeURIComponent(returnId)}/overview`
  for (let page = 1; ; page++) {
    const overview = await api.call<types.ReturnOverview>(path, { query: { page, pageSize: MOST } })
    const standing = overview.results?.find(({ eid }) => eid === organisation)
    if (standing !== undefined || page * MOST >= (overview.totalCount ?? 0))
      return { known: overview.return, standing }
  }
}

function noOrganisation(returnId: string, organisation: string): Shown {
  return {
    title: 'Not expected',
    status: 404,
    content: html`<h1>Organisation ${organisation} is not expected</h1>
      <p>It has no submission for this return either. <a href=${returnLink(returnId)}>Those that are expected</a></p>`,
  }
}

/** The form with which the agency opens a submitted submission again. */
export function ReopenForm({ action, token, eid }: { action: string; token: string; eid?: string }): VNode {
  return html`<${PostForm} action=${action} eid=${eid}>
    <input type="hidden" name="token" value=${token} />
    <p>The organisation can then change and submit it again for seven days. It sees the reason.</p>
    <${Field} name="reason" label="Reason" rows=${2} required maxlength="2000" />
    <p><button type="submit">Reopen the submission</button></p>
  <//>`
}

/** Opens a submission again, for the reason in a form. */
export async function reopenSubmission({ api, request }: Context): Promise<void> {
  const form = await readForm(request)
  const path = `/submissions/${encodeURIComponent(form.get('token') ?? '')}/reopen`
  await api.call(path, { method: 'POST', body: { reason: (form.get('reason') ?? '').trim() } })
}

async function reopen(context: Context): Promise<Outcome> {
  const { return: returnId, organisation } = context.request.params as {
    return: string
    organisation: string
  }
  await reopenSubmission(context)
  return { redirect: standingLink(returnId, organisation, '', { notice: 'reopened' }) }
}
