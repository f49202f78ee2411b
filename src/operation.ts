import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import Type, { type TObject, type TSchema } from 'typebox'
import { type Access, admit } from './access/admit.ts'
import type { Principal, Scope } from './access/principal.ts'
import type { OperationLimit } from './access/rate-limit.ts'
import {
  assertNoBody,
  type BodyDeclaration,
  compileBody,
  type DescribeBodyFaults,
  type IncomingBody,
} from './http/body.ts'
import { bodyMemory } from './http/body-memory.ts'
import {
  type BadRequestExample,
  describeErrors,
  nameSchemas,
  SECURITY,
  VERSION_HEADER,
} from './http/describe.ts'
import {
  compileNamed,
  compileQuery,
  describeFaults,
  type ParameterFault,
  queryOf,
} from './http/parameters.ts'
import { Problem, ProblemBody, type ProblemOptions, type ProblemSlug } from './http/problems.ts'
import { streamSlots } from './http/stream-slots.ts'
import { type ApiVersion, VERSIONS, type VersionRouter } from './http/versions.ts'
import { type MaybePromise, whenKnown } from './pages/maybe-promise.ts'
import type { Page } from './pages/page.ts'
import { assertAccepts, isFresh, PageSender, type SendOptions } from './pages/send.ts'
import { remember } from './text/remember.ts'

/** The result of an operation. The functions below create the variants. */
export type Result =
  | { readonly kind: 'page'; readonly page: Page; readonly onGrown?: (() => void) | undefined }
  | { readonly kind: 'not-modified'; readonly etag: string }
  | { readonly kind: 'document'; readonly status: number; readonly body: object; readonly headers: Headers }
  | {
      readonly kind: 'stream'
      readonly type: string
      readonly body: AsyncIterable<Buffer | string>
      readonly headers: Headers
    }
  | { readonly kind: 'empty'; readonly headers: Headers }

type Headers = Readonly<Record<string, string>>

/**
 * A page, sent on the fast path: compressed if the caller accepts that, with its ETag, or as 304.
 *
 * @param onGrown called when compressed bytes have been added to the page
 */
export const page = (page: Page, onGrown?: () => void): Result => ({ kind: 'page', page, onGrown })

/** 304: the caller already has the version with this ETag. */
export const notModified = (etag: string): Result => ({ kind: 'not-modified', etag })

/** 200 with a small JSON object. */
export const document = (body: object, headers: Headers = {}): Result => ({
  kind: 'document',
  status: 200,
  body,
  headers,
})

/** 201 with the new resource and its location. */
export const created = (location: string, body: object, headers: Headers = {}): Result => ({
  kind: 'document',
  status: 201,
  body,
  headers: { location, ...headers },
})

/**
 * 202 with the state of the work and the URL to poll.
 *
 * @param retryAfter whole seconds
 */
export const accepted = (location: string, retryAfter: number, body: object): Result => ({
  kind: 'document',
  status: 202,
  body,
  headers: { location, 'retry-after': String(retryAfter) },
})

/** 204. */
export const empty = (headers: Headers = {}): Result => ({ kind: 'empty', headers })

/**
 * 200 with bytes generated while they are sent. An error aborts the connection, so that a partial response is never
 * mistaken for a complete one.
 */
export const stream = (
  type: string,
  body: AsyncIterable<Buffer | string>,
  headers: Headers = {},
): Result => ({
  kind: 'stream',
  type,
  body,
  headers,
})

/** The input of a handler: every part of the request, checked. */
export interface Input<Path, Query, Header, Body, Authorized> {
  readonly request: FastifyRequest
  /** `undefined` for an anonymous caller of a public operation. */
  readonly principal: Principal | undefined
  readonly path: Path
  readonly query: Query
  /** The query parameters as received. */
  readonly received: Readonly<Record<string, string>>
  readonly header: Header
  readonly body: Body
  /** The result of `authorize`. */
  readonly authorized: Authorized
  /** The media type in `accepts` that the caller prefers. */
  readonly accepted: string
  /** Whether the caller already has the version with this ETag. */
  isFresh(etag: string): boolean
}

/** The input available before the parameters are checked. */
export type Authorizing<Path> = Pick<
  Input<Path, never, never, never, never>,
  'request' | 'principal' | 'path'
>

/** A query whose reading is cached for requests that repeat it. */
export interface QueryDeclaration<Query> {
  readonly schema: TObject
  /** Converts the values into the form that the handler needs. */
  readonly derive?: (values: never) => Query
}

/**
 * An operation: everything needed to route, check, describe and answer its requests. All operations check in the same
 * order: version, credential (401), rate limit (429), scope and `authorize` (401), Accept (406), path, query, headers
 * and body (400, 413, 415), data.
 */
