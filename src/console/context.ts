import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/admit.ts'
import type { Delegations } from '../access/delegation.ts'
import type { Principal } from '../access/principal.ts'
import type { Database } from '../database/database.ts'
import type { Api } from './api.ts'
import type { VNode } from './html.ts'
import type { Frame } from './layout.ts'
import type { Oidc } from './oidc.ts'
import type { Sessions } from './sessions.ts'

/** What the console is made of. */
export interface ConsoleServices {
  readonly app: FastifyInstance
  readonly access: Access
  readonly database: Database
  readonly delegations: Delegations
  readonly sessions: Sessions
  /** Signing in with an identity provider, where one is configured. */
  readonly oidc: Oidc | undefined
  readonly log: FastifyBaseLogger
}

/** What a page is made of: who asks, and for what. */
export interface Context {
  readonly services: ConsoleServices
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly principal: Principal
  readonly query: URLSearchParams
  readonly api: Api
  /** The organisation that the page is about; `undefined` where the credential covers none. */
  readonly eid: string | undefined
}

/** A page: what it is called and what it shows. */
export interface Shown extends Partial<Pick<Frame, 'notice' | 'refresh' | 'wide'>> {
  readonly title: string
  readonly status?: number
  readonly content: VNode | VNode[]
}

export interface Redirect {
  readonly redirect: string
}

/** Bytes for the browser to keep, such as a CSV file. */
export interface Download {
  readonly download: string
  readonly type: string
  readonly body: string | NodeJS.ReadableStream
}

/** An answer for the page's own script. */
export interface Data {
  readonly data: object
  readonly status?: number
}

export type Outcome = Shown | Redirect | Download | Data
export type Handler = (context: Context) => Promise<Outcome> | Outcome

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Below `/console`, with `:name` for each part that differs. */
  readonly path: string
  readonly handle: Handler
  /** Whether it shows findings: it then leaves an audit line. */
  readonly personal?: boolean
}
