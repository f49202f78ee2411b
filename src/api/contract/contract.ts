import type { FastifyRequest } from 'fastify'
import type { Static, TObject } from '../../foundation/schema/type.ts'
import type { OperationLimit } from '../access/limits.ts'
import type { Principal } from '../access/principal.ts'
import type { BodyDeclaration, IncomingBody, JsonBody } from '../request/body.ts'
import { type Members, Problem, type ProblemOptions, type ProblemSlug } from '../request/problems.ts'
import type { ApiVersion } from '../request/versions.ts'
import { type AccessRule, isOfOrganisation } from './access-rules.ts'
import {
  type BadRequestExample,
  COMMON_PROBLEMS,
  JSON_BODY_PROBLEMS,
  NOT_COVERED,
  type ResponseDeclaration,
  type SharedProblem,
} from './describe.ts'
import type { Defaulted } from './fields.ts'
import type { DocumentResult, Result } from './results.ts'

type NoFields = TObject<Record<never, never>>

/** The values of query parameters: those with a default are always present. */
export type QueryValues<Query extends TObject> = Static<Query> & {
  [Name in keyof Query['properties'] as Query['properties'][Name] extends Defaulted ? Name : never]: Static<
    Query['properties'][Name]
  >
}

type BodyValue<Body> =
  Body extends JsonBody<infer Json>
    ? Static<Json>
    : Body extends { readonly stream: unknown }
      ? IncomingBody
      : undefined

type Responses = Readonly<Record<number, ResponseDeclaration<unknown>>>

/** A document must fit the schema of its status; the other results are bytes, which the tests check. */
type ResultOf<R extends Responses> =
  | {
      [Status in keyof R & number]: R[Status] extends ResponseDeclaration<infer Body>
        ? DocumentResult<Status, Body>
        : never
    }[keyof R & number]
  | Exclude<Result, { kind: 'document' }>

/**
 * The contract of an operation: everything that its callers can rely on. All operations check in the same order:
 * version, credential (401), rate limit (429), access (401), Accept (406), path, query, headers and body (400, 413,
 * 415), data.
 */
export interface Contract<
  Path extends TObject,
  Query extends TObject,
  Derived,
  Header extends TObject,
  Body extends BodyDeclaration | undefined,
  Authorized,
  R extends Responses,
  Slug extends ProblemSlug,
> {
  /** The name in logs and metrics, such as `occupations`. */
  readonly name: string
  /** The id in the OpenAPI document and the client, such as `listOccupations`. */
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path without the version's prefix, with `{parameter}` for each path parameter. */
  readonly path: `/${string}`
  /** Defaults to the newest version. */
  readonly version?: ApiVersion
  readonly access: AccessRule<Authorized>
  readonly limit: OperationLimit
  /** `Cache-Control` of its pages. */
  readonly caching?: string
  /** The media types of its 200, the preferred one first; defaults to JSON. */
  readonly accepts?: readonly string[]
  readonly request?: {
    readonly path?: Path
    readonly query?: Query
    /** Converts the values of the query into the form that the handler needs. The result may be cached. */
    readonly derive?: (values: QueryValues<Query>) => Derived
    readonly header?: Header
    readonly body?: Body
  }
  /** The successful responses by status. The schema of a JSON object has a title, its name in the OpenAPI document. */
  readonly responses: R
  /** The meaning of each of its problems; those that any request can get need not be listed. */
  readonly problems: Readonly<Record<Slug, string>>
  readonly badRequest?: BadRequestExample
  /** The members of the 400 about parameters; by default only `errors`, which it is given. */
  readonly parameterFaultMembers?: (
    errors: Members,
    input: { authorized: Authorized; received: Readonly<Record<string, string>> },
  ) => Members
  /** The members of the 400 about the body besides `errors`. */
  readonly bodyFaultMembers?: Members
}

/** The input of a handler: every part of the request, checked. */
export interface Input<Path, Query, Header, Body, Authorized, Slug extends ProblemSlug> {
  readonly request: FastifyRequest
  /** `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
  readonly path: Path
  readonly query: Query
  /** The query parameters as received. */
  readonly received: Readonly<Record<string, string>>
  readonly header: Header
  readonly body: Body
  /** What the access rule found out. */
  readonly authorized: Authorized
  /** The media type in `accepts` that the caller prefers. */
  readonly accepted: string
  /** Whether the caller already has the version with this ETag. */
  isFresh(etag: string): boolean
  /**
   * Refuses the request with a problem of the contract.
   *
   * @param detail what is wrong with this request and what is allowed; shown to the caller
   */
  refuse(slug: Slug | SharedProblem, detail: string, options?: ProblemOptions): never
}