export interface Operation<
  Path = unknown,
  Query = unknown,
  Header = unknown,
  Body = unknown,
  Authorized = unknown,
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
  /** If absent, `authorize` checks the scope itself, so that its refusals take the same time. */
  readonly scope?: Scope
  readonly limit: OperationLimit
  /** Whether a caller without a credential is authorized; one with an invalid credential never is. */
  readonly anonymous?: boolean
  /** `Cache-Control` of its pages. */
  readonly caching?: string
  /** The media types of its 200, the preferred one first; defaults to JSON. */
  readonly accepts?: readonly string[]
  readonly parameters?: {
    readonly path?: TObject
    readonly query?: QueryDeclaration<Query>
    readonly header?: TObject
    readonly body?: BodyDeclaration
  }
  /**
   * Headers that `authorize` or `handle` read themselves, such as EID: documented here, but not checked for faults.
   */
  readonly authorizingHeaders?: TObject
  /** @throws {Problem} `unauthorized` */
  authorize?(input: Authorizing<Path>): MaybePromise<Authorized>
  /** Further members of the 400 about parameters. */
  describeFaults?(
    faults: readonly ParameterFault[],
    input: { authorized: Authorized; received: Readonly<Record<string, string>> },
  ): ProblemOptions
  /** Further members of the 400 about the body. */
  readonly describeBodyFaults?: DescribeBodyFaults
  /** The schemas that its responses reference, by their names in the OpenAPI document. */
  readonly schemas?: Readonly<Record<string, TSchema>>
  /** The successful responses by status, from `describePage` and similar functions. */
  readonly responses: Readonly<Record<number, object>>
  /** The meaning of each of its problems; those that any request can get need not be listed. */
  readonly problems: Partial<Record<ProblemSlug, string>>
  readonly badRequest?: BadRequestExample
  handle(input: Input<Path, Query, Header, Body, Authorized>): MaybePromise<Result>
}

/** Checks a declaration against its own types, then erases them for the list of operations. */
export function declare<
  Path = unknown,
  Query = unknown,
  Header = unknown,
  Body = unknown,
  Authorized = unknown,
>(operation: Operation<Path, Query, Header, Body, Authorized>): Operation {
  return operation as unknown as Operation
}

export interface OperationServices {
  readonly access: Access
  readonly send: SendOptions
  readonly versions: VersionRouter
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The declaration behind the route. */
    declaration?: Operation
  }
}

/**
 * Compilers for Fastify that do nothing. Schemas are only documentation: the readers of each declaration reject what
 * Ajv would coerce or drop, and responses are already bytes. Given to the constructor, they keep Ajv from being loaded.
 */
export const SCHEMA_CONTROLLER: NonNullable<FastifyServerOptions['schemaController']> = {
  compilersFactory: {
    // Fastify's type asks for a compiler with the properties of Ajv.
    buildValidator: (() => () => () => true) as never,
    buildSerializer: () => () => JSON.stringify,
  },
}

/**
 * Prepares an app for operations. They read their bodies themselves, and a route whose schema has an input without a
 * reader is rejected at registration.
 */
export function prepareOperations(app: FastifyInstance): void {
  nameSchemas(app, { Problem: ProblemBody })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.addHook('onRoute', ({ url, schema, config }) => {
    if (config?.declaration !== undefined) return
    const unread = (['body', 'querystring', 'params', 'headers'] as const).filter(
      (part) => schema?.[part] !== undefined,
    )
    if (unread.length > 0)
      throw new TypeError(`${config?.operation ?? url}: nothing reads its ${unread.join(' and ')}`)
  })
}

/**
 * Registers an operation.
 *
 * @throws {TypeError} with the name of the operation if an input has no reader
 */
