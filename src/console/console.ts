import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type * as types from '../../client/src/types.ts'
import type { Principal, Scope } from '../api/access/principal.ts'
import { logFailure, toProblem } from '../api/contract/errors.ts'
import { PROBLEMS } from '../api/request/problems.ts'
import { Api, ApiProblem, type ProblemShown } from './api.ts'
import { registerAssets } from './assets.ts'
import { compressPage } from './compress.ts'
import type { ConsoleServices, Context, Outcome, Route } from './context.ts'
import { isLoopback, isSecure, readSession } from './cookies.ts'
import { explainProblem, FormFault, findFault } from './faults.ts'
import { hasToken } from './form-token.ts'
import { hasForm, readForm } from './forms.ts'
import { html, type VNode } from './html.ts'
import { homeOf } from './layout.ts'
import { eidOf, pageOfForm, queryOf } from './links.ts'
import { leaveNotice, takeNotice } from './notice.ts'
import { activityPages } from './pages/activity.ts'
import { changesPages } from './pages/changes.ts'
import { codePages } from './pages/code.ts'
import { comparePages } from './pages/compare.ts'
import { confirmedPages } from './pages/confirmed.ts'
import { filePages, registerUploads } from './pages/files.ts'
import { fixPages } from './pages/fix.ts'
import { recordPages } from './pages/found-records.ts'
import { occupationPages } from './pages/occupation.ts'
import { occupationsPages } from './pages/occupations.ts'
import { operatorPages } from './pages/operator.ts'
import { organisationPages } from './pages/organisations.ts'
import { receiptPages } from './pages/receipt.ts'
import { repairPages } from './pages/repairs.ts'
import { returnPages } from './pages/returns.ts'
import { rulesPages } from './pages/rules.ts'
import { runPages } from './pages/runs.ts'
import { submissionPages } from './pages/submissions.ts'
import { submitPages } from './pages/submit.ts'
import { asksForData, sendContinue, sendJson, sendPage, sendRefusal } from './send.ts'
import type { Session } from './sessions.ts'
import { registerSignIn, renderSignIn, signOut } from './sign-in.ts'

const needing = (scope: Scope, routes: readonly Route[]) => routes.map((route) => ({ scope, ...route }))

const ROUTES: readonly Route[] = [
  { method: 'GET', path: '', handle: openHome },
  ...needing('occupations:read', [
    ...occupationsPages,
    ...occupationPages,
    ...comparePages,
    ...codePages,
    ...confirmedPages,
    ...changesPages,
  ]),
  ...needing('validation-results:read', [
    ...submissionPages,
    ...filePages,
    ...runPages,
    ...fixPages,
    ...repairPages,
    ...recordPages,
    ...submitPages,
    ...receiptPages,
    ...activityPages,
    ...rulesPages,
  ]),
  ...needing('operate', [...returnPages, ...operatorPages, ...organisationPages]),
  signOut,
]

/** The policy of all pages: nothing from other hosts, no inline code, and no scripts that turn text into markup. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

/** Serves the pages at `/console`. They call the operations of `/v1`, which do not depend on them. */
export async function registerConsole(app: FastifyInstance, services: ConsoleServices): Promise<void> {
  await app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => sendError(services, error, request, reply))
    scope.addHook('onRequest', (request, reply, done) => {
      reply.headers({ 'content-security-policy': POLICY, 'cache-control': 'no-store' })
      if (!isSecure(request) && !isLoopback(request)) return void sendInsecure(request, reply)
      if (request.method !== 'GET' && request.method !== 'HEAD' && !isSameOrigin(request))
        return void sendRefusal(request, reply, FOREIGN, TO_CONSOLE)
      done()
    })
    scope.addHook('onSend', (request, reply, payload) => compressPage(request, reply, payload))
    await registerUploads(scope)
    registerAssets(scope)
    registerSignIn(scope, services)
    for (const route of ROUTES) registerRoute(scope, services, route)
    scope.get('/console/', { config: { operation: 'console' } }, (_request, reply) =>
      reply.redirect('/console'),
    )
    scope.get('/console/*', { config: { operation: 'console' } }, (request, reply) =>
      sendError(services, new ApiProblem(NO_PAGE), request, reply),
    )
  })
}

const TO_CONSOLE = html`<a href="/console">Go to the console</a>`

const NO_PAGE = { status: 404, title: 'No such page', detail: 'This page does not exist.' }

