import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Part } from '../api/contract/part.ts'
import type { AccessPart } from '../api/create-access.ts'
import type { Database } from '../foundation/database/database.ts'
import { registerConsole } from './console.ts'
import { Drafts } from './drafts.ts'
import { Oidc } from './oidc.ts'
import { Sessions } from './sessions.ts'

export interface ConsoleSettings {
  readonly PUBLIC_URL?: string | undefined
  readonly OIDC_ISSUER?: string | undefined
  readonly OIDC_CLIENT_ID?: string | undefined
  readonly OIDC_CLIENT_SECRET?: string | undefined
  readonly JWT_EID_CLAIM: string
  readonly TIME_ZONE?: string | undefined
}

export interface CreateConsoleOptions {
  readonly app: FastifyInstance
  /** Of its sessions and drafts. */
  readonly database: Database
  readonly access: AccessPart
  readonly log: FastifyBaseLogger
}

/** Pages for people. They have no operations of their own. */
export async function createConsole(
  settings: ConsoleSettings,
  { app, database, access: { access, delegations, keyedHash }, log }: CreateConsoleOptions,
): Promise<Part> {
  const sessions = new Sessions(database)
  const drafts = new Drafts(database)
  const oidc = oidcOf(settings, keyedHash)
  const timeZone = settings.TIME_ZONE ?? 'UTC'
  await registerConsole(app, { app, access, delegations, sessions, drafts, oidc, log, timeZone })
  return { operations: [], metrics: [], stop: () => undefined }
}

/** Sign-in with an identity provider; `undefined` if none is configured. */
function oidcOf(settings: ConsoleSettings, keyedHash: AccessPart['keyedHash']): Oidc | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = settings
  const publicUrl = settings.PUBLIC_URL
  if (issuer === undefined || clientId === undefined || publicUrl === undefined) return undefined
  return new Oidc({ issuer, clientId, clientSecret, publicUrl, eidClaim: settings.JWT_EID_CLAIM, keyedHash })
}
