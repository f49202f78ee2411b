import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DatabaseUnavailable } from '../database/database.ts'
import { PROBLEMS, Problem } from '../http/problems.ts'
import { Api, ApiProblem, type ProblemShown } from './api.ts'
import { registerAssets } from './assets.ts'
import type { ConsoleServices, Context, Outcome, Route } from './context.ts'
import { sendContinue } from './continue.ts'
import { isLoopback, isSecure, readSession } from './cookies.ts'
import { hasForm, readForm } from './forms.ts'
import { html } from './html.ts'
import { renderPage } from './layout.ts'
import { changesPages } from './pages/changes.ts'
import { codePages } from './pages/code.ts'
import { comparePages } from './pages/compare.ts'
import { findingsPages } from './pages/findings.ts'
import { occupationPages } from './pages/occupation.ts'
import { occupationsPages } from './pages/occupations.ts'
import { operatorPages } from './pages/operator.ts'
import { rulesPages } from './pages/rules.ts'
import { registerUploads, submissionPages } from './pages/submissions.ts'
import { registerSignIn, renderSignIn } from './sign-in.ts'

const ROUTES: readonly Route[] = [
  ...occupationsPages,
  ...occupationPages,
  ...comparePages,
  ...codePages,
  ...changesPages,
  ...submissionPages,
  ...findingsPages,
  ...rulesPages,
  ...operatorPages,
]

/** The policy of every page: nothing from other hosts, no inline code, no markup made of text by scripts. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

/** Pages for people at `/console`. They call the operations of `/v1`, which know nothing of them. */
export async function registerConsole(app: FastifyInstance, services: ConsoleServices): Promise<void> {
  await app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => sendError(services, error, request, reply))
    scope.addHook('onRequest', (request, reply, done) => {
      reply.headers({ 'content-security-policy': POLICY, 'cache-control': 'no-store' })
      if (!isSecure(request) && !isLoopback(request)) return void sendInsecure(reply)
      if (request.method !== 'GET' && request.method !== 'HEAD' && !isSameOrigin(request))
        return void sendForeign(reply)
      done()
    })
    await registerUploads(scope)
    registerAssets(scope)
    registerSignIn(scope, services)
    scope.get('/console', { config: { operation: 'console' } }, (_request, reply) =>
      reply.redirect('/console/occupations', 303),
    )
    for (const route of ROUTES) registerRoute(scope, services, route)
    scope.get('/console/*', { config: { operation: 'console' } }, (_request, reply) =>
      sendPage(
        reply,
        404,
        'No such page',
        html`<h1>No such page</h1><p>This page does not exist. <a href="/console">Go to the console</a>.</p>`,
      ),
    )
  })
}

function registerRoute(scope: FastifyInstance, services: ConsoleServices, route: Route): void {
  const { method, path, handle, personal } = route
  scope.route({
    method,
    url: `/console${path}`,
    config: { operation: 'console' },
    handler: async (request, reply) => {
      const secret = readSession(request)
      if (secret === undefined && isForeignNavigation(request)) return sendBounce(request, reply)
      const session = secret === undefined ? undefined : await services.sessions.find(secret)
      if (session === undefined)
        return renderSignIn(services, request, reply, { expired: secret !== undefined })

      const { principal } = session
      const query = new URL(request.url, 'http://localhost').searchParams
      const asked = query.get('eid') ?? (hasForm(request) ? (await readForm(request)).get('eid') : undefined)
      const eid = asked ?? [...principal.eids].sort()[0]
      const api = new Api(services.app, services.delegations, principal, eid)
      const context: Context = { services, request, reply, principal, query, api, eid }
      if (personal === true) {
        services.log.warn({ audit: 'findings viewed', key: principal.id, client: principal.client, eid })
      }
      return sendOutcome(context, await handle(context))
    },
  })
}

