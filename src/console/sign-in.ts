import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { verifyPastedKey } from '../access/admit.ts'
import { isRefused } from '../access/principal.ts'
import type { ConsoleServices } from './context.ts'
import { sendContinue } from './continue.ts'
import { endSession, readSession, readSigningIn, writeSession, writeSigningIn } from './cookies.ts'
import { hasForm, readForm } from './forms.ts'
import { html } from './html.ts'
import { renderPage } from './layout.ts'

const HTML = 'text/html; charset=utf-8'
const config = { operation: 'console' }

/** Prefix of the fields of a form that is resubmitted after signing in again. */
const KEPT = 'kept-'

interface Shown {
  /** Whether a previous session has ended. */
  readonly expired?: boolean
  readonly fault?: string
}

/** Where a browser goes after signing in, which shows whether it accepts cookies. */
const CHECK = '/console/sign-in/check'

function redirectSignedIn(reply: FastifyReply, to: string): FastifyReply {
  return reply.redirect(`${CHECK}?to=${encodeURIComponent(to)}`, 303)
}

/** Registers all ways to sign in, and sign-out. */
export function registerSignIn(app: FastifyInstance, services: ConsoleServices): void {
  const { access, sessions, oidc, log } = services
  const endCurrent = async (request: FastifyRequest): Promise<void> => {
    const secret = readSession(request)
    if (secret !== undefined) await sessions.end(secret)
  }

  app.get('/console/sign-in', { config }, (request, reply) => renderSignIn(services, request, reply, {}))

  app.post('/console/sign-in', { config }, async (request, reply) => {
    const form = await readForm(request)
    const key = (form.get('key') ?? '').trim()
    const principal = await verifyPastedKey(access, request, key)
    if (isRefused(principal)) {
      return renderSignIn(services, request, reply, {
        fault: 'This key is not valid. Check that it is complete, has not expired and was not revoked.',
      })
    }
    writeSession(request, reply, await sessions.start(principal, principal.id, readSession(request)))
    log.warn({ audit: 'signed in', by: 'key', key: principal.id, client: principal.client })
    const to = ownPath(form.get('to'))
    const kept = [...form].filter(([name]) => name.startsWith(KEPT))
    if (kept.length === 0) return redirectSignedIn(reply, to)
    return reply.type(HTML).send(
      renderPage(
        { title: 'Signed in', path: '', principal },
        html`<h1>Signed in</h1>
          <p>The form that you sent before is still here. Send it now?</p>
          <form method="post" action=${to}>
            ${kept.map(([name, value]) => html`<textarea hidden name=${name.slice(KEPT.length)}>${value}</textarea>`)}
            <button type="submit">Send the form</button> <a href="/console">No, go to the console</a>
          </form>`,
      ),
    )
  })

  // A button opens the link, so that link previews in chats do not use it up.
  app.get<{ Params: { secret: string } }>('/console/link/:secret', { config }, (request, reply) =>
    reply.type(HTML).send(
      renderPage(
        { title: 'Sign in', path: '' },
        html`<h1>Sign in to Mahi</h1>
          <form method="post" action=${`/console/link/${request.params.secret}`} data-submit="now">
            <button type="submit">Open the console</button>
          </form>
          <p class="soft">This link works once.</p>`,
      ),
    ),
  )
  app.post<{ Params: { secret: string } }>('/console/link/:secret', { config }, async (request, reply) => {
    const secret = await sessions.openLink(request.params.secret, readSession(request))
    if (secret === undefined) {
      return renderSignIn(services, request, reply, {
        fault:
          'This link was already used or has expired. Create a new one with "mahi console", or sign in with a key.',
      })
    }
    writeSession(request, reply, secret)
    log.warn({ audit: 'signed in', by: 'link' })
    return redirectSignedIn(reply, '/console/occupations')
  })

  app.get(CHECK, { config }, (request, reply) => {
    const to = ownPath(new URL(request.url, 'http://localhost').searchParams.get('to'))
    if (readSession(request) !== undefined) return reply.redirect(to, 303)
    return renderSignIn(services, request, reply, {
      fault:
        'Your browser did not send the cookie of the session. Allow cookies for this site and sign in again.',
    })
  })

  app.get('/console/sign-in/provider', { config }, async (request, reply) => {
    // Only a person starts a session: another site must not (ASVS 5.0, 7.6.2).
    const isForeign = /^(?:cross|same)-site$/.test(String(request.headers['sec-fetch-site']))
    if (oidc === undefined || isForeign) return reply.redirect('/console/sign-in', 303)
    const to = ownPath(new URL(request.url, 'http://localhost').searchParams.get('to'))
    try {
      const { url, remember } = await oidc.begin(to)
      // The browser comes back without its `Strict` cookie, so the previous session must end here.
      await endCurrent(request)
      writeSigningIn(request, reply, remember)
      return reply.redirect(url, 303)
    } catch (err) {
      log.error({ id: request.id, err }, 'the identity provider does not respond')
      return renderSignIn(services, request, reply, {
        fault: 'The identity provider does not respond. Try again in a moment, or sign in with a key.',
      })
    }
  })
  app.get('/console/signed-in', { config }, async (request, reply) => {
    const remembered = readSigningIn(request)
    writeSigningIn(request, reply, '')
    try {
      if (oidc === undefined || remembered === undefined) throw new Error('nobody was signing in')
      const { principal, to } = await oidc.finish(request.url, remembered)
      writeSession(request, reply, await sessions.start(principal))
      log.warn({ audit: 'signed in', by: 'provider' })
      return sendContinue(reply, ownPath(to), 'Signed in')
    } catch (error) {
      // The provider's message may name a person, so only the kind of error is logged.
      log.warn(
        { id: request.id, reason: (error as Error).name },
        'signing in with the identity provider failed',
      )
      return renderSignIn(services, request, reply, {
        fault: 'The identity provider did not confirm who you are. Try again.',
      })
    }
  })

  app.post('/console/sign-out', { config }, async (request, reply) => {
    await endCurrent(request)
    endSession(request, reply)
    return reply.redirect('/console/sign-in?signed-out=1', 303)
  })
}

