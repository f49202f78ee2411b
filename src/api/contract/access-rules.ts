import type { FastifyRequest } from 'fastify'
import { type TObject, Type } from '../../foundation/schema/type.ts'
import type { Principal, Scope } from '../access/principal.ts'
import {
  explainEid,
  explainScope,
  explainSuspension,
  explainToken,
  type Forbidding,
} from '../access/refusals.ts'
import type { Problem } from '../request/problems.ts'
import { text } from './fields.ts'

/** What a rule may decide by: the credential, the path and the headers, before any parameter is checked. */
interface Authorizing {
  readonly request: FastifyRequest
  /** `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
  /** The path parameters as received. */
  readonly path: Readonly<Record<string, string>>
  /** Whether an operator has suspended the organisation. */
  isSuspended(eid: string): boolean
  /** The refusal of the request, which is audited. */
  forbid(why: Forbidding): Problem
}

/**
 * Who may call an operation. Every operation has one of the rules below, or one that a domain builds on `asOrganisation`.
 *
 * @typeParam Authorized what the rule finds out about the request, for the handler
 */
export interface AccessRule<Authorized = unknown> {
  /** The scope that the credential must have; `undefined` if any valid credential will do. */
  readonly scope: Scope | undefined
  /** Whether a caller without a credential is authorized; one with an invalid credential never is. */
  readonly anonymous: boolean
  /** The headers that it reads. */
  readonly headers?: TObject
  /**
   * Decides which data the caller may see. If present, it checks the scope too, so that all refusals do the same work.
   *
   * @throws {Problem} from `forbid`
   */
  readonly authorize?: (input: Authorizing) => Promise<Authorized>
}

/** A credential with a scope; with `anonymous`, also a caller without a credential. */
export function withScope(scope: Scope, { anonymous = false } = {}): AccessRule<undefined> {
  return { scope, anonymous }
}

/** Any valid credential. */
export const WITH_CREDENTIAL: AccessRule<undefined> = { scope: undefined, anonymous: false }

const EID_HEADER = Type.Object({
  EID: Type.String({ description: 'The identifier of the organisation.' }),
})

const OPTIONAL_EID_HEADER = Type.Object({
  EID: text('The identifier of the organisation; the scope operate needs none.'),
})

/** Whether requests can be for the data of the organisation in the header EID. */
export function isOfOrganisation({ headers }: AccessRule): boolean {
  return headers === EID_HEADER || headers === OPTIONAL_EID_HEADER
}

/**
 * As `forOrganisation`, or without the header EID a credential with the scope `operate`, for which `authorized` is
 * `undefined`.
 */
export function forOrganisationOrOperator(scope: Scope): AccessRule<string | undefined> {
  const rule = forOrganisation(scope)
  return {
    ...rule,
    headers: OPTIONAL_EID_HEADER,
    authorize: async (input) =>
      input.request.headers.eid === undefined && input.principal?.scopes.has('operate') === true
        ? undefined
        : await rule.authorize?.(input),
  }
}

/**
 * A credential with a scope that covers the organisation of the header EID; `authorized` is its EID.
 */
export function forOrganisation(scope: Scope): AccessRule<string> {
  return asOrganisation(scope, async (eid) => (eid === '' ? undefined : eid))
}

/**
 * A credential with a scope that covers the organisation of the header EID, which owns what the path names.
 *
 * @param find what belongs to an organisation; for an empty EID, which owns nothing, it does the same work
 * @param also another scope that is enough
 */
export function asOrganisation<Owned>(
  scope: Scope,
  find: (eid: string, path: Readonly<Record<string, string>>) => Promise<Owned | undefined>,
  also: Scope = scope,
): AccessRule<Owned> {
  return {
    scope,
    anonymous: false,
    headers: EID_HEADER,
    async authorize({ request, principal, path, isSuspended, forbid }) {
      const { eid } = request.headers
      const inScope = principal?.scopes.has(scope) === true || principal?.scopes.has(also) === true
      const covered = typeof eid === 'string' && principal?.eids.has(eid) === true
      const suspended = covered && isSuspended(eid)
      const owned = await find(inScope && covered && !suspended ? eid : '', path)
      if (principal !== undefined && !inScope)
        throw forbid({ reason: 'scope', detail: explainScope(principal, scope) })
      if (principal !== undefined && !covered)
        throw forbid({ reason: 'submission', detail: explainEid(principal, eid) })
      if (suspended) throw forbid({ reason: 'suspended', detail: explainSuspension(String(eid)) })
      if (owned === undefined) throw forbid({ reason: 'submission', detail: explainToken(String(eid)) })
      return owned
    },
  }
}
