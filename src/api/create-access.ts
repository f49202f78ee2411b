import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../foundation/database/database.ts'
import { readHashKey } from '../foundation/database/instance.ts'
import type { RevisionWatch } from '../foundation/database/revision-watch.ts'
import { AccessState } from './access/access-state.ts'
import type { Access } from './access/admit.ts'
import { Audit } from './access/audit.ts'
import { createBearerVerifier } from './access/credentials.ts'
import { Delegations } from './access/delegation.ts'
import { createJwtVerifier, createKeyedHash, type JwtOptions, type KeyedHash } from './access/jwt.ts'
import { KeyUse } from './access/keys.ts'
import { type ConsumeLimit, listCounted, type RateLimitSettings, rateLimitsOf } from './access/limits.ts'
import { LongResponses } from './access/long-responses.ts'
import type { Part } from './contract/part.ts'
import { getCaller } from './get-caller.ts'

export interface AccessSettings extends RateLimitSettings {
  readonly JWT_ISSUER?: string | undefined
  readonly JWT_AUDIENCE?: string | undefined
  readonly JWT_JWKS_URL?: string | undefined
  readonly JWT_EID_CLAIM: string
}

export interface AccessOptions {
  readonly database: Database
  /** Reports changed keys. */
  readonly revisions: RevisionWatch
  readonly consume: ConsumeLimit
  readonly log: FastifyBaseLogger
}

/** Who may do what: credentials, limits and the audit log. */
export interface AccessPart extends Part {
  readonly access: Access
  /** Issues credentials for requests that the process makes to itself. */
  readonly delegations: Delegations
  readonly keyedHash: KeyedHash
}

export async function createAccess(
  settings: AccessSettings,
  { database, revisions, consume, log }: AccessOptions,
): Promise<AccessPart> {
  const audit = new Audit(log)
  const keyUse = new KeyUse(database)
  const state = await AccessState.start(database, revisions, audit, keyUse)
  const jwt = jwtOptionsOf(settings)
  const keyedHash = createKeyedHash(await readHashKey(database))
  const responses = new LongResponses()
  const delegations = new Delegations(keyUse)
  const access: Access = {
    keys: state,
    bearers: createBearerVerifier(
      state,
      jwt === undefined ? undefined : createJwtVerifier(jwt, keyedHash, log),
      delegations,
    ),
    audit,
    consume,
    limits: listCounted(rateLimitsOf(settings)),
    refresh: state.refresh,
    ensureCurrent: state.ensureCurrent,
    isSuspended: state.isSuspended,
    hasEnded: state.hasEnded,
    responses,
  }
  return {
    access,
    delegations,
    keyedHash,
    operations: [getCaller(access)],
    metrics: [
      {
        name: 'mahi_refusals_total',
        help: 'Requests with a credential that was refused, by reason.',
        read: () => audit.refusals,
        label: 'reason',
      },
    ],
    stop: async () => {
      state.stop()
      responses.stop()
      await keyUse.stop()
      audit.stop()
    },
  }
}

/** The requirements for JWTs; `undefined` if JWTs are not accepted. */
function jwtOptionsOf(settings: AccessSettings): JwtOptions | undefined {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: jwksUrl } = settings
  if (issuer === undefined || audience === undefined || jwksUrl === undefined) return undefined
  return { issuer, audience, jwksUrl, eidClaim: settings.JWT_EID_CLAIM }
}
