import Type from 'typebox'

/** Every kind of error that the service answers with: its status, what it means and what to do about it. */
export const PROBLEMS = {
  'invalid-parameters': {
    status: 400,
    title: 'A query parameter is wrong',
    advice:
      'The detail names each parameter, what was wrong with it and what would be right. Parameters are never clamped, coerced or ignored: correct the request and send it again.',
  },
  'unsupported-version': {
    status: 400,
    title: 'This version of the interface is not supported',
    advice:
      'Ask for a version that the header api-supported-versions lists, either in the address (/v1/...) or in the header x-api-version, which overrides the address.',
  },
  'malformed-request': {
    status: 400,
    title: 'The request is not well-formed HTTP',
    advice: 'Check the request line, the headers and the percent-encoding of the address.',
  },
  'malformed-body': {
    status: 400,
    title: 'The request body is malformed',
    advice:
      'Send one JSON object in UTF-8, or no body where the operation reads none. The detail says what is wrong.',
  },
  'invalid-body': {
    status: 400,
    title: 'The request body is invalid',
    advice:
      'The detail names each field, what is wrong with it and what is allowed. Correct the body and send it again.',
  },
  unauthorized: {
    status: 401,
    title: 'The request is not authorised',
    advice:
      'Send a valid key as X-API-Key or as Authorization: Bearer. For validation results, send as well the EID header of an organisation that the key covers, and the token of one of its submissions. One answer stands for every reason, so that nobody learns which tokens exist.',
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    advice: 'The addresses that exist are listed at /docs and in /openapi.json.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'This address does not take this method',
    advice: 'Use a method that the Allow header lists. The service only reads: GET and HEAD.',
  },
  'not-acceptable': {
    status: 406,
    title: 'The answer can only be JSON',
    advice: 'Let the Accept header include application/json, or leave it out.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    advice: 'Send the whole request at once; check the connection.',
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the state of the resource',
    advice:
      'The detail says what is in the way. Read the resource again, or wait for the other request to finish.',
  },
  gone: {
    status: 410,
    title: 'The resource no longer exists',
    advice: 'It existed before. The detail, and the Location header where there is one, say how to continue.',
  },
  'precondition-failed': {
    status: 412,
    title: 'A precondition of the request failed',
    advice:
      'The resource changed since it was read: read it again, and send its new ETag as If-Match. Or the data has not reached the revision that X-Min-Revision names: leave the header out.',
  },
  'content-too-large': {
    status: 413,
    title: 'The request body is too large',
    advice: 'Send a smaller body. The detail states the limit in bytes.',
  },
  'uri-too-long': {
    status: 414,
    title: 'The address is too long',
    advice: 'Shorten the query: no parameter needs more than a few hundred characters.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type of the request body is not supported',
    advice: 'Send a Content-Type and a Content-Encoding that the detail lists.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The Expect header asks for something unknown',
    advice: 'Leave the Expect header out.',
  },
  'unprocessable-content': {
    status: 422,
    title: 'The request body cannot be processed',
    advice:
      'The body is well-formed, but what it names does not exist or does not fit together. The detail says what.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    advice:
      'Wait for as many seconds as the Retry-After header says. RateLimit and RateLimit-Policy tell the limit and what is left of it.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers of the request are too large',
    advice: 'Send fewer or shorter headers, or a shorter address.',
  },
  'internal-error': {
    status: 500,
    title: 'The service failed',
    advice:
      'This is a fault of the service. Try again later, and if it stays, tell its operator the instance of the problem: the log has the cause under that id.',
  },
  unavailable: {
    status: 503,
    title: 'The service is not available for the moment',
    advice: 'Wait for as many seconds as the Retry-After header says, then try again.',
  },
} as const satisfies Record<string, { status: number; title: string; advice: string }>

export type ProblemSlug = keyof typeof PROBLEMS

export interface ProblemOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the body, such as those of the validation results' 400. */
  readonly members?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** An error that the caller is told about: whatever else is thrown is answered as `internal-error`. */
export class Problem extends Error {
  readonly slug: ProblemSlug
  readonly status: number
  readonly detail: string
  readonly headers: Readonly<Record<string, string>>
  readonly members: Readonly<Record<string, unknown>>

  /** @param detail what was wrong with this request and what would be right; shown to the caller */
  constructor(slug: ProblemSlug, detail: string, { headers = {}, members = {}, cause }: ProblemOptions = {}) {
    // Nobody reads the stack of a refusal. Measured: capturing one takes longer than everything else about a Problem.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(detail, { cause })
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'Problem'
    this.slug = slug
    this.status = PROBLEMS[slug].status
    this.detail = detail
    this.headers = headers
    this.members = members
  }
}

/** The media type of every error's body (RFC 9457, section 6.1). */
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** The problem body (interface, section 2.10; RFC 9457, section 3). */
export function renderProblem(problem: Problem, requestId: string): string {
  return JSON.stringify({
    type: `/problems/${problem.slug}`,
    title: PROBLEMS[problem.slug].title,
    status: problem.status,
    detail: problem.detail,
    instance: `urn:uuid:${requestId}`,
    ...problem.members,
  })
}

const member = (description: string) => Type.Optional(Type.String({ description }))

const PROBLEM_MEMBERS = {
  type: member('Kind of the problem: a relative reference to a page that explains it.'),
  title: member('What the kind of problem is, in a few words.'),
  status: Type.Optional(Type.Integer({ description: 'The HTTP status, repeated.', format: 'int32' })),
  detail: member('What was wrong with this request, and what would be right.'),
  instance: member('`urn:uuid:` and the id of the request, which is also in X-Request-Id and in the log.'),
}

/** Section 2.10 of the interface. */
export const ProblemBody = Type.Object(PROBLEM_MEMBERS, {
  description: 'What went wrong (RFC 9457).',
})

/** Section 2.10 of the interface, with the fields that the 400 of the validation results has as well. */
export const ResultsProblemBody = Type.Object(
  {
    ...PROBLEM_MEMBERS,
    errors: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'For each parameter that is wrong, what is wrong with it.',
      }),
    ),
    returnId: member('The return that the submission belongs to.'),
    submissionToken: member('The token of the submission.'),
    content: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'The parameters as they were received.' }),
    ),
    errorCode: member('`PR1`: a parameter is wrong in itself. `PR2`: the page is past the last one.'),
  },
  { description: 'What is wrong with the pagination parameters.' },
)
