import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../api/access/admit.ts'
import type { Delegations } from '../api/access/delegation.ts'
import type { Principal, Scope } from '../api/access/principal.ts'
import type { Api } from './api.ts'
import type { Drafts } from './drafts.ts'
import type { Refused } from './fields.ts'
import { html, type VNode } from './html.ts'
import type { Frame } from './layout.ts'
import type { Oidc } from './oidc.ts'
import type { Session, Sessions } from './sessions.ts'

/** What the console uses: the API, its own sessions, and the drafts of people. */
export interface ConsoleServices {
  readonly app: FastifyInstance
  readonly access: Access
  readonly delegations: Delegations
  readonly sessions: Sessions
  readonly drafts: Drafts
  /** Sign-in with an identity provider, if configured. */
  readonly oidc: Oidc | undefined
  readonly log: FastifyBaseLogger
  /** The zone in which pages show instants, such as `Pacific/Auckland`. */
  readonly timeZone: string
}

/** The user and the request of a page. */
export interface Context {
  readonly services: ConsoleServices
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: Session
  readonly principal: Principal
  readonly query: URLSearchParams
  /** The parameters in the path. */
  readonly params: Readonly<Record<string, string>>
  readonly api: Api
  /** The organisation that the page is about; `undefined` if the credential covers none. */
  readonly eid: string | undefined
  /** The form that was refused and is shown again. */
  readonly refused?: Refused
}

/** The title and content of a page. */
export interface Shown extends Partial<Pick<Frame, 'refused'>> {
  readonly title: string
  readonly status?: number
  readonly content: VNode | VNode[]
}

export interface Redirect {
  readonly redirect: string
  /** What was done, as a sentence on the page that follows. */
  readonly notice?: string | undefined
}

/** A file for the browser to download, such as CSV. */
interface Download {
  readonly download: string
  readonly type: string
  readonly body: string | NodeJS.ReadableStream
}

/** JSON for the script of a page. */
interface Data {
  readonly data: object
}

export type Outcome = Shown | Redirect | Download | Data
type Handler = (context: Context) => Promise<Outcome> | Outcome

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** The path below `/console`, with `:name` for each parameter. */
  readonly path: string
  readonly handle: Handler
  /** The page of the form that is sent here: shown again if the form is refused. */
  readonly again?: ((context: Context) => Promise<Shown> | Shown) | undefined
  /** The scope without which a page says what is missing. */
  readonly scope?: Scope
  /** Whether the page shows findings, which is audited. */
  readonly personal?: boolean
}

/** A page. */
export const get = (path: string, handle: Handler, more: Pick<Route, 'scope' | 'personal'> = {}): Route => ({
  method: 'GET',
  path,
  handle,
  ...more,
})

/** A form that is sent to a path. */
export const post = (
  path: string,
  handle: Handler,
  again: Route['again'],
  more: Pick<Route, 'scope'> = {},
): Route => ({ method: 'POST', path, handle, again, ...more })

/** A page about something that does not exist, or no longer. */
export const absent = (title: string, next: VNode, status = 404): Shown => ({
  title,
  status,
  content: html`<h1>${title}</h1><p>${next}</p>`,
})