/** The sign-in form. It keeps the form that was being sent when the session ended. */
export async function renderSignIn(
  { oidc }: ConsoleServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { expired, fault }: Shown,
): Promise<FastifyReply> {
  const query = new URL(request.url, 'http://localhost').searchParams
  const isSignIn = request.url.startsWith('/console/sign')
  const isLink = request.url.startsWith('/console/link/')
  const form = hasForm(request) ? await readForm(request) : new URLSearchParams()
  const to = isSignIn || isLink ? ownPath(form.get('to') ?? query.get('to')) : request.url
  const kept = [...form].flatMap(([name, value]): [string, string][] => {
    if (name.startsWith(KEPT)) return [[name, value]]
    return isSignIn || request.method !== 'POST' ? [] : [[KEPT + name, value]]
  })
  const signedOut = query.has('signed-out')
  return reply
    .code(isSignIn && fault === undefined ? 200 : 401)
    .type(HTML)
    .send(
      renderPage(
        { title: 'Sign in', path: '', notice: signedOut ? 'You have signed out.' : undefined },
        html`<h1>Sign in to Mahi</h1>
          ${expired === true && html`<p class="problem">Your session has ended. Sign in again to continue where you were.</p>`}
          ${fault !== undefined && html`<p class="problem" id="fault" role="alert">${fault}</p>`}
          <form method="post" action="/console/sign-in" class="row">
            <input type="hidden" name="to" value=${to} />
            ${kept.map(([name, value]) => html`<textarea hidden name=${name}>${value}</textarea>`)}
            <label class="grow">API key
              <input name="key" type="password" autocomplete="off" required spellcheck=${false}
                aria-describedby=${fault === undefined ? undefined : 'fault'} />
            </label>
            <button type="submit">Sign in</button>
          </form>
          ${oidc !== undefined && html`<p><a class="button quiet" href=${`/console/sign-in/provider?to=${encodeURIComponent(to)}`}>Sign in with your organisation</a></p>`}
          <p class="soft">The operator of this service creates keys with <code>mahi keys create</code>. The key is checked once and is not stored in the browser.</p>`,
      ),
    )
}

/** A path of the console: a parameter must not redirect to another site. */
function ownPath(path: string | null | undefined): string {
  const base = 'http://localhost'
  const url = URL.canParse(path ?? '', base) ? new URL(path ?? '', base) : undefined
  const isOwn = url?.origin === base && /^\/console(?:\/|$)/.test(url.pathname)
  return isOwn ? url.pathname + url.search : '/console/occupations'
}
