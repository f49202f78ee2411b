import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { verifyPastedKey } from '../api/access/admit.ts'
import { countFailure, forgiveFailure } from '../api/access/limits.ts'
import type { ConsoleServices, Context, Redirect, Route } from './context.ts'
import { endSession, readSession, readSigningIn, writeSession, writeSigningIn } from './cookies.ts'
import { Field } from './fields.ts'
import { deriveToken, TOKEN_FIELD } from './form-token.ts'
import { hasForm, readForm } from './forms.ts'
import { html } from './html.ts'
import { link, ownPath, pageOfForm, queryOf } from './links.ts'
import { PostForm } from './post-form.ts'
import { sendContinue, sendPage } from './send.ts'

const config = { operation: 'console' }

/** Prefix of the fields of a form that is resubmitted after signing in again. */
const KEPT = 'kept-'

interface Shown {
  /** Whether a previous session has ended. */
  readonly expired?: boolean
  readonly fault?: string
}

/** A one-time link: the 256 bits of its secret in base64url, and nothing else. */
const LINK = '/console/link/:secret(^[\\w-]{43}$)'

/** Where a browser goes after signing in, which shows whether it accepts cookies. */
const CHECK = '/console/sign-in/check'

const redirectSignedIn = (reply: FastifyReply, to: string): FastifyReply =>
  reply.redirect(link(CHECK, { to }), 303)

/** The page in the query of a link. */
const pageAskedFor = (request: FastifyRequest): string | undefined => queryOf(request).get('to') ?? undefined

