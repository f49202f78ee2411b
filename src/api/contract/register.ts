import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import { actFor } from '../../foundation/database/caller.ts'
import { type TSchema, Type } from '../../foundation/schema/type.ts'
import { type Access, admit, assertStillAllowed } from '../access/admit.ts'
import { SCOPES } from '../access/principal.ts'
import { forbidden } from '../access/refusals.ts'
import type { BodyDeclaration, IncomingBody } from '../request/body.ts'
import { callerOf } from '../request/caller.ts'
import { PROBLEMS } from '../request/problems.ts'
import { VERSIONS, type VersionRouter } from '../request/versions.ts'
import { assertAccepts, isFresh } from '../serving/negotiate.ts'
import { isOfOrganisation } from './access-rules.ts'
import { type Operation, refuse } from './contract.ts'
import { addSchemas, describeErrors, describeSecurity, VERSION_HEADER } from './describe.ts'
import { listTitled, titleOf } from './fields.ts'
import { PROBLEM_BODIES } from './problem-bodies.ts'
import { compileReaders, type Readers } from './readers.ts'
import type { Result } from './results.ts'
import { Sender } from './send.ts'

export interface OperationServices {
  readonly access: Access
  readonly versions: VersionRouter
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
  addSchemas(app, PROBLEM_BODIES)
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
 * Registers operations.
 *
 * @throws {TypeError} with the name of the operation whose contract is wrong, and what is wrong with it
 */
export function registerOperations(
  app: FastifyInstance,
  services: OperationServices,
  operations: readonly Operation[],
): void {
  const known = new Map<string, string>()
  const schemas = new Set<object>()
  for (const operation of operations) {
    const { name, id, method, path, version = VERSIONS[0] } = operation
    const route = `${method} ${version.prefix}${path.replaceAll(/\{\w+\}/g, '{}')}`
    for (const unique of [route, `the id ${id}`, `the name ${name}`]) {
      const other = known.get(unique)
      if (other !== undefined) throw new TypeError(`${name}: ${other} has ${unique} too`)
      known.set(unique, name)
    }
    for (const { content } of Object.values(operation.responses))
      addSchemas(app, listTitled(content, schemas))
    register(app, services, operation)
  }
}

function register(app: FastifyInstance, { access, versions }: OperationServices, operation: Operation): void {
  const { name, method, path, version = VERSIONS[0], access: rule, request: parameters = {} } = operation
  assertContract(operation)
  versions.include(path)
  const { accepts = JSON_ONLY, caching = 'private, no-cache' } = operation
  const ofOrganisation = isOfOrganisation(rule)
  const route: Route = {
    operation,
    access,
    ofOrganisation,
    accepts,
    read: compileReaders(operation),
    sender: new Sender(caching, accepts.length > 1 ? ['accept'] : []),
  }

  app.route({
    method,
    url: `${version.prefix}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    config: { operation: name, declaration: operation },
    onRequest: admit(access, {
      operation: name,
      limit: operation.limit,
      scope: rule.authorize === undefined ? rule.scope : undefined,
      anonymous: rule.anonymous,
      ofOrganisation,
    }),
    schema: {
      operationId: operation.id,
      summary: operation.summary,
      description: operation.description,
      tags: [operation.tag],
      security: describeSecurity(rule),
      headers: Type.Object({
        ...rule.headers?.properties,
        ...parameters.header?.properties,
        ...VERSION_HEADER,
      }),
      ...(parameters.path && { params: parameters.path }),
      ...(parameters.query && { querystring: parameters.query }),
      ...(parameters.body && { body: describeBody(parameters.body) }),
      response: {
        ...nameResponses(operation),
        ...describeErrors(operation.problems, path.includes('{submissionToken}'), operation.badRequest),
      },
    } as object,
    // A reply is a promise of its end: each async function that returned it would wait for that again.
    handler: (request: FastifyRequest, reply: FastifyReply) => {
      const assertAllowed = () => assertStillAllowed(access, request, { operation: name, ofOrganisation })
      const context = { caller: callerOf(request), request: request.id, assertAllowed }
      const handled = actFor(context, () => handle(route, request, reply, assertAllowed))
      handled.catch((error: unknown) => reply.send(error))
    },
  })
}

/** What the requests of an operation share. */
interface Route {
  readonly operation: Operation
  readonly access: Access
  readonly ofOrganisation: boolean
  readonly accepts: readonly string[]
  readonly read: Readers
  readonly sender: Sender
}

/** Access first: what a caller may not see must not show in what is wrong with the request. */
async function handle(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  assertAllowed: () => void,
): Promise<void> {
  const { operation, read, sender } = route
  const path = read.path(request)
  const authorized = await authorise(route, request, path.values)
  const accepted = assertAccepts(request, route.accepts)
  const { query, received, header } = read.others(request, path.faults, authorized)
  const isKnown = (etag: string) => isFresh(request, etag)
  const input = { request, path: path.values, query, received, isFresh: isKnown }
  const recalled = operation.recall?.(input)
  if (recalled !== undefined) await sender.send(request, reply, recalled)
  else await answer(route, reply, { ...input, header, authorized, accepted }, assertAllowed)
}

/**
 * Asks the access rule, and returns what it has found out.
 *
 * @throws {Problem} `unauthorized`
 */
async function authorise(
  { operation: { name, access: rule }, access, ofOrganisation }: Route,
  request: FastifyRequest,
  path: unknown,
): Promise<unknown> {
  if (ofOrganisation) await access.ensureCurrent()
  const authorized = await rule.authorize?.({
    request,
    principal: request.principal,
    path: path as Record<string, string>,
    isSuspended: access.isSuspended,
    forbid: (reason) => forbidden(access, request, name, reason),
  })
  const { eid } = request.headers
  if (ofOrganisation && typeof eid === 'string')
    request.owned = { eid, token: (path as { submissionToken?: string }).submissionToken }
  return authorized
}

/** Reads the body, and sends the result of the handler, if the caller is still allowed to get it. */
async function answer(
  { operation, access, read, sender }: Route,
  reply: FastifyReply,
  input: Omit<Parameters<Operation['handle']>[0], 'principal' | 'body' | 'refuse'>,
  assertAllowed: () => void,
): Promise<void> {
  const { request } = input
  const { method } = operation
  const incoming = await read.body(request)
  // The credential may have ended while the body arrived.
  if (incoming !== undefined) assertAllowed()
  const declared = operation.request?.body
  const body =
    declared !== undefined && 'stream' in declared
      ? whileAllowed(incoming as IncomingBody, assertAllowed)
      : incoming
  const result = await operation.handle({ ...input, principal: request.principal, body, refuse })
  // A new submission has no token before.
  const { owned } = request
  if (owned !== undefined && owned.token === undefined && method === 'POST')
    request.owned = { ...owned, token: tokenIn(result) }
  // What was changed is changed, but what was waited for may no longer be read.
  if (method === 'GET') assertAllowed()
  if (result.kind === 'stream') access.responses.watch(reply.raw, assertAllowed)
  await sender.send(request, reply, result)
}

const JSON_ONLY = ['application/json']

/** @throws {TypeError} for a contract that its type should have rejected, or that contradicts itself */
function assertContract({ name, access, request, problems, recall }: Operation): void {
  const wrong = (what: string) => new TypeError(`${name}: ${what}`)
  if ((access as unknown) === undefined) throw wrong('access is missing: say who may call it')
  if (access.scope !== undefined && !SCOPES.includes(access.scope))
    throw wrong(`the scope ${access.scope} does not exist`)
  if (recall !== undefined && (access.authorize ?? request?.body ?? request?.header) !== undefined)
    throw wrong('recall would skip what its access rule, its headers or its body ask for')
  const unknown = Object.keys(problems).filter((slug) => !Object.hasOwn(PROBLEMS, slug))
  if (unknown.length > 0) throw wrong(`the problem ${unknown.join(', ')} does not exist`)
}

/** Refers to each schema of a response by its title. */
function nameResponses({ name, responses }: Operation): object {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { content, ...rest }]) => [
      status,
      content === undefined
        ? rest
        : {
            ...rest,
            content: Object.fromEntries(
              Object.entries(content).map(([type, { schema, ...media }]) => {
                if (type !== 'application/json') return [type, { schema, ...media }]
                const title = titleOf(schema)
                if (title === undefined)
                  throw new TypeError(`${name}: the schema of its ${status} has no title`)
                return [type, { schema: { $ref: `${title}#` }, ...media }]
              }),
            ),
          },
    ]),
  )
}

/** A body that ends with a refusal if its sender may no longer send it. */
function whileAllowed({ bytes, ...rest }: IncomingBody, assertAllowed: () => void): IncomingBody {
  const read = async function* () {
    for await (const piece of bytes) {
      assertAllowed()
      yield piece
    }
  }
  return { ...rest, bytes: read() }
}

/** The token in the document of a new submission. */
function tokenIn(result: Result): string | undefined {
  if (result.kind !== 'document') return undefined
  const { submissionToken } = result.body as { submissionToken?: unknown }
  return typeof submissionToken === 'string' ? submissionToken : undefined
}

function describeBody(declaration: BodyDeclaration): TSchema | object {
  if ('json' in declaration) return declaration.json
  const schema = { type: 'string', format: 'binary' }
  return { content: Object.fromEntries(declaration.stream.map((type) => [type, { schema }])) }
}
