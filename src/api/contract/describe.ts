import type { FastifyInstance } from 'fastify'
import { type Rendered, type Static, type TSchema, Type } from '../../foundation/schema/type.ts'
import {
  describeFaults,
  NO_CREDENTIAL,
  PROBLEMS,
  Problem,
  type ProblemSlug,
  renderProblem,
} from '../request/problems.ts'
import { titleOf } from './fields.ts'

/** Adds schemas under their titles, so that routes can refer to them and the OpenAPI document lists them. */
export function addSchemas(app: FastifyInstance, schemas: Iterable<TSchema>): void {
  for (const schema of schemas) {
    const $id = titleOf(schema) ?? ''
    if (app.getSchema($id) === undefined) app.addSchema({ $id, ...schema })
  }
}

const text = (description: string) => ({ description, type: 'string' })
const ANY_RESPONSE = {
  'api-supported-versions': text('The versions of the API that the service supports.'),
  'x-request-id': text('The ID of the request, which is also in the log.'),
}
const LIMITED = {
  'ratelimit-policy': text('The limit: `q` requests in each window of `w` seconds.'),
  ratelimit: text('The remaining allowance: `r` requests in the next `t` seconds.'),
}
export const CONDITIONAL = {
  etag: text(
    'Identifies this state of the page. Send it as If-None-Match to get 304 until the page changes.',
  ),
  'cache-control': text('Who may cache the response, and for how long.'),
  vary: text('The request headers that the response depends on.'),
}

/**
 * A successful response of an operation.
 *
 * @typeParam Body the value that its schema describes
 */
export interface ResponseDeclaration<Body> {
  readonly description: string
  readonly headers: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, { readonly schema: object; readonly example?: object }>>
  readonly type?: 'null'
  /** Only a type: no response has this member. */
  readonly body?: Body
}

type Fields = Readonly<Record<string, object>>

/** A response that is cached and compressed, with an example. */
export function describePage<Schema extends TSchema>(
  schema: Schema,
  description: string,
  example: Static<Schema> & object,
  headers: Fields = {},
): ResponseDeclaration<Rendered<Schema>> {
  return describeDocument<Schema>(schema, description, example, { ...CONDITIONAL, ...headers })
}

/** A response of lines or bytes. */
export function describeStream(
  type: string,
  description: string,
  headers: Fields = {},
): ResponseDeclaration<never> {
  return {
    description,
    headers: {
      ...ANY_RESPONSE,
      ...LIMITED,
      'cache-control': CONDITIONAL['cache-control'],
      etag: text('Identifies the content.'),
      'content-disposition': text('The name of the file.'),
      ...headers,
    },
    content: { [type]: { schema: { type: 'string', format: 'binary' } } },
  }
}

/** A response that is not cached, with an example. */
export function describeDocument<Schema extends TSchema>(
  schema: Schema,
  description: string,
  example: Static<Schema> & object,
  headers: Fields = {},
): ResponseDeclaration<Rendered<Schema>> {
  return {
    description,
    headers: { ...ANY_RESPONSE, ...LIMITED, ...headers },
    content: { 'application/json': { schema, example } },
  }
}

export const NEXT_LINK = {
  link: text(
    'The next page, as rel="next" (RFC 8288): a path with all parameters, relative to the URL of the request.',
  ),
}

/** The 304 of an operation. */
export const NOT_MODIFIED: ResponseDeclaration<never> = {
  description: 'The page has not changed since the response that If-None-Match identifies.',
  headers: { ...ANY_RESPONSE, ...LIMITED, ...CONDITIONAL },
  type: 'null',
}

export const RETRY = { 'retry-after': { description: 'Whole seconds to wait.', type: 'integer' } }
const ERROR_HEADERS: Partial<Record<ProblemSlug, Record<string, object>>> = {
  unauthorized: { ...LIMITED, 'www-authenticate': text('How to authenticate (RFC 9110, section 11.6.1).') },
  'method-not-allowed': { allow: text('The methods that the endpoint supports.') },
  'too-many-requests': { ...LIMITED, ...RETRY },
  unavailable: RETRY,
  conflict: {
    'retry-after': {
      description: 'Whole seconds to wait, if work in progress is the reason.',
      type: 'integer',
    },
  },
  'unsupported-media-type': {
    accept: text('The supported media types.'),
    'accept-encoding': text('The supported encodings.'),
  },
  gone: { location: text('Where to continue.') },
}