function sendOutcome({ reply, request, principal }: Context, outcome: Outcome): FastifyReply {
  if ('redirect' in outcome) return reply.redirect(outcome.redirect, 303)
  if ('data' in outcome) {
    return reply
      .code(outcome.status ?? 200)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(outcome.data))
  }
  if ('download' in outcome) {
    return reply
      .header('content-disposition', `attachment; filename="${outcome.download}"`)
      .type(outcome.type)
      .send(outcome.body)
  }
  const { status = 200, content, ...shown } = outcome
  const path = request.url.split('?', 1)[0] ?? ''
  return reply
    .code(status)
    .type(HTML)
    .send(renderPage({ ...shown, path, principal }, content))
}

const HTML = 'text/html; charset=utf-8'

function sendPage(
  reply: FastifyReply,
  status: number,
  title: string,
  content: ReturnType<typeof html>,
): FastifyReply {
  return reply
    .code(status)
    .type(HTML)
    .send(renderPage({ title, path: '' }, content))
}

/** What went wrong, in the words of the API. */
async function sendError(
  services: ConsoleServices,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const problem = describe(error, request)
  // A request may be turned away before the hook that sets these.
  reply.headers({ 'content-security-policy': POLICY, 'cache-control': 'no-store' })
  // To turn requests away is no failure.
  if (problem.status >= 500 && !(error instanceof Problem)) {
    services.log.error({ id: request.id, err: error }, 'a page of the console failed')
  }
  const secret = readSession(request)
  const session =
    secret === undefined ? undefined : await services.sessions.find(secret).catch(() => undefined)
  if (request.headers.accept === 'application/json') {
    return reply.code(problem.status).type('application/json; charset=utf-8').send(JSON.stringify(problem))
  }
  const content = html`
    <h1>${problem.title}</h1>
    <p class="problem">${problem.detail}</p>
    <p><a href=${back(request)}>Back</a></p>
  `
  const frame = { title: problem.title, path: request.url, principal: session?.principal }
  return reply.code(problem.status).type(HTML).send(renderPage(frame, content))
}

function describe(error: unknown, { id }: FastifyRequest): ProblemShown {
  if (error instanceof ApiProblem) return error.problem
  if (error instanceof Problem) {
    return { status: error.status, title: PROBLEMS[error.slug].title, detail: error.detail }
  }
  if (error instanceof DatabaseUnavailable) {
    return {
      status: 503,
      title: PROBLEMS.unavailable.title,
      detail: 'The database does not respond. Try again in a moment.',
    }
  }
  return {
    status: 500,
    title: PROBLEMS['internal-error'].title,
    detail: `The page could not be made. The log has the cause under the id ${id}.`,
  }
}

/** The page that the person came from, if it is one of ours. */
function back({ headers: { referer, host } }: FastifyRequest): string {
  try {
    const url = new URL(referer ?? '')
    return url.host === host ? url.pathname + url.search : '/console'
  } catch {
    return '/console'
  }
}

/** Whether a page of ours sent the request (Fetch Metadata; browsers without it send Origin with each form). */
function isSameOrigin({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  try {
    return new URL(headers.origin ?? '').host === headers.host
  } catch {
    return false
  }
}

/** A link on another site leads here: the browser has kept the cookie back, and sends it with the next navigation. */
function isForeignNavigation({ headers, method }: FastifyRequest): boolean {
  return (
    method === 'GET' && headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] === 'navigate'
  )
}

function sendBounce(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendContinue(reply, request.url, 'Opening the console')
}

function sendForeign(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    403,
    'This form came from another site',
    html`<h1>This form came from another site</h1><p>The console accepts only its own forms. Nothing was changed. <a href="/console">Go to the console</a>.</p>`,
  )
}

function sendInsecure(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    400,
    'The console needs HTTPS',
    html`<h1>The console needs HTTPS</h1><p>Over plain HTTP the console works only on this machine, at <code>localhost</code>. Open it with an <code>https://</code> URL. Behind a proxy that ends TLS, set <code>TRUST_PROXY</code> to the address of the proxy.</p>`,
  )
}
