import Type from 'typebox'
import { resolveParameters } from '../checks/parameters.ts'
import { describeDocument } from '../http/describe.ts'
import { Problem } from '../http/problems.ts'
import { created, declare, document, type Operation } from '../operation.ts'
import { UserError } from '../text/user-error.ts'
import {
  authorizeEid,
  authorizeSubmission,
  EID_HEADER,
  REFUSALS,
  refusing,
  UNAUTHORIZED,
} from './authorize.ts'
import type { Definitions } from './definitions.ts'
import { cancelSubmission, submit } from './ending.ts'
import { EXAMPLE_SUBMISSION } from './example.ts'
import type { SubmissionOptions } from './options.ts'
import { renderState } from './render.ts'
import { NewSubmission, Submission, SubmissionFile, SubmissionPage, ValidationRun } from './schema.ts'
import {
  createSubmission,
  listSubmissions,
  readState,
  type SubmissionRow,
  type SubmissionType,
} from './submission.ts'

export const SCHEMAS = { Submission, SubmissionFile, ValidationRun }
export const TOKEN_PATH = Type.Object({
  submissionToken: Type.String({ description: 'The token of the submission.' }),
})
export const TAG = 'Submissions'
export const COMMON_PROBLEMS = {
  'invalid-parameters': 'A parameter is invalid, or the version is not supported.',
  unauthorized: UNAUTHORIZED,
  'too-many-requests': 'The rate limit is exceeded.',
} as const

export interface Token {
  readonly submissionToken: string
}

export function submissionOperations(options: SubmissionOptions): readonly Operation[] {
  return [create(options), list(options), show(options), submitSubmission(options), remove(options)]
}

function locate(token: string): string {
  return `/v1/submissions/${token}`
}

interface NewBody {
  readonly returnId?: string
  readonly definition?: string
  readonly type?: SubmissionType
}

function create({ access, database, definitions, life, maxBatchRecords }: SubmissionOptions): Operation {
  return declare<unknown, unknown, unknown, NewBody, string>({
    name: 'create-submission',
    id: 'createSubmission',
    summary: 'Create a submission',
    description:
      'Creates a submission for a return, or returns the open submission of the organisation for that return.',
    tag: TAG,
    method: 'POST',
    path: '/submissions',
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { body: { json: NewSubmission, maxBytes: 4096 } },
    schemas: SCHEMAS,
    responses: {
      200: describeDocument('Submission', 'The open submission for this return.', EXAMPLE_SUBMISSION),
      201: describeDocument('Submission', 'The new submission.', EXAMPLE_SUBMISSION, {
        location: { description: 'The URL of the submission.', type: 'string' },
      }),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'invalid-body': 'A member is invalid.',
      'malformed-body': 'The body is not one JSON object.',
      'content-too-large': 'The body is too large.',
      'unsupported-media-type': 'The body is not JSON.',
      'unprocessable-content':
        'The definition does not exist, or the returnId does not have the form that it requires.',
    },
    authorize: ({ request }) => authorizeEid(access, request, 'create-submission', 'submissions:write'),
    async handle({ authorized: eid, body }) {
      const { returnId, type } = body
      if (returnId === undefined) throw new Problem('invalid-body', 'returnId is missing.')
      if (!/^[!-~]{1,64}$/.test(returnId))
        throw new Problem(
          'invalid-body',
          'returnId must be at most 64 visible ASCII characters without spaces.',
        )
      const definition = chooseDefinition(definitions, returnId, body.definition)
      const { submission, created: isNew } = await createSubmission(database, {
        eid,
        returnId,
        definition,
        life,
        ...(type !== undefined && { type }),
      })
      const shown = renderState(definitions, await readState(database, submission), maxBatchRecords)
      return isNew ? created(locate(submission.token), shown) : document(shown)
    },
  })
}

/** @throws {Problem} if the definition does not exist, or its return ids have another form */
function chooseDefinition(definitions: Definitions, returnId: string, given = definitions.first): string {
  const definition = definitions.find(given)
  if (definition === undefined) {
    const known = definitions.names.join(', ')
    throw new Problem(
      'unprocessable-content',
      `The definition does not exist. Available definitions: ${known}.`,
    )
  }
  try {
    resolveParameters(definition, { returnId })
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new Problem('unprocessable-content', `returnId is not valid: ${error.message}.`)
  }
  return definition.name
}

const MAX_PAGE_SIZE = 100
const PAGE_QUERY = Type.Object({
  page: Type.Optional(
    Type.Integer({
      description: 'Page number, from 1.',
      minimum: 1,
      maximum: 1_000_000,
      default: 1,
      format: 'int32',
    }),
  ),
  pageSize: Type.Optional(
    Type.Integer({
      description: `Entries per page, from 1 to ${MAX_PAGE_SIZE}.`,
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: 20,
      format: 'int32',
    }),
  ),
})