/** Registers all ways to sign in, and sign-out. */
export function registerSignIn(app: FastifyInstance, services: ConsoleServices): void {
  const { access, sessions, oidc, log } = services
  app.get('/console/sign-in', { config }, (request, reply) => renderSignIn(services, request, reply, {}))

  app.post('/console/sign-in', { config }, async (request, reply) => {
    const form = await readForm(request)
    const key = (form.get('key') ?? '').trim()
    const principal = await verifyPastedKey(access, request, key)
    if (principal === undefined) {
      return renderSignIn(services, request, reply, {
        fault: 'This key is not valid. Check that it is complete, has not expired and was not revoked.',
      })
    }
    const secret = await sessions.start(principal, principal.id, readSession(request))
    writeSession(request, reply, secret)
    log.warn({ audit: 'signed in', by: 'key', key: principal.id, client: principal.client })
    const to = ownPath(form.get('to'))
    const kept = [...form].filter(([name]) => name.startsWith(KEPT))
    if (kept.length === 0) return redirectSignedIn(reply, to)
    return sendPage(
      reply,
      { title: 'Signed in', path: '', session: { principal, token: deriveToken(secret) } },
      html`<h1>Signed in</h1>
        <p>The form that you sent before is still here. Send it now?</p>
        <${PostForm} action=${to}>
          ${kept.map(([name, value]) => html`<textarea hidden name=${name.slice(KEPT.length)}>${value}</textarea>`)}
          <button type="submit">Send the form</button> <a href="/console">No, go to the console</a>
        <//>`,
    )
  })

  // A button opens the link, so that link previews in chats do not use it up. A script presses it, but not if another
  // site leads here: a person then sees first that this signs in.
  app.get<{ Params: { secret: string } }>(LINK, { config }, (request, reply) =>
    sendPage(
      reply,
      { title: 'Sign in', path: '' },
      html`<h1>Sign in to Mahi</h1>
        <${PostForm} action=${link(`/console/link/${encodeURIComponent(request.params.secret)}`, { to: pageAskedFor(request) })}
          data-submit=${isFromElsewhere(request) ? undefined : 'now'}>
          <button type="submit">Open the console</button>
        <//>
        <p class="soft">This link works once.</p>`,
    ),
  )
  app.post<{ Params: { secret: string } }>(LINK, { config }, async (request, reply) => {
    await countFailure(access, request)
    const secret = await sessions.openLink(request.params.secret, readSession(request))
    if (secret === undefined) {
      return renderSignIn(services, request, reply, {
        fault:
          'This link was already used or has expired. Create a new one with "mahi console", or sign in with a key. A demo prints a new link each time it starts.',
      })
    }
    await forgiveFailure(access, request)
    writeSession(request, reply, secret)
    log.warn({ audit: 'signed in', by: 'link' })
    return redirectSignedIn(reply, ownPath(pageAskedFor(request)))
  })

  app.get(CHECK, { config }, (request, reply) => {
    const to = ownPath(pageAskedFor(request))
    if (readSession(request) !== undefined) return reply.redirect(to, 303)
    return renderSignIn(services, request, reply, {
      fault:
        'Your browser did not send the cookie of the session. Allow cookies for this site and sign in again.',
    })
  })

  app.get('/console/sign-in/provider', { config }, async (request, reply) => {
    // Only a person starts a session: another site must not (ASVS 5.0, 7.6.2).
    if (oidc === undefined || isFromElsewhere(request)) return reply.redirect('/console/sign-in', 303)
    const to = ownPath(pageAskedFor(request))
    try {
      const { url, remember } = await oidc.begin(to)
      // The browser comes back without its `Strict` cookie, so the previous session must end here.
      await endCurrent(services, request)
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
    await countFailure(access, request)
    try {
      if (oidc === undefined || remembered === undefined) throw new Error('nobody was signing in')
      const { principal, to } = await oidc.finish(request.url, remembered)
      await forgiveFailure(access, request)
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
}

async function endCurrent({ sessions }: ConsoleServices, request: FastifyRequest): Promise<void> {
  const secret = readSession(request)
  if (secret !== undefined) await sessions.end(secret)
}

/** Signing out is sent by a form of every page. */
export const signOut: Route = {
  method: 'POST',
  path: '/sign-out',
  handle: async ({ services, request, reply }: Context): Promise<Redirect> => {
    await endCurrent(services, request)
    endSession(request, reply)
    return { redirect: '/console/sign-in?signed-out=1' }
  },
}

/** What becomes of the form that was sent when the session had ended. */
function describeForm(request: FastifyRequest, isKept: boolean, hasProvider: boolean): string {
  // The browser comes back from the provider with nothing but its cookies.
  const condition = hasProvider ? ' if you sign in with a key' : ''
  if (isKept) return `The form that you sent is kept until then${condition}. Nothing of it was stored.`
  return request.isMultipart() ? 'The files were not stored. Choose them again.' : ''
}

/** Whether a page of another site or origin leads here. */
function isFromElsewhere({ headers }: FastifyRequest): boolean {
  return /^(?:cross|same)-site$/.test(String(headers['sec-fetch-site']))
}

/** The sign-in form. It keeps the form that was being sent when the session ended. */
export async function renderSignIn(
  { oidc }: ConsoleServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { expired, fault }: Shown,
): Promise<FastifyReply> {
  const query = queryOf(request)
  const isSignIn = request.url.startsWith('/console/sign')
  const isLink = request.url.startsWith('/console/link/')
  const form = hasForm(request) ? await readForm(request) : new URLSearchParams()
  const kept = [...form].flatMap(([name, value]): [string, string][] => {
    if (name.startsWith(KEPT)) return [[name, value]]
    // The next session has another token.
    if (name === TOKEN_FIELD) return []
    return isSignIn || request.method !== 'POST' ? [] : [[KEPT + name, value]]
  })
  const isAsking = isSignIn || isLink
  const asked = request.method === 'POST' ? pageOfForm(request) : request.url
  const page = isAsking ? ownPath(form.get('page') ?? query.get('to')) : asked
  // A form of which nothing is kept leads back to its page.
  const action = kept.length === 0 ? page : request.url
  const to = isAsking ? ownPath(form.get('to') ?? query.get('to')) : action
  // A bookmark of this page says only what is so.
  const isSignedOut = query.has('signed-out') && readSession(request) === undefined
  return sendPage(
    reply,
    {
      title: 'Sign in',
      path: '',
      notice: isSignedOut ? 'You are signed out.' : undefined,
      refused:
        fault === undefined
          ? undefined
          : { values: form, fault: { message: fault, field: form.has('key') ? 'key' : undefined } },
    },
    html`<h1>Sign in to Mahi</h1>
      ${expired === true && html`<p class="problem">Your session has ended. Sign in again to continue where you were. ${describeForm(request, kept.length > 0, oidc !== undefined)}</p>`}
      <${PostForm} action="/console/sign-in" class="row" keep=${{ to, ...(kept.length > 0 && { page }) }}>
        ${kept.map(([name, value]) => html`<textarea hidden name=${name}>${value}</textarea>`)}
        <${Field} class="grow" name="key" label="API key" type="password" autocomplete="off" required spellcheck=${false} />
        <button type="submit">Sign in</button>
      <//>
      ${
        oidc !== undefined &&
        html`<p>
          <a class="button quiet" href=${link('/console/sign-in/provider', { to: page })}>Sign in with your organisation</a>
        </p>`
      }
      <p class="soft">
        The operator of this service creates keys with <code>mahi keys create</code>. The key is checked once and is
        not stored in the browser.
      </p>`,
    isSignIn && fault === undefined ? 200 : 401,
  )
}