/** The meaning of the problems that nearly every operation has. */
export const COMMON_PROBLEMS = {
  'invalid-parameters': 'A parameter is invalid, or the version is not supported.',
  unauthorized: 'There is no valid credential.',
  'too-many-requests': 'The rate limit is exceeded.',
} as const

/** The meaning of the problems that every JSON body can have. */
export const JSON_BODY_PROBLEMS = {
  'malformed-body': 'The body is not one JSON object.',
  'content-too-large': 'The body is too large.',
  'unsupported-media-type': 'The body is not JSON.',
} as const

/** The meaning of 401 where the data belongs to an organisation. */
export const NOT_COVERED =
  'There is no valid credential. Or it lacks the scope, does not cover the EID, or the organisation has no submission with this token; the detail says which.'

/** Errors that any request can meet, so that no operation declares them. */
const ANYWHERE = [
  'method-not-allowed',
  'not-acceptable',
  'request-timeout',
  'uri-too-long',
  'unsupported-media-type',
  'expectation-failed',
  'headers-too-large',
  'internal-error',
  'unavailable',
] as const satisfies readonly ProblemSlug[]

/** A problem that any request can get, so that no operation declares it. */
export type SharedProblem = (typeof ANYWHERE)[number]

/** Those that OpenAPI describes with the declared problems of their status: they arise before the handler runs. */
const BEFORE_HANDLER = ['unsupported-version', 'malformed-request', 'precondition-failed'] as const

const UNDECLARED_BY_OPERATIONS: ReadonlySet<ProblemSlug> = new Set([...ANYWHERE, ...BEFORE_HANDLER])

/** Whether a problem is one of the declared ones, or one that any request can get. */
export function isDeclared(slug: ProblemSlug, declared: Readonly<Record<string, string>>): boolean {
  return Object.hasOwn(declared, slug) || UNDECLARED_BY_OPERATIONS.has(slug)
}

/** An example detail for each problem. */
const DETAILS: Partial<Record<ProblemSlug, string>> = {
  'unsupported-media-type': 'The Content-Type is "text". Supported: application/json, in UTF-8.',
  'unsupported-version': 'Version "9" in the URL is not supported. Supported versions: 1.0.',
  unauthorized: NO_CREDENTIAL,
  'organisation-suspended':
    'Organisation 1001 is suspended: its submissions are kept and cannot be read or changed until the operator of this service resumes it.',
  'method-not-allowed': 'This endpoint does not support POST. Supported methods: GET, HEAD, OPTIONS.',
  'not-acceptable': 'The Accept header excludes application/json, the only supported media type.',
  'request-timeout': 'The request did not arrive in time.',
  'uri-too-long': 'The URL is 9000 characters long; at most 8192 are allowed.',
  'expectation-failed': 'The only supported expectation is 100-continue.',
  'too-many-requests': 'More than 600 requests in 60 seconds. Try again in 17 s.',
  'headers-too-large':
    'The request line and the headers exceed 16 KiB, or there are more than 1,000 headers.',
  'internal-error': 'The service failed. The log has the cause under this ID.',
  unavailable: 'The database does not respond.',
  'no-such-occupation': 'No occupation has the code "A0110". Similar codes: "A0101".',
  'no-such-group': 'No group has the code "111". Similar codes: "11".',
  'occupation-removed':
    'The occupation "A0103" was removed on 2026-01-31T09:30:00.000Z. Its successors: A0101.',
  gone: 'The token in Since is not valid here: it is malformed, too old, from another installation, or from before a restore. Load the snapshot at /v1/occupations/snapshot and continue with the token in its Delta-Token header.',
}

/** The schemas of problems that have further members. */
const SCHEMAS: Partial<Record<ProblemSlug, string>> = {
  'no-such-occupation': 'SimilarCodesProblem',
  'no-such-group': 'SimilarCodesProblem',
  'occupation-removed': 'RemovedOccupationProblem',
}

/** Those of operations on a submission: its state and its content can have a code of the public documentation. */
const SUBMISSION_SCHEMAS: Partial<Record<number, string>> = {
  400: 'SubmissionProblem',
  409: 'SubmissionProblem',
}

const MEMBERS: Partial<Record<ProblemSlug, Record<string, unknown>>> = {
  'no-such-occupation': { similarCodes: ['A0101'] },
  'no-such-group': { similarCodes: ['11'] },
  'occupation-removed': { removedDate: '2026-01-31T09:30:00.000Z', replacedBy: ['A0101'] },
}