/** What `recall` may depend on: what is known before anything is read. */
type Recalled<Path, Query, Slug extends ProblemSlug> = Pick<
  Input<Path, Query, undefined, undefined, undefined, Slug>,
  'request' | 'path' | 'query' | 'received' | 'isFresh'
>

/** An operation: its contract, and the handler that keeps it. */
export type Operation = Contract<
  TObject,
  TObject,
  unknown,
  TObject,
  BodyDeclaration | undefined,
  unknown,
  Responses,
  ProblemSlug
> & {
  handle(input: Input<unknown, unknown, unknown, unknown, unknown, ProblemSlug>): Result | Promise<Result>
  recall?(input: Recalled<unknown, unknown, ProblemSlug>): Result | undefined
}

/**
 * Declares an operation. The handler's input has the types of the contract's schemas, its documents must fit theirs,
 * and `refuse` accepts only the contract's problems.
 */
export function operation<
  Authorized,
  const R extends Responses,
  Slug extends ProblemSlug,
  Path extends TObject = NoFields,
  Query extends TObject = NoFields,
  Derived = QueryValues<Query>,
  Header extends TObject = NoFields,
  Body extends BodyDeclaration | undefined = undefined,
>(contract: Contract<Path, Query, Derived, Header, Body, Authorized, R, Slug>) {
  return {
    /**
     * @param recall returns the result if it is in memory, so that the handler has nothing to read; only for an access
     * rule that asks for nothing but a scope, and without a body
     */
    handle(
      handle: (
        input: Input<Static<Path>, Derived, Static<Header>, BodyValue<Body>, Authorized, Slug>,
      ) => ResultOf<R> | Promise<ResultOf<R>>,
      recall?: (input: Recalled<Static<Path>, Derived, Slug>) => ResultOf<R> | undefined,
    ): Operation {
      // Checked above; the list of operations knows no types of single ones.
      return { ...contract, handle, ...(recall && { recall }) } as unknown as Operation
    },
  }
}

type Common = 'tag' | 'access' | 'limit' | 'caching'

/**
 * Declares the operations of a group: what they have in common is said once, and the problems that follow from access,
 * body and method are added to those of each operation.
 */
export function operationsOf<Authorized>(
  common: Pick<
    Contract<TObject, TObject, unknown, TObject, undefined, Authorized, Responses, ProblemSlug>,
    Common
  > & {
    readonly problems?: Readonly<Partial<Record<ProblemSlug, string>>>
  },
) {
  return <
    const R extends Responses,
    Slug extends ProblemSlug = never,
    Path extends TObject = NoFields,
    Query extends TObject = NoFields,
    Derived = QueryValues<Query>,
    Header extends TObject = NoFields,
    Body extends BodyDeclaration | undefined = undefined,
  >(
    contract: Omit<
      Contract<Path, Query, Derived, Header, Body, Authorized, R, Slug>,
      Exclude<Common, 'caching'> | 'problems'
    > & {
      readonly problems?: Readonly<Record<Slug, string>>
    },
  ) => {
    const whole = {
      ...common,
      ...contract,
      problems: {
        ...findProblems(common.access, contract.method, contract.request?.body),
        ...common.problems,
        ...contract.problems,
      },
    } as Contract<Path, Query, Derived, Header, Body, Authorized, R, Slug>
    return operation(whole)
  }
}

function findProblems(
  access: AccessRule,
  method: string,
  body: BodyDeclaration | undefined,
): Record<string, string> {
  return {
    ...COMMON_PROBLEMS,
    ...(isOfOrganisation(access)
      ? { unauthorized: NOT_COVERED, 'organisation-suspended': 'The organisation is suspended.' }
      : access.scope !== undefined && !access.anonymous && { unauthorized: lacks(access.scope) }),
    ...(body !== undefined && 'json' in body && JSON_BODY_PROBLEMS),
    ...(body === undefined && method !== 'GET' && { 'malformed-body': 'The request has a body.' }),
  }
}

const lacks = (scope: string) => `There is no valid credential, or it lacks the scope ${scope}.`

/** Refuses a request; the type of `Input` says with which problems. */
export function refuse(slug: ProblemSlug, detail: string, options?: ProblemOptions): never {
  throw new Problem(slug, detail, options)
}
