import type * as types from '../../../client/src/types.ts'
import { count, formatNumber, formatOptional } from '../../foundation/text/format-number.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { readZoned } from '../../foundation/text/zoned-time.ts'
import { absent, type Context, get, type Outcome, post, type Route, type Shown } from '../context.ts'
import { FormFault } from '../faults.ts'
import { Field } from '../fields.ts'
import { readForm } from '../forms.ts'
import { crumbs, html, pairs, tag, type VNode, views } from '../html.ts'
import { link, type Query, submissionLink } from '../links.ts'
import { cut, readList } from '../lists.ts'
import { PostForm } from '../post-form.ts'
import { ruleLink } from '../rules.ts'
import { type Column, sortRows, table } from '../table.ts'
import { showTime, Until } from '../time.ts'
import { organisationLink } from './organisations.ts'
import { nameState, STANDINGS, showStanding, showState } from './states.ts'

/** The pages of the collecting agency. */
export const returnPages: readonly Route[] = [
  get('/returns', listReturns),
  get('/returns/:return', showOverview),
  get('/returns/:return/:organisation', showOrganisation),
  post('/returns/:return/:organisation/reopen', reopen, showOrganisation),
]

const RETURNS_LINK = ['/console/returns', 'Returns'] as const

const returnLink = (returnId: string, more: Query = {}): string =>
  link(`/console/returns/${encodeURIComponent(returnId)}`, more)

const standingLink = (returnId: string, eid: string, rest = ''): string =>
  `${returnLink(returnId)}/${encodeURIComponent(eid)}${rest}`

/** The order in which returns need the agency. */
const WINDOWS = ['Overdue', 'Open', 'Closed', 'NotOpen']

/** The returns of a page. The state of all organisations is read for each. */
const RETURNS = 20

async function listReturns(context: Context): Promise<Shown> {
  const { api } = context
  const { results, pager } = await readList<types.OwnReturn>(context, '/returns', RETURNS, { ofAll: true })
  const rank = ({ window }: types.OwnReturn) => WINDOWS.indexOf(String(window))
  const rows = await Promise.all(
    results
      .toSorted((one, other) => rank(one) - rank(other))
      .map(async (each) => ({ ...each, statuses: await readStatuses(api, each.returnId) })),
  )
  return {
    title: 'Returns',
    content: html`<h1>Returns</h1>
      ${table(
        'Returns',
        rows,
        [
          [
            'Return',
            ({ returnId = '', name }) =>
              html`<a href=${returnLink(returnId)}>${name ?? `Return ${returnId}`}</a>`,
          ],
          [
            'Due',
            ({ dueDate, window = 'Open' }) =>
              html`<${Until} at=${dueDate} /> ${window !== 'Open' && showState('window', window)}`,
          ],
          ['Progress', ({ statuses }) => showProgress(statuses)],
          [
            'Submitted',
            ({ statuses }) => `${formatNumber(statuses.Submitted ?? 0)} of ${formatNumber(sum(statuses))}`,
            'number',
          ],
          ['Not started', ({ statuses }) => statuses.NotStarted, 'number'],
        ],
        {
          empty: html`No returns are described, so this service accepts every return, and expects none from anybody.
        Describe the returns that you collect, with their dates and organisations: <code>mahi returns import FILE</code>.`,
        },
      )}
      ${pager}`,
  }
}

type Statuses = Readonly<Record<string, number>>

const sum = (statuses: Statuses): number => Object.values(statuses).reduce((all, each) => all + each, 0)

async function readStatuses(api: Context['api'], returnId = ''): Promise<Statuses> {
  const path = `/returns/${encodeURIComponent(returnId)}/overview`
  const { statuses = {} } = await api.call<types.ReturnOverview>(path, { query: { pageSize: 1 } })
  return statuses as Statuses
}

const BAR = 200

/**
 * How far the organisations are, as a bar and its legend.
 *
 * @param linkOf the page of those in a state, or of all, if the legend is links to them
 * @param current the state whose page is shown
 */
function showProgress(statuses: Statuses, linkOf?: (standing?: string) => string, current?: string): VNode {
  const all = sum(statuses)
  const parts = STANDINGS.flatMap(({ standing, name, style }) => {
    const { [standing]: number = 0 } = statuses
    return number === 0 ? [] : [{ standing, name, style, number }]
  })
  let at = 0
  return html`<div class="progress">
    <svg viewBox=${`0 0 ${BAR} 10`} preserveAspectRatio="none" aria-hidden="true">${parts.map(
      ({ style, number }) => {
        const width = (number / all) * BAR
        at += width
        return html`<rect class=${style} x=${at - width} width=${width} height="10" />`
      },
    )}</svg>
    ${
      linkOf === undefined
        ? html`<ul>${parts.map((part) => html`<li>${nameParts(part)}</li>`)}</ul>`
        : views(
            'Organisations by state',
            [
              [linkOf(), `All ${formatNumber(all)}`],
              ...parts.map((part) => [linkOf(part.standing), nameParts(part)] as const),
            ],
            linkOf(current),
          )
    }
  </div>`
}