const EXAMPLE_ID = '0c6e1a4e-6f0b-4d5c-9c39-5f1f4e2f7a10'

/** The schema of an operation's 400, and the detail in its example. */
export interface BadRequestExample {
  readonly schemaName?: string
  readonly detail: string
  readonly members?: Record<string, unknown>
}

/** What is wrong with a parameter of most operations. */
const EXAMPLE_FAULT = { name: 'Limit', message: 'must be a whole number from 1 to 100, not "500"' }
const [detail, { members }] = describeFaults([EXAMPLE_FAULT])
const EXAMPLE_BAD_REQUEST: BadRequestExample = { detail, members }

/** The 400 of the specified list of occupations: its body has nothing that is not specified. */
export const SPECIFIED_BAD_REQUEST: BadRequestExample = { schemaName: 'Problem', detail }

/**
 * The errors of an operation by status, each with an example, without those that any request can get.
 *
 * @param own the meaning of each of the operation's own problems
 * @param ofSubmission whether the operation is on one submission
 * @param badRequest the schema of its 400, and the detail of the example
 */
export function describeErrors(
  own: Partial<Record<ProblemSlug, string>>,
  ofSubmission: boolean,
  badRequest: BadRequestExample = EXAMPLE_BAD_REQUEST,
) {
  const schemaOf = (slugs: readonly ProblemSlug[], status: number) =>
    (status === 400 ? badRequest.schemaName : slugs.map((slug) => SCHEMAS[slug]).find(Boolean)) ??
    (ofSubmission ? SUBMISSION_SCHEMAS[status] : undefined) ??
    (status === 400 || status === 422 ? 'ValueProblem' : 'Problem')
  const byStatus = Map.groupBy(Object.keys(own) as ProblemSlug[], (slug) => PROBLEMS[slug].status)
  return Object.fromEntries(
    [...byStatus].map(([status, slugs]) => {
      const schema = { $ref: `${schemaOf(slugs, status)}#` }
      const kinds: ProblemSlug[] = status === 400 ? ['invalid-parameters', 'unsupported-version'] : slugs
      const examples = Object.fromEntries(
        kinds.map((kind) => [kind, exampleOf(kind, kind === 'invalid-parameters' ? badRequest : undefined)]),
      )
      return [
        status,
        {
          description: slugs.map((slug) => own[slug]).join(' Or: '),
          headers: Object.assign({}, ANY_RESPONSE, ...slugs.map((slug) => ERROR_HEADERS[slug])),
          content: { 'application/problem+json': { schema, examples } },
        },
      ]
    }),
  )
}

/** The errors that any request can get, as one component of the OpenAPI document. */
export function describeSharedErrors() {
  const list = ANYWHERE.map((slug) => `- ${PROBLEMS[slug].status}: ${PROBLEMS[slug].title}.`)
  const own: Record<string, { description?: string }> = Object.assign(
    {},
    ANY_RESPONSE,
    ...ANYWHERE.map((slug) => ERROR_HEADERS[slug]),
  )
  return {
    description: `Errors that any request can get:\n\n${list.join('\n')}`,
    headers: Object.fromEntries(
      Object.entries(own).map(([name, { description, ...schema }]) => [name, { description, schema }]),
    ),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(ANYWHERE.map((slug) => [slug, exampleOf(slug)])),
      },
    },
  }
}

function exampleOf(
  slug: ProblemSlug,
  { detail, members = MEMBERS[slug] ?? {} }: Partial<BadRequestExample> = {},
) {
  const problem = new Problem(slug, detail ?? DETAILS[slug] ?? '', { members })
  return { value: JSON.parse(renderProblem(problem, EXAMPLE_ID)) as object }
}

/** The headers that every operation accepts. */
export const VERSION_HEADER = {
  'x-api-version': Type.Optional(
    Type.String({
      description: 'The version of the API, such as `1` or `1.0`. Overrides the version in the URL.',
    }),
  ),
}

/** The ways to authenticate, one of which is enough, with the scope that the credential needs. */
export function describeSecurity({ scope, anonymous }: { scope: string | undefined; anonymous: boolean }) {
  const scopes = scope === undefined ? [] : [scope]
  return [...(anonymous ? [{}] : []), { apiKey: scopes }, { bearer: scopes }]
}