export function registerOperation(
  app: FastifyInstance,
  services: OperationServices,
  operation: Operation,
): void {
  const { access, send, versions } = services
  const {
    name,
    method,
    path,
    version = VERSIONS[0],
    parameters = {},
    authorize,
    accepts = JSON_ONLY,
  } = operation
  const read = compileReaders(operation)
  const sender = new PageSender(
    send,
    name,
    operation.caching ?? 'private, no-cache',
    accepts.length > 1 ? ['accept'] : [],
  )
  versions.include(path)
  nameSchemas(app, operation.schemas ?? {})

  const handle = (request: FastifyRequest, reply: FastifyReply): MaybePromise<unknown> => {
    const { principal } = request
    const path = read.path(request)
    const authorized = authorize?.call(operation, { request, principal, path: path.values })
    return whenKnown(authorized, (authorized) => {
      const accepted = assertAccepts(request, accepts)
      const inputs = read.others(request, path.faults, authorized)
      const answer = (body: unknown) =>
        whenKnown(
          operation.handle({
            request,
            principal,
            path: path.values,
            query: inputs.query,
            received: inputs.received,
            header: inputs.header,
            body,
            authorized,
            accepted,
            isFresh: (etag) => isFresh(request, etag),
          }),
          (result) => sendResult(request, reply, sender, result),
        )
      if (read.body === undefined) {
        if (method !== 'GET') assertNoBody(request.raw)
        return answer(undefined)
      }
      const incoming = read.body(request)
      if (!(incoming instanceof Promise)) return answer(incoming)
      return incoming.then(answer).finally(() => bodyMemory.release(request.raw))
    })
  }

  app.route({
    method,
    url: `${version.prefix}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    config: { operation: name, declaration: operation },
    onRequest: admit(access, {
      operation: name,
      limit: operation.limit,
      scope: operation.scope,
      anonymous: operation.anonymous === true,
    }),
    schema: {
      operationId: operation.id,
      summary: operation.summary,
      description: operation.description,
      tags: [operation.tag],
      security: operation.anonymous === true ? [{}, ...SECURITY] : SECURITY,
      headers: Type.Object({
        ...operation.authorizingHeaders?.properties,
        ...parameters.header?.properties,
        ...VERSION_HEADER,
      }),
      ...(parameters.path && { params: parameters.path }),
      ...(parameters.query && { querystring: parameters.query.schema }),
      ...(parameters.body && { body: describeBody(parameters.body) }),
      response: { ...operation.responses, ...describeErrors(operation.problems, operation.badRequest) },
    } as object,
    handler: handle as (request: FastifyRequest, reply: FastifyReply) => unknown,
  })
}

const JSON_ONLY = ['application/json']

interface Readers {
  path(request: FastifyRequest): { values: unknown; faults: readonly ParameterFault[] }
  /** @throws {Problem} `invalid-parameters`, with all faults of the path, the query and the headers */
  others(
    request: FastifyRequest,
    pathFaults: readonly ParameterFault[],
    authorized: unknown,
  ): { query: unknown; received: Readonly<Record<string, string>>; header: unknown }
  readonly body: ((request: FastifyRequest) => MaybePromise<unknown>) | undefined
}

const NOTHING = { values: {}, faults: [] }
const NO_QUERY: QueryDeclaration<unknown> = { schema: Type.Object({}) }

function compileReaders(operation: Operation): Readers {
  const { parameters = {}, path } = operation
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const declared = Object.keys(parameters.path?.properties ?? {})
  if (inPath.join() !== declared.join()) {
    throw new TypeError(
      `${operation.name}: the path has the parameters ${inPath.join(', ') || 'none'}, the declaration ${declared.join(', ') || 'none'}`,
    )
  }
  try {
    const { schema, derive = (values: unknown) => values } = parameters.query ?? NO_QUERY
    const readQuery = compileQuery<never>(schema)
    const query = remember((text) => {
      const reading = readQuery(text)
      return { ...reading, derived: reading.faults.length === 0 ? derive(reading.values) : undefined }
    })
    const readPath = parameters.path && compileNamed<unknown>(parameters.path)
    const readHeader =
      parameters.header && compileNamed<unknown>(parameters.header, (name) => name.toLowerCase())
    const readBody = parameters.body && compileBody(parameters.body)
    return {
      path(request) {
        if (inPath.length === 0) return NOTHING
        const given = request.params as Record<string, string>
        const { values, faults } = readPath?.(given) ?? NOTHING
        return { values: { ...given, ...(values as object) }, faults }
      },
      others(request, pathFaults, authorized) {
        const { derived, faults: queryFaults, received } = query(queryOf(request.url))
        const header = readHeader?.(request.headers) ?? NOTHING
        if (pathFaults.length + queryFaults.length + header.faults.length > 0) {
          const faults = [...pathFaults, ...queryFaults, ...header.faults]
          throw new Problem(
            'invalid-parameters',
            describeFaults(faults),
            operation.describeFaults?.(faults, { authorized, received }),
          )
        }
        return { query: derived, received, header: header.values }
      },
      body:
        readBody &&
        ((request) => readBody(request.raw, operation.describeBodyFaults) as MaybePromise<unknown>),
    }
  } catch (error) {
    throw new TypeError(`${operation.name}: ${(error as Error).message}`, { cause: error })
  }
}

function describeBody(declaration: BodyDeclaration): TSchema | object {
  if ('json' in declaration) return declaration.json
  const schema = { type: 'string', format: 'binary' }
  return { content: Object.fromEntries(declaration.stream.map((type) => [type, { schema }])) }
}

function sendResult(
  request: FastifyRequest,
  reply: FastifyReply,
  sender: PageSender,
  result: Result,
): MaybePromise<unknown> {
  switch (result.kind) {
    case 'page':
      return sender.send(request, reply, result.page, result.onGrown)
    case 'not-modified':
      return sender.sendNotModified(request, reply, result.etag)
    case 'document':
      reply.code(result.status).headers({ 'cache-control': 'no-store', ...result.headers })
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(result.body))
    case 'empty':
      return reply
        .code(204)
        .headers({ 'cache-control': 'no-store', ...result.headers })
        .send()
    case 'stream':
      reply.headers({ 'cache-control': 'private, no-store', ...result.headers })
      return streamSlots
        .open(reply.raw, result.body)
        .then((body) => reply.type(result.type).send(Readable.from(body, { objectMode: false })))
  }
}

export type { IncomingBody }
