/** The detail of every 401 without a valid credential. */
export const NO_CREDENTIAL =
  'Send a valid key, X-Client-ID only with the name of its client, and for validation results the EID header of an organisation that it covers and the token of one of its submissions.'

/** Every type of error response: its status, its title and advice. */
export const PROBLEMS = {
  'invalid-parameters': {
    status: 400,
    title: 'A parameter is invalid',
    advice:
      'The detail names each invalid parameter and what is allowed. Parameters are never clamped, coerced or ignored. Correct the request and send it again.',
  },
  'unsupported-version': {
    status: 400,
    title: 'This version of the API is not supported',
    advice:
      'Use a version that the api-supported-versions header lists, either in the URL (/v1/...) or in the x-api-version header, which overrides the URL.',
  },
  'malformed-request': {
    status: 400,
    title: 'The request is not well-formed HTTP',
    advice: 'Check the request line, the headers and the percent-encoding of the URL.',
  },
  'malformed-body': {
    status: 400,
    title: 'The request body is malformed',
    advice:
      'Send one JSON object in UTF-8, or nothing or an empty object where the operation reads no body. The detail says what is wrong.',
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
      'Send a valid key as X-API-Key or as Authorization: Bearer. For a submission, also send the EID header of an organisation that the key covers, and the token of one of its submissions. With a valid key, the detail says what is wrong with the rest; a token of another organisation gets the same response as one that does not exist.',
  },
  'organisation-suspended': {
    status: 401,
    title: 'The organisation is suspended',
    advice:
      'The operator of the service has suspended the organisation. Its data is kept: ask the operator to resume it, then send the request again.',
  },
  'not-found': {
    status: 404,
    title: 'Nothing is available at this URL',
    advice: 'See /docs or /openapi.json for the available endpoints.',
  },
  'no-such-occupation': {
    status: 404,
    title: 'No such occupation',
    advice:
      'The catalogue has never had this code, or no longer remembers it. similarCodes lists codes that resemble it; GET /v1/occupations lists them all.',
  },
  'no-such-group': {
    status: 404,
    title: 'No such group',
    advice:
      'No occupation belongs to a group with this code. similarCodes lists codes that resemble it; GET /v1/occupation-groups lists them all.',
  },
  'no-such-submission': {
    status: 404,
    title: 'No such submission',
    advice: 'No submission has this token. GET /v1/returns/RETURN/overview lists the tokens of a return.',
  },
  'no-such-file': {
    status: 404,
    title: 'No such file',
    advice:
      'GET /v1/submissions/TOKEN lists the files that a submission has, and GET /v1/rules/DEFINITION those that its definition knows.',
  },
  'no-such-work': {
    status: 404,
    title: 'No such work',
    advice:
      'Work with files is forgotten an hour after it was last used. Send the request that began it again.',
  },
  'no-such-run': {
    status: 404,
    title: 'No such run',
    advice: 'GET /v1/submissions/TOKEN/validation-runs lists the runs that are stored.',
  },
  'no-such-cause': {
    status: 404,
    title: 'No such cause',
    advice: 'GET /v1/submissions/TOKEN/validation-results/causes lists the causes of the current run.',
  },
  'no-explanation': {
    status: 404,
    title: 'No such explanation',
    advice:
      'GET /v1/submissions/TOKEN/explanations lists the explanations, and the warnings that still need one.',
  },
  'no-receipt': {
    status: 404,
    title: 'No receipt',
    advice:
      'A submission has a receipt for each time that it was submitted. The detail says why this one is missing.',
  },
  'no-such-return': {
    status: 404,
    title: 'No such return',
    advice: 'GET /v1/returns lists the returns that the service collects.',
  },
  'no-such-rule': {
    status: 404,
    title: 'No such definition or rule',
    advice: 'GET /v1/rules lists the definitions, and GET /v1/rules/DEFINITION the rules of one.',
  },
  'no-such-organisation': {
    status: 404,
    title: 'No such organisation',
    advice:
      'No key covers an organisation with this EID, and nothing is stored for it. GET /v1/organisations lists those that are known.',
  },
  'no-such-revision': {
    status: 404,
    title: 'No such revision',
    advice:
      'The catalogue has no revision with this number, or its content is no longer kept. GET /v1/occupation-revisions lists the revisions; readable says whether the content of one is kept.',
  },
  'no-such-decision': {
    status: 404,
    title: 'No such decision',
    advice:
      'The client of the key has decided nothing about a title with this id. GET /v1/confirmed-codings lists the titles with their decisions.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The endpoint does not support this method',
    advice: 'Use a method that the Allow header lists.',
  },
  'not-acceptable': {
    status: 406,
    title: 'No acceptable media type is available',
    advice: 'Send an Accept header that includes a media type named in the detail, or none.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    advice: 'Send the whole request without pauses, and check the connection.',
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the state of the resource',
    advice:
      'The detail says what is in the way. Read the resource again, or wait for the other request to finish.',
  },
  'occupation-removed': {
    status: 410,
    title: 'The occupation was removed',
    advice:
      'removedDate says when it was removed from the catalogue. replacedBy lists the codes that succeed it: look those up instead.',
  },
  gone: {
    status: 410,
    title: 'The resource no longer exists',
    advice: 'It existed before. The detail, and the Location header where there is one, say how to continue.',
  },
  'precondition-failed': {
    status: 412,
    title: 'A precondition of the request failed',
    advice: 'The resource changed since it was read: read it again, and send its new ETag as If-Match.',
  },
  'content-too-large': {
    status: 413,
    title: 'The request body is too large',
    advice: 'Send a smaller body. The detail states the limit in bytes.',
  },
  'uri-too-long': {
    status: 414,
    title: 'The URL is too long',
    advice: 'Shorten the query. No parameter needs more than a few hundred characters.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type of the request body is not supported',
    advice: 'Send a Content-Type and a Content-Encoding that the detail lists.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The Expect header is not supported',
    advice: 'Send the request without an Expect header.',
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
      'Wait for the number of seconds in the Retry-After header. RateLimit-Policy states the limit, and RateLimit what remains of it.',
  },
  'precondition-required': {
    status: 428,
    title: 'The request must say what it replaces',
    advice:
      'The resource exists. Send its ETag as If-Match to replace the state that you know, or * to replace any. If-None-Match: * only creates.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The request headers are too large',
    advice: 'Send fewer or shorter headers, or a shorter URL.',
  },
  'internal-error': {
    status: 500,
    title: 'The service failed',
    advice:
      'The fault is in the service. Try again later. If it persists, send the instance of the problem to the operator, who finds the cause in the log under that ID.',
  },
  unavailable: {
    status: 503,
    title: 'The service is temporarily unavailable',
    advice: 'Wait for the number of seconds in the Retry-After header, then try again.',
  },
} as const satisfies Record<string, { status: number; title: string; advice: string }>

