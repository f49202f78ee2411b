import type * as types from '../../../client/src/types.ts'
import { lookUp } from '../../foundation/look-up.ts'
import { count, formatOptional } from '../../foundation/text/format-number.ts'
import { ApiProblem } from '../api.ts'
import type { Context, Route, Shown } from '../context.ts'
import { html, type VNode } from '../html.ts'
import { link, type Query, readPage, submissionLink } from '../links.ts'
import { PostForm } from '../post-form.ts'
import { type Catalogue, readRules, showCode, summarise } from '../rules.ts'
import { Pager, Table } from '../table.ts'
import { Time, Until } from '../time.ts'
import { describeReturnLink } from './describe-return.ts'
import { organisationLink } from './organisations.ts'

/** The pages of the collecting agency. */
export const returnPages: readonly Route[] = [
  { method: 'GET', path: '/returns/:return', handle: showOverview },
]

interface ReturnPage {
  readonly results?: readonly types.OwnReturn[]
}

/** The most returns that the list of submissions begins with: those that open last. */
const SHOWN = 20

const STATUSES = lookUp<string>({
  NotStarted: 'Not started',
  FilesReceived: 'Files received',
  Validating: 'Being checked',
  HasErrors: 'Has errors',
  Ready: 'Ready to submit',
  Submitted: 'Submitted',
})

const describe = (status = ''): string => STATUSES[status] ?? status

const returnLink = (returnId: string, more: Query = {}): string =>
  link(`/console/returns/${encodeURIComponent(returnId)}`, more)

const COLUMNS = ['Return', 'Due', 'State', { name: 'Errors', number: true }, { name: 'Open', hidden: true }]

/** The returns that the service collects from the organisation; nothing if it collects every return. */
export async function showReturns({ api, principal, eid }: Context): Promise<VNode | false> {
  const { results = [] } = await api.call<ReturnPage>('/returns', { query: { pageSize: SHOWN } })
  if (results.length === 0) return false
  const mayWrite = principal.scopes.has('submissions:write')
  return html`<${Table} region class="cards" label="Returns" caption=${`Returns of organisation ${eid}`} columns=${COLUMNS}>
    ${results.map((each) => {
      const { returnId = '', name, openWindowDate, dueDate, timeZone, window, notes } = each
      const { returnStatus, errorCount, submissionToken } = each
      const title = name ?? `Return ${returnId}`
      return html`<tr>
        <th scope="row">${submissionToken === undefined ? title : html`<a href=${link(submissionLink(submissionToken), { eid })}>${title}</a>`}${notes !== undefined && html`<br /><span class="soft">${notes}</span>`}</th>
        <td class="when"><${Until} at=${dueDate} zone=${timeZone} />${window === 'Overdue' && html` <span class="tag error">overdue</span>`}</td>
        <td class="when">${describe(returnStatus)}${
          window === 'NotOpen' &&
          html`<br /><span class="soft">opens <${Time} at=${openWindowDate} zone=${timeZone} /></span>`
        }${window === 'Closed' && html`<br /><span class="soft">closed</span>`}</td>
        <td class="number">${formatOptional(errorCount)}</td>
        <td class="when"><div class="actions">
          ${
            submissionToken === undefined &&
            mayWrite &&
            (window === 'Open' || window === 'Overdue') &&
            html`<${PostForm} action="/console/submissions" eid=${eid}>
              <input type="hidden" name="returnId" value=${returnId} /><button type="submit">Start</button>
            <//>`
          }
          ${principal.scopes.has('operate') && html`<a href=${returnLink(returnId)}>All organisations</a>`}
        </div></td>
      </tr>`
    })}
  <//>`
}

const PAGE_SIZE = 100

/** The causes shown at first: those of most organisations. */
const CAUSES_SHOWN = 25

async function showOverview({ api, request, query }: Context): Promise<Shown> {
  const { return: returnId } = request.params as { return: string }
  const page = readPage(query)
  const status = query.get('status') ?? undefined
  const path = `/returns/${encodeURIComponent(returnId)}`
  const [overview, { causes = [] }] = await Promise.all([
    api.call<types.ReturnOverview>(`${path}/overview`, { query: { page, pageSize: PAGE_SIZE, status } }),
    api.call<types.ReturnCauses>(`${path}/causes`),
  ])
  const { return: described = {}, statuses = {}, changes = {}, results = [], totalCount = 0 } = overview
  const shown = query.has('all') ? causes : causes.slice(0, CAUSES_SHOWN)
  const title = described.name ?? `Return ${returnId}`
  const rules = await readRules(api, described.definition).catch(unlessRefused)
  return {
    title,
    wide: true,
    notice: query.get('notice') === 'saved' ? 'The return is saved.' : undefined,
    content: html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/console/submissions">Submissions</a></nav>
      <h1>${title}</h1>
      <p class="facts">
        ${described.dueDate !== undefined && html`<span>Due <${Until} at=${described.dueDate} zone=${described.timeZone} /></span>`}
        ${described.closeWindowDate !== undefined && html`<span>Closes <${Until} at=${described.closeWindowDate} zone=${described.timeZone} /></span>`}
        <a href=${describeReturnLink(returnId)}>Change the return</a>
      </p>
      ${described.notes !== undefined && html`<p>${described.notes}</p>`}
      <nav aria-label="Organisations by state" class="views"><ul>
        <li><a href=${returnLink(returnId)} aria-current=${status === undefined ? 'page' : undefined}>All</a></li>
        ${Object.entries(statuses).map(
          ([name, number]) =>
            html`<li><a href=${returnLink(returnId, { status: name })} aria-current=${name === status ? 'page' : undefined}>${describe(name)} ${formatOptional(number)}</a></li>`,
        )}
      </ul></nav>
      <p class="soft">In the last 24 hours: ${count(changes.started ?? 0, 'submission')} started, ${changes.submitted ?? 0} submitted, ${changes.reopened ?? 0} reopened.</p>
      <${Table} region class="cards" label="Organisations" columns=${['Organisation', 'State', { name: 'Errors', number: true }, { name: 'Warnings', number: true }, 'Submitted']}>
        ${results.map(
          ({ eid, returnStatus, errorCount, warningCount, dateSubmitted }) => html`<tr>
            <th scope="row"><a href=${organisationLink(eid ?? '')}>${eid}</a></th>
            <td>${describe(returnStatus)}</td>
            <td class="number">${formatOptional(errorCount)}</td>
            <td class="number">${formatOptional(warningCount)}</td>
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
