import type { FastifyInstance } from 'fastify'
import Type, { type TSchema } from 'typebox'
import { PROBLEMS, type ProblemSlug } from './problems.ts'

/** Gives schemas a name under which routes refer to them and the OpenAPI document lists them. */
export function nameSchemas(app: FastifyInstance, schemas: Readonly<Record<string, TSchema>>): void {
  for (const [name, schema] of Object.entries(schemas)) app.addSchema({ $id: name, ...schema })
}

const text = (description: string) => ({ description, type: 'string' })
const ANY_RESPONSE = {
  'api-supported-versions': text('The versions of the interface that the service supports.'),
  'x-request-id': text('The id of the request, which is also in the log.'),
}
const LIMITED = {
  'ratelimit-policy': text('The limit: `q` requests in each window of `w` seconds.'),
  ratelimit: text('What is left of it: `r` requests for the next `t` seconds.'),
}
const CONDITIONAL = {
  etag: text('Names this page in this state of the data; send it back as If-None-Match.'),
  'cache-control': text('How long and by whom the answer may be kept.'),
  vary: text('Which request headers the answer depends on.'),
}

/** The 200 of an operation. */
export function describePage(schemaName: string, description: string, headers: Record<string, object> = {}) {
  return {
    description,
    headers: { ...ANY_RESPONSE, ...LIMITED, ...CONDITIONAL, ...headers },
    content: { 'application/json': { schema: { $ref: `${schemaName}#` } } },
  }
}

export const NEXT_LINK = { link: text('The address of the next page, as rel="next" (RFC 8288).') }

/** The 304 of an operation. */
export const NOT_MODIFIED = {
  description: 'The page is the one that If-None-Match names.',
  headers: { ...ANY_RESPONSE, ...LIMITED, ...CONDITIONAL },
  type: 'null',
}

const RETRY = { 'retry-after': { description: 'Whole seconds to wait.', type: 'integer' } }
const ERROR_HEADERS: Partial<Record<ProblemSlug, Record<string, object>>> = {
  unauthorized: { 'www-authenticate': text('How to authenticate (RFC 9110, section 11.6.1).') },
  'method-not-allowed': { allow: text('The methods that the address takes.') },
  'too-many-requests': { ...LIMITED, ...RETRY },
  unavailable: RETRY,
}

/** Errors that any request can meet. */
const ANYWHERE = [
  'method-not-allowed',
  'not-acceptable',
  'request-timeout',
  'uri-too-long',
  'headers-too-large',
  'internal-error',
  'unavailable',
] as const satisfies readonly ProblemSlug[]

/** The errors of an operation, by status: its own and those that any request can meet. */
export function describeErrors(own: Partial<Record<ProblemSlug, string>>, schemaOf400 = 'Problem') {
  const slugs = new Map<ProblemSlug, string>([
    ...ANYWHERE.map((slug) => [slug, PROBLEMS[slug].title] as const),
    ...(Object.entries(own) as [ProblemSlug, string][]),
  ])
  return Object.fromEntries(
    [...slugs].map(([slug, description]) => {
      const { status } = PROBLEMS[slug]
      const schema = { $ref: `${status === 400 ? schemaOf400 : 'Problem'}#` }
      return [
        status,
        {
          description,
          headers: { ...ANY_RESPONSE, ...ERROR_HEADERS[slug] },
          content: { 'application/problem+json': { schema } },
        },
      ]
    }),
  )
}

/** The headers that both operations take. */
export const VERSION_HEADER = {
  'x-api-version': Type.Optional(
    Type.String({
      description: 'The version of the interface, such as `1` or `1.0`; overrides the address.',
    }),
  ),
}

/** The ways to authenticate: either of them. */
export const SECURITY = [{ apiKey: [] }, { bearer: [] }]
