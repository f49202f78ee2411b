import type * as types from '../../../client/src/types.ts'
import type { RefusalReason } from '../../api/access/audit.ts'
import { count, formatNumber } from '../../foundation/text/format-number.ts'
import { type Complete, type Having, readProblem } from '../api.ts'
import { type Context, get, type Route, type Shown } from '../context.ts'
import { html, pairs, type VNode } from '../html.ts'
import { table } from '../table.ts'
import { Day, showTime } from '../time.ts'
import { nameState } from './states.ts'

export const operatorPages: readonly Route[] = [get('/operator', showOperator)]

const REASONS: Readonly<Record<RefusalReason, string>> = {
  missing: 'No credential',
  unknown: 'Unknown key',
  secret: 'Known key ID with a wrong secret',
  revoked: 'Revoked key',
  expired: 'Expired key',
  jwt: 'Invalid JSON Web Token',
  client: 'X-Client-ID of another client',
  scope: 'Missing scope',
  submission: 'EID, submission and credential do not belong together',
  suspended: 'Suspended organisation',
}

type Key = Having<types.OverviewKey, 'id' | 'client' | 'scopes' | 'eids' | 'created' | 'expires'>

/** From `/v1/overview`. */
type Overview = Complete<Omit<types.Overview, 'jobs' | 'keys'>> & {
  readonly jobs: readonly Having<types.OverviewJobs, 'kind' | 'waiting'>[]
  readonly keys: readonly Key[]
}

async function showOperator({ services, api }: Context): Promise<Shown> {
  const now = Date.now()
  const overview = await api.call<Overview>('/overview')
  const ready = await services.app.inject('/readyz')
  const { version, database, submissions, runs, jobs, keys, expiringKeys, refusals } = overview
  const refused = Object.entries(refusals).map(
    ([reason, number]) => [REASONS[reason as RefusalReason], number] as const,
  )
  const waiting = jobs.flatMap(({ kind, waiting, oldest }) =>
    oldest === undefined ? [] : [describeWaiting(kind, waiting, oldest)],
  )
  const live = keys.filter((key) => key.revoked === undefined && Date.parse(key.expires) > now)
  const warning =
    expiringKeys > 0 &&
    html`, <strong class="warning">${formatNumber(expiringKeys)} of them ${expiringKeys === 1 ? 'expires' : 'expire'} within 30 days, and nothing replaces ${expiringKeys === 1 ? 'it' : 'them'}</strong>`
  const health =
    ready.statusCode === 200 ? 'Ready' : html`<strong class="warning">${readProblem(ready).detail}</strong>`
  return {
    title: 'Operator',
    content: html`<h1>Operator</h1>
      ${pairs([
        ['Version', version],
        ['Database', database],
        ['Health', health],
      ])}
      <h2>Submissions</h2>
      ${showCounts(Object.entries(submissions), 'submissions')}
      <h3>Checks</h3>
      ${showCounts(
        Object.entries(runs).map(([status, number]) => [nameState('check', status), number]),
        'checks',
      )}
      <h3>Queue</h3>
      ${waiting.length === 0 ? html`<p class="soft">No jobs waiting.</p>` : html`<ul>${waiting.map((each) => html`<li>${each}</li>`)}</ul>`}
      <h2>Organisations</h2>
      <p><a href="/console/operator/organisations">What each organisation uses, and suspending one</a></p>
      <h2>Keys</h2>
      <p>${count(live.length, 'valid key')}${warning}. <span class="soft">A use is shown within a minute.</span></p>
      ${table('Keys', keys, [
        ['Id', ({ id }) => id, 'mono'],
        ['Client', ({ client }) => client],
        ['Scopes', ({ scopes }) => scopes.join(', ')],
        ['Organisations', ({ eids }) => eids.join(', ')],
        ['Last used', ({ used }) => (used === undefined ? 'never' : html`<${Day} at=${used} />`)],
        ['Expires', (key) => showEnd(key, now)],
      ])}
      <h2>Refused credentials</h2>
      <p class="soft">Since this process started. The log names the caller of each.</p>
      ${showCounts(refused, 'refused credentials')}`,
  }
}

function describeWaiting(kind: string, waiting: number, oldest: string): VNode {
  return html`${kind}: ${count(waiting, 'job')}, ${waiting === 1 ? '' : 'the oldest '}waiting since ${showTime(oldest)}`
}

function showCounts(counts: readonly (readonly [string, number])[], noun: string) {
  return counts.length === 0
    ? html`<p class="soft">No ${noun}.</p>`
    : html`<ul>${counts.map(([name, number]) => html`<li>${name}: ${formatNumber(number)}</li>`)}</ul>`
}

function showEnd({ revoked, expires }: Key, now: number): VNode | string {
  if (revoked !== undefined) return 'revoked'
  return Date.parse(expires) <= now ? 'expired' : html`<${Day} at=${expires} />`
}