interface Part {
  readonly name: string
  readonly style: string
  readonly number: number
}

const nameParts = ({ name, style, number }: Part): VNode =>
  html`<i class=${style}></i>${name} ${formatNumber(number)}`

const PAGE_SIZE = 100

/** The causes shown at first: those of most organisations. */
const CAUSES_SHOWN = 25

/** The most organisations that the API lists at once. */
const MOST = 1_000

async function showOverview(context: Context): Promise<Shown> {
  const { api, params, principal, query } = context
  const { return: returnId = '' } = params
  const status = query.get('status') ?? undefined
  const path = `/returns/${encodeURIComponent(returnId)}`
  // Only all organisations together can be ordered.
  const size = query.has('sort') ? MOST : PAGE_SIZE
  const [overview, { causes = [] }, missing] = await Promise.all([
    readList<types.ReturnOverviewResults, types.ReturnOverview>(context, `${path}/overview`, size, {
      query: { status },
    }),
    api.call<types.ReturnCauses>(`${path}/causes`),
    api.call<types.ReturnOverview>(`${path}/overview`, { query: { pageSize: MOST, status: 'NotStarted' } }),
  ])
  const { return: described = {}, changes = {}, results, totalCount, pager } = overview
  const sortedOn = totalCount <= MOST ? context : undefined
  const columns: readonly Column<types.ReturnOverviewResults>[] = [
    [
      'Organisation',
      ({ eid = '', suspended }) =>
        html`<a href=${standingLink(returnId, eid)}>${eid}</a>${suspended !== undefined && html` ${showState('organisation', 'Suspended')}`}`,
      { sort: ({ eid }) => eid },
    ],
    [
      'State',
      (standing) => showStanding({ ...described, ...standing }),
      { sort: ({ returnStatus = '' }) => nameState('submission', returnStatus) },
    ],
    ['Errors', ({ errorCount }) => errorCount, 'number'],
    ['Warnings', ({ warningCount }) => warningCount, 'number'],
    [
      'Last activity',
      ({ dateLastActivity }) => showTime(dateLastActivity),
      { sort: ({ dateLastActivity }) => dateLastActivity },
    ],
    [
      'Submitted',
      ({ dateSubmitted }) => showTime(dateSubmitted),
      { sort: ({ dateSubmitted }) => dateSubmitted },
    ],
  ]
  const statuses = (overview.statuses ?? {}) as Statuses
  const { shown, more } = cut(context, causes, CAUSES_SHOWN, 'cause')
  const title = described.name ?? `Return ${returnId}`
  const ofState = (standing?: string) => returnLink(returnId, { status: standing })
  const toRules = principal.scopes.has('validation-results:read') ? described.definition : undefined
  return {
    title,
    content: html`${crumbs(RETURNS_LINK)}
      <h1>${title}</h1>
      <p class="facts">
        ${described.dueDate !== undefined && html`<span>Due <${Until} at=${described.dueDate} /></span>`}
        ${described.closeWindowDate !== undefined && html`<span>Closes <${Until} at=${described.closeWindowDate} /></span>`}
      </p>
      ${described.notes !== undefined && html`<p>${described.notes}</p>`}
      ${showProgress(statuses, ofState, status)}
      <p class="soft">In the last 24 hours: ${count(changes.started ?? 0, 'submission')} created, ${changes.submitted ?? 0} submitted, ${changes.reopened ?? 0} reopened.${causes.length > 0 && html` <a href="#causes">Most frequent causes</a>`}</p>
      ${described.window !== 'NotOpen' && showMissing(missing.results ?? [], missing.totalCount ?? 0)}
      ${table('Organisations', sortRows(sortedOn, results, columns), columns, {
        empty: 'No organisation has this state.',
        sortedOn,
      })}
      ${pager}
      ${causes.length > 0 && html`<h2 id="causes">Most frequent causes</h2>${showCauses(shown, toRules)}`}
      ${more}`,
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

/** @param definition whose rules the reader may see; their codes are links to them */
function showCauses(causes: readonly types.ReturnCausesCauses[], definition: string | undefined): VNode {
  return table('Most frequent causes', causes, [
    [
      'Code',
      ({ code = '' }) =>
        definition === undefined ? code : html`<a href=${ruleLink(definition, code)}>${code}</a>`,
      'code',
    ],
    ['What is wrong', ({ sentence }) => sentence],
    ['Severity', ({ severity = '' }) => tag(severity)],
    ['File', ({ file }) => file],
    ['Field', ({ field, columns = 1 }) => (columns > 1 ? count(columns, 'column') : field), 'mono'],
    ['Organisations', ({ organisations }) => organisations, 'number'],
    ['Records', ({ records = 0 }) => records > 0 && records, 'number'],
  ])
}

/** How far an organisation is with a return: what the agency may know without its records. */
async function showOrganisation({ api, params, principal }: Context): Promise<Shown> {
  const { return: returnId = '', organisation = '' } = params
  const { known, standing } = await findStanding(api, returnId, organisation)
  if (standing === undefined) return noOrganisation(returnId, organisation)
  const { submissionToken: token, errorCount, warningCount, dateSubmitted, suspended } = standing
  const mayRead = principal.eids.has(organisation) && principal.scopes.has('validation-results:read')
  const facts = [
    ['State', showStanding({ ...known, ...standing })],
    ['Suspended', suspended && html`since ${showTime(suspended)}`],
    ['Errors', formatOptional(errorCount)],
    ['Warnings', formatOptional(warningCount)],
    ['Created', showTime(standing.dateCreated)],
    ['Last activity', showTime(standing.dateLastActivity)],
    ['Submitted', showTime(dateSubmitted)],
    ['Submission', token && html`<span class="mono">${token}</span>`],
  ] as const
  return {
    title: `Organisation ${organisation} – ${known?.name ?? returnId}`,
    content: html`${crumbs(RETURNS_LINK, [returnLink(returnId), known?.name ?? `Return ${returnId}`])}
      <h1>Organisation ${organisation}</h1>
      ${pairs(facts)}
      <p class="actions">
        ${token !== undefined && mayRead && html`<a class="button" href=${link(submissionLink(token), { eid: organisation })}>Open the submission</a>`}
        ${token !== undefined && dateSubmitted !== undefined && mayRead && html`<a href=${link(submissionLink(token, '/receipt'), { eid: organisation })}>Receipt</a>`}
        ${token !== undefined && html`<a href=${organisationLink(organisation)}>What it uses, and suspending it</a>`}
      </p>
      ${token !== undefined && !mayRead && html`<p class="soft">Its records and findings need a key that covers the organisation and has the scope <code>validation-results:read</code>.</p>`}
      ${
        standing.returnStatus === 'Submitted' &&
        token !== undefined &&
        html`<h2>Reopen</h2>${showReopenForm(standingLink(returnId, organisation, '/reopen'), token)}`
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

const noOrganisation = (returnId: string, organisation: string): Shown =>
  absent(
    `Organisation ${organisation} is not expected`,
    html`It has no submission for this return either. <a href=${returnLink(returnId)}>Those that are expected</a>`,
  )

/** The form with which the agency opens a submitted submission again. */
export function showReopenForm(action: string, token: string): VNode {
  return html`<${PostForm} action=${action} keep=${{ token }}>
    <p>The organisation can then change and submit it again. It sees the reason.</p>
    <${Field} name="reason" label="Reason" rows=${2} required />
    <${Field} name="until" type="date" label="Until the end of this day. If it is empty: for seven days, or until the return closes if that is later" />
    <p><button type="submit">Reopen the submission</button></p>
  <//>`
}

/** What is said then. */
export const REOPENED = 'Reopened. The organisation can change it again, and sees the reason.'

/** Opens a submission again, for the reason in a form. */
export async function reopenSubmission({ api, request, services }: Context): Promise<void> {
  const form = await readForm(request)
  const path = `/submissions/${encodeURIComponent(form.get('token') ?? '')}/reopen`
  const reason = (form.get('reason') ?? '').trim()
  const day = form.get('until') || undefined
  const until = day && readZoned(day, services.timeZone, true)
  if (day !== undefined && Number(until ?? 0) <= Date.now())
    throw new FormFault('The last day must be today or later.', { field: 'until' })
  await api.call(path, { method: 'POST', body: { reason, ...(until && { until: formatTimestamp(until) }) } })
}

async function reopen(context: Context): Promise<Outcome> {
  const { return: returnId = '', organisation = '' } = context.params
  await reopenSubmission(context)
  return { redirect: standingLink(returnId, organisation), notice: REOPENED }
}