function list({ access, database, definitions, maxBatchRecords }: SubmissionOptions): Operation {
  return declare<unknown, { page: number; pageSize: number }, unknown, unknown, string>({
    name: 'list-submissions',
    id: 'listSubmissions',
    summary: 'List submissions',
    description: 'The submissions of the organisation, newest first.',
    tag: TAG,
    method: 'GET',
    path: '/submissions',
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { query: { schema: PAGE_QUERY } },
    schemas: { ...SCHEMAS, SubmissionPage },
    responses: {
      200: describeDocument('SubmissionPage', 'A page of submissions.', {
        page: 1,
        pageSize: 20,
        results: [EXAMPLE_SUBMISSION],
        totalCount: 1,
      }),
    },
    problems: COMMON_PROBLEMS,
    authorize: ({ request }) => authorizeEid(access, request, 'list-submissions', 'validation-results:read'),
    async handle({ authorized: eid, query }) {
      const { submissions, totalCount } = await listSubmissions(database, eid, query)
      const results: object[] = []
      for (const submission of submissions)
        results.push(renderState(definitions, await readState(database, submission), maxBatchRecords))
      return document({ ...query, results, totalCount })
    },
  })
}

function show({ access, database, definitions, maxBatchRecords }: SubmissionOptions): Operation {
  return declare<Token, unknown, unknown, unknown, SubmissionRow>({
    name: 'get-submission',
    id: 'getSubmission',
    summary: 'Get a submission',
    description: 'The state of a submission, its files, and its last validation run.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}',
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { path: TOKEN_PATH },
    schemas: SCHEMAS,
    responses: { 200: describeDocument('Submission', 'The submission.', EXAMPLE_SUBMISSION) },
    problems: COMMON_PROBLEMS,
    authorize: ({ request, path }) =>
      authorizeSubmission(access, database, request, {
        operation: 'get-submission',
        scope: 'validation-results:read',
        token: path.submissionToken,
      }),
    async handle({ authorized }) {
      return document(renderState(definitions, await readState(database, authorized), maxBatchRecords))
    },
  })
}

function submitSubmission({ access, database, definitions, maxBatchRecords }: SubmissionOptions): Operation {
  return declare<Token, unknown, unknown, unknown, SubmissionRow>({
    name: 'submit-submission',
    id: 'submitSubmission',
    summary: 'Submit a submission',
    description:
      'Freezes a submission. The current run must cover the current files and have found no errors; warnings are allowed.',
    tag: TAG,
    method: 'POST',
    path: '/submissions/{submissionToken}/submit',
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { path: TOKEN_PATH },
    schemas: SCHEMAS,
    responses: {
      200: describeDocument('Submission', 'The frozen submission.', EXAMPLE_SUBMISSION),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'malformed-body': 'The request has a body.',
      conflict: 'The current run does not cover the current files, or found errors.',
      gone: REFUSALS.gone,
    },
    authorize: ({ request, path }) =>
      authorizeSubmission(access, database, request, {
        operation: 'submit-submission',
        scope: 'submissions:write',
        token: path.submissionToken,
      }),
    async handle({ authorized, principal }) {
      const actor = principal?.id ?? ''
      const submission = await refusing(submit(database, { ...authorized, actor }))
      return document(renderState(definitions, await readState(database, submission), maxBatchRecords))
    },
  })
}

function remove({ access, database, definitions, maxBatchRecords }: SubmissionOptions): Operation {
  return declare<Token, unknown, unknown, unknown, SubmissionRow>({
    name: 'delete-submission',
    id: 'deleteSubmission',
    summary: 'Delete a submission',
    description:
      'Cancels a submission and deletes all its records and findings. They are unreadable at once, and a job removes them from the database. The token remains known as Cancelled.',
    tag: TAG,
    method: 'DELETE',
    path: '/submissions/{submissionToken}',
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { path: TOKEN_PATH },
    schemas: SCHEMAS,
    responses: {
      200: describeDocument('Submission', 'The cancelled submission.', EXAMPLE_SUBMISSION),
    },
    problems: { ...COMMON_PROBLEMS, 'malformed-body': 'The request has a body.' },
    authorize: ({ request, path }) =>
      authorizeSubmission(access, database, request, {
        operation: 'delete-submission',
        scope: 'submissions:write',
        token: path.submissionToken,
      }),
    async handle({ authorized, principal }) {
      const actor = principal?.id ?? ''
      const submission = await refusing(cancelSubmission(database, { ...authorized, actor }))
      return document(renderState(definitions, await readState(database, submission), maxBatchRecords))
    },
  })
}
