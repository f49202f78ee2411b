import { REFUSAL_REASONS, type RefusalReason } from '../../access/audit.ts'
import { type KeyDescription, listKeys } from '../../access/keys.ts'
import { listRevisions } from '../../occupations/history/revision-log.ts'
import { VERSION } from '../../package/root.ts'
import { ApiProblem, readProblem } from '../api.ts'
import type { Context, Route, Shown } from '../context.ts'
import { html } from '../html.ts'
import { count, showTime } from '../links.ts'

export const operatorPages: readonly Route[] = [{ method: 'GET', path: '/operator', handle: showOperator }]

const DAY = 86_400_000

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
}

async function showOperator({ services, principal }: Context): Promise<Shown> {
  if (!principal.scopes.has('operate')) {
    throw new ApiProblem({
      status: 401,
      title: 'The request is not authorised',
      detail: 'This page needs a key with the scope "operate". No key has it by default.',
    })
  }
  const { database } = services
  const now = Date.now()
  const [ready, keys, revisions, uses, states, runs, jobs] = await Promise.all([
    services.app.inject('/readyz'),
    listKeys(database),
    listRevisions(database, 10),
    database.all<{ key_id: string; used: number }>('select key_id, used from key_use'),
    database.all<{ state: string; number: number }>(
      `select case when ended is not null then ended when created is null then 'Published' else 'Open' end as state,
         count(*) as number from submission group by 1 order by 1`,
    ),
    database.all<{ status: string; number: number }>(
      'select status, count(*) as number from submission_run group by status order by status',
    ),
    database.all<{ kind: string; number: number; oldest: number }>(
      'select kind, count(*) as number, min(queued) as oldest from job group by kind order by kind',
    ),
  ])
  const refused = REFUSAL_REASONS.map((reason) => ({
    reason,
    number: services.access.audit.refusals[reason],
  })).filter(({ number }) => number > 0)
  const used = new Map(uses.map((use) => [use.key_id, use.used]))
  const live = keys.filter((key) => key.revoked === null && key.expires > now)
  const expiring = live.filter((key) => key.expires < now + 30 * DAY)
  const listCounts = (rows: readonly { number: number }[], name: (row: never) => string, noun: string) =>
    rows.length === 0
      ? html`<p class="soft">No ${noun}.</p>`
      : html`<ul>${rows.map((row) => html`<li>${name(row as never)}: ${Number(row.number)}</li>`)}</ul>`
  return {
    title: 'Operator',
    wide: true,
    content: html`<h1>Operator</h1>
      <dl class="pairs"><dt>Version</dt><dd>${VERSION}</dd><dt>Database</dt><dd>${database.address}</dd><dt>Health</dt><dd>${ready.statusCode === 200 ? 'Ready: the database responds, and every change is known.' : html`<strong class="warning">${readProblem(ready).detail}</strong>`}</dd></dl>
      <h2>Catalogue</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="Revisions"><table>
        <thead><tr><th scope="col">Revision</th><th scope="col">When</th><th scope="col">Command</th><th scope="col" class="number">Records</th></tr></thead>
        <tbody>${revisions.map((revision) => html`<tr><th scope="row"><a href=${`/console/changes/${revision.number}`}>${revision.number}</a></th><td class="when">${revision.stored === 0 ? '' : showTime(new Date(revision.stored).toISOString())}</td><td>${revision.command}</td><td class="number">${revision.total}</td></tr>`)}</tbody>
      </table></div>
      <h2>Submissions</h2>
      ${listCounts(states, ({ state }: { state: string }) => state, 'submissions')}
      <h3>Runs</h3>
      ${listCounts(runs, ({ status }: { status: string }) => status, 'runs')}
      <h3>Queue</h3>
      ${listCounts(jobs, ({ kind, oldest }: { kind: string; oldest: number }) => `${kind}, oldest ${showTime(new Date(Number(oldest)).toISOString())}`, 'jobs waiting')}
      <h2>Keys</h2>
      <p>${count(live.length, 'valid key')}${expiring.length > 0 && html`, <strong class="warning">${expiring.length} of them expire within 30 days</strong>`}.</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Keys"><table>
        <thead><tr><th scope="col">Id</th><th scope="col">Client</th><th scope="col">Scopes</th><th scope="col">Organisations</th><th scope="col">Last used</th><th scope="col">Expires</th></tr></thead>
        <tbody>${keys.map((key) => showKey(key, used.get(key.id), now))}</tbody>
      </table></div>
      <h2>Refused credentials</h2>
      <p class="soft">Since this process started. The log names the caller of each.</p>
      ${listCounts(refused, ({ reason }: { reason: RefusalReason }) => REASONS[reason], 'refused credentials')}`,
  }
}

function showKey(key: KeyDescription, used: number | undefined, now: number) {
  const date = (time: number) => new Date(Number(time)).toISOString().slice(0, 10)
  const state = key.revoked !== null ? 'revoked' : key.expires <= now ? 'expired' : date(key.expires)
  return html`<tr><th scope="row" class="mono">${key.id}</th><td>${key.client}</td><td>${key.scopes.join(', ')}</td><td>${key.eids.join(', ')}</td><td>${used === undefined ? 'never' : date(used)}</td><td>${state}</td></tr>`
}