function registerRoute(scope: FastifyInstance, services: ConsoleServices, route: Route): void {
  const { method, path, personal } = route
  scope.route({
    method,
    url: `/console${path}`,
    config: { operation: 'console' },
    handler: async (request, reply) => {
      const secret = readSession(request)
      if (secret === undefined && isForeignNavigation(request))
        return sendContinue(reply, request.url, 'Opening the console')
      const session = secret === undefined ? undefined : await services.sessions.find(secret)
      if (session === undefined) {
        if (asksForData(request)) return sendJson(reply, SESSION_ENDED, SESSION_ENDED.status)
        // Only a page of a session has forms.
        return renderSignIn(services, request, reply, { expired: secret !== undefined || method !== 'GET' })
      }

      if (method !== 'GET' && !(await hasToken(request, session.token)))
        return sendRefusal(
          request,
          reply,
          FORGED,
          html`<a href=${pageOfForm(request)}>Open the page again</a>`,
        )

      const { principal } = session
      if (route.scope !== undefined && !principal.scopes.has(route.scope))
        return sendUnscoped(services, request, reply, session, route.scope)
      const query = queryOf(request)
      const eid = eidOf(request) ?? [...principal.eids].sort()[0]
      const api = new Api(services.app, services.delegations, principal, eid)
      const params = request.params as Context['params']
      const context: Context = { services, request, reply, session, principal, query, params, api, eid }
      const outcome = await answer(route, context)
      // Only now is it known that the credential covers the organisation.
      if (personal === true) {
        services.log.warn({ audit: 'findings viewed', key: principal.id, client: principal.client, eid })
      }
      return sendOutcome(context, outcome)
    },
  })
}

/** What a script is told, which keeps what it has not sent. */
const SESSION_ENDED = {
  type: 'session-ended',
  status: 401,
  title: 'Your session has ended',
  detail: 'Your session has ended. What was sent before is kept. Sign in again to send the rest.',
}

/** Of a form without the token of the session, or with that of an earlier one. */
const FORGED = {
  type: 'other-session',
  status: 403,
  title: 'This form is not from this session',
  detail:
    'The console accepts only forms that it has sent since you signed in. Nothing was changed. Open the page again and send its form.',
}

const FOREIGN = {
  status: 403,
  title: 'This form came from another site',
  detail: 'The console accepts only its own forms. Nothing was changed.',
}

/** The outcome of a request; for a form that is refused, its page with what was typed and what is wrong. */
async function answer({ handle, again }: Route, context: Context): Promise<Outcome> {
  try {
    return await handle(context)
  } catch (error) {
    const { request } = context
    const fault = again === undefined || asksForData(request) ? undefined : findFault(error, hasForm(request))
    if (again === undefined || fault === undefined) throw error
    const values = hasForm(request) ? await readForm(request) : new URLSearchParams()
    const refused = { values, fault }
    return { ...(await again({ ...context, refused })), status: fault.status, refused }
  }
}

function sendOutcome({ reply, request, session, services }: Context, outcome: Outcome): FastifyReply {
  if ('redirect' in outcome) {
    if (outcome.notice !== undefined) leaveNotice(request, reply, session, outcome.notice)
    return reply.redirect(outcome.redirect, 303)
  }
  if ('data' in outcome) return sendJson(reply, outcome.data)
  if ('download' in outcome) {
    return reply
      .header('content-disposition', `attachment; filename="${outcome.download}"`)
      .type(outcome.type)
      .send(outcome.body)
  }
  const { status, content, ...shown } = outcome
  const notice = takeNotice(request, reply, session)
  const path = request.url.split('?', 1)[0] ?? ''
  return sendPage(reply, { ...shown, notice, path, session, timeZone: services.timeZone }, content, status)
}

/** The first page of somebody, or what is missing for any. */
async function openHome({ principal, api }: Context): Promise<Outcome> {
  const home = (await hasOnlySubmissions(principal, api)) ? '/console/submissions' : homeOf(principal)
  if (home !== undefined) return { redirect: home }
  return {
    title: 'No pages',
    content: html`<h1>Nothing to show</h1>
      <p>You are signed in, but have none of the scopes that pages of the console need, such as${' '}
        <code>occupations:read</code> for the catalogue and <code>validation-results:read</code> for submissions.</p>
      <p>Ask the operator of this service for those that you need. They come with a key (<code>mahi keys create --client NAME --scope SCOPE</code>, with <code>--eid ORGANISATION</code> for submissions), or from your identity provider.</p>`,
  }
}

/** Whether somebody who sees all returns has submissions, but the service has no returns. */
async function hasOnlySubmissions({ scopes, eids }: Principal, api: Api): Promise<boolean> {
  if (!scopes.has('operate') || !scopes.has('validation-results:read') || eids.size === 0) return false
  const { totalCount } = await api.call<types.ReturnPage>('/returns', { query: { pageSize: 1 }, ofAll: true })
  return totalCount === 0
}