export type ProblemSlug = keyof typeof PROBLEMS

export type Members = Readonly<Record<string, unknown>>

export interface ProblemOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the body, such as those of the validation results' 400. */
  readonly members?: Members
  readonly cause?: unknown
}

/** A value of a request that cannot be used. */
export interface ValueFault {
  /** Its name as spelled in the API, or as received if unknown. */
  readonly name: string
  /** What is wrong and what is allowed: a clause with the name as its subject. */
  readonly message: string
}

/** Most faults in one response: a short request must not cause a long response. */
export const MOST_FAULTS = 20

/**
 * What is wrong with values, for a problem: a sentence for each of the first faults, and the same sentences under the
 * names of the values, for programs.
 *
 * @param members further members
 */
export function describeFaults(
  faults: readonly ValueFault[],
  members: Members = {},
): [detail: string, options: { members: Members }] {
  const named = faults
    .slice(0, MOST_FAULTS)
    .map(({ name, message }) => ({ name, sentence: `${name} ${message}.` }))
  const sentences = named.map(({ sentence }) => sentence)
  // A reader of parameters stops at the last one.
  const more = faults.length < MOST_FAULTS ? [] : [`At most ${MOST_FAULTS} faults are listed.`]
  const errors = Object.fromEntries(
    [...Map.groupBy(named, ({ name }) => name)].map(([name, all]) => [
      name,
      all.map(({ sentence }) => sentence),
    ]),
  )
  return [[...sentences, ...more].join(' '), { members: { errors, ...members } }]
}

/** An error that is shown to the caller. Any other error becomes `internal-error`. */
export class Problem extends Error {
  readonly slug: ProblemSlug
  readonly status: number
  readonly detail: string
  readonly headers: Readonly<Record<string, string>>
  readonly members: Members

  /** @param detail what is wrong with this request and what is allowed; shown to the caller */
  constructor(slug: ProblemSlug, detail: string, { headers = {}, members = {}, cause }: ProblemOptions = {}) {
    // Nobody reads the stack of a refusal. Measured: capturing one takes longer than the rest of creating a Problem.
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

/**
 * A 503: the caller may send the request again.
 *
 * @param seconds after which it may succeed
 * @param cause a failure that is logged; absent where a request is refused because of overload or a stop
 */
export function unavailable(detail: string, seconds = 1, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { headers: { 'retry-after': String(seconds) }, cause })
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