/** The scopes of which a key uses only those organisations that it covers. */
const OF_SUBMISSIONS: readonly Scope[] = ['validation-results:read', 'submissions:write']

/** Says which scope a page needs, and how to get it. */
function sendUnscoped(
  { timeZone }: ConsoleServices,
  request: FastifyRequest,
  reply: FastifyReply,
  session: Session,
  scope: Scope,
): FastifyReply {
  const refusal = {
    status: 401,
    title: 'This page needs another scope',
    detail: `Your sign-in lacks the scope ${scope}, which this page needs.`,
  }
  const next = html`Ask the operator of this service for it. It comes with a key (<code>mahi keys create --client NAME --scope ${scope}${OF_SUBMISSIONS.includes(scope) ? ' --eid ORGANISATION' : ''}</code>), or
    from your identity provider. Then sign out and in again, or <a href="/console">go to your first page</a>.`
  return sendRefusal(request, reply, refusal, next, { session, timeZone })
}

/** Displays an error in words for people. */
async function sendError(
  services: ConsoleServices,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const problem = describe(error, request)
  // A request can be rejected before the hook that sets these headers.
  const own = isShown(error) ? {} : toProblem(error).headers
  reply.headers({ ...own, 'content-security-policy': POLICY, 'cache-control': 'no-store' })
  // What the API fails at, it logs itself.
  if (!isShown(error)) logFailure(error, request)
  const secret = readSession(request)
  const session =
    secret === undefined ? undefined : await services.sessions.find(secret).catch(() => undefined)
  const isTemporary = problem.status === 503
  if (isTemporary && !reply.hasHeader('retry-after')) reply.header('retry-after', '1')
  const { timeZone } = services
  return sendRefusal(request, reply, problem, whatNext(request, isTemporary), { session, timeZone })
}

function whatNext(request: FastifyRequest, isTemporary: boolean): VNode {
  if (request.method !== 'GET') return html`<a href=${pageOfForm(request)}>Back</a>`
  return isTemporary ? html`<a href=${request.url}>Try again</a>` : TO_CONSOLE
}

/** What somebody sees who may read submissions, but not this one: the same whether it exists or not. */
const NO_SUBMISSION = {
  title: 'No such submission',
  detail:
    'No submission of your organisations has this address, or it is not visible to you. Compare the address with the one that you were given.',
}

function describe(error: unknown, request: FastifyRequest): ProblemShown {
  const problem = problemOf(error, request)
  const { method, params } = request
  const isSubmission = method === 'GET' && Object.hasOwn(params as object, 'token')
  // That an organisation is suspended is said only to those whose credential covers it.
  const isHidden =
    error instanceof ApiProblem &&
    problem.status === 401 &&
    problem.type !== '/problems/organisation-suspended'
  if (isSubmission && isHidden) return { ...problem, ...NO_SUBMISSION }
  return explainProblem(problem)
}

function problemOf(error: unknown, { id }: FastifyRequest): ProblemShown {
  if (error instanceof ApiProblem) return error.problem
  if (error instanceof FormFault) return { status: error.status, title: '', detail: error.message }
  const { status, slug, detail } = toProblem(error)
  return {
    status,
    title: PROBLEMS[slug].title,
    detail:
      slug === 'internal-error'
        ? `The page could not be created. The log has the cause under the id ${id}.`
        : detail,
  }
}

/** What a page says of itself: a response of the API, or a form that was filled in wrongly. */
const isShown = (error: unknown): boolean => error instanceof ApiProblem || error instanceof FormFault

/** Whether a page of the console sent the request (Fetch Metadata; browsers without it send Origin with forms). */
function isSameOrigin({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  try {
    return new URL(headers.origin ?? '').host === headers.host
  } catch {
    return false
  }
}

/**
 * Whether a link on another site leads here. The browser then withholds the cookie, and sends it with the next
 * navigation.
 */
function isForeignNavigation({ headers, method }: FastifyRequest): boolean {
  return (
    method === 'GET' && headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] === 'navigate'
  )
}

function sendInsecure(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = {
    status: 400,
    title: 'The console needs HTTPS',
    detail: 'Over plain HTTP the console works only on this machine, at localhost.',
  }
  const next = html`Open it with an <code>https://</code> URL. Behind a proxy that ends TLS, set <code>TRUST_PROXY</code> to the
    address of the proxy.`
  return sendRefusal(request, reply, refusal, next)
}
