import { setTimeout as sleep } from 'node:timers/promises'
import Type from 'typebox'
import type { Database } from '../database/database.ts'
import { describeDocument } from '../http/describe.ts'
import { Problem } from '../http/problems.ts'
import { accepted, declare, document, type Operation } from '../operation.ts'
import { findRun, listRuns, type Run } from '../validation-results/runs.ts'
import { authorizeSubmission, EID_HEADER, REFUSALS, refusing } from './authorize.ts'
import { EXAMPLE_RUN } from './example.ts'
import { COMMON_PROBLEMS, TAG, TOKEN_PATH, type Token } from './operations.ts'
import type { SubmissionOptions } from './options.ts'
import { renderRun } from './render.ts'
import { ValidationRun, ValidationRunPage } from './schema.ts'
import { cancelled, type SubmissionRow } from './submission.ts'
import { cancelRun, requestRun } from './validation.ts'

export function runOperations(options: SubmissionOptions): readonly Operation[] {
  return [request(options), list(options), show(options), cancel(options)]
}

/** The longest wait for `Prefer: wait`, in seconds: shorter than the timeouts of common proxies. */
const MAX_WAIT = 30
/** How often a run is polled during the wait, in milliseconds. */
const WAIT_INTERVAL = 250

interface RunPath extends Token {
  readonly runId: number
}

const RUN_PATH = Type.Object({
  ...TOKEN_PATH.properties,
  runId: Type.Integer({
    description: 'Number of the run within its submission.',
    minimum: 1,
    maximum: 2 ** 31 - 1,
    format: 'int32',
  }),
})

function locate({ token, number }: Run): string {
  return `/v1/submissions/${token}/validation-runs/${number}`
}

const BASE = '/submissions/{submissionToken}/validation-runs'

function request({ access, database, maxWaitingRuns }: SubmissionOptions): Operation {
  return declare<Token, unknown, unknown, unknown, SubmissionRow>({
    name: 'request-run',
    id: 'requestValidationRun',
    summary: 'Request a validation run',
    description:
      'Queues a run of the current files. While a run is queued or in progress, returns that run instead. Location has the URL of its state; `Prefer: wait=30` delays that response until the run has ended.',
    tag: TAG,
    method: 'POST',
    path: BASE,
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { path: TOKEN_PATH },
    schemas: { ValidationRun },
    responses: {
      202: describeDocument(
        'ValidationRun',
        'The run.',
        { ...EXAMPLE_RUN, status: 'Queued' },
        {
          location: { description: 'The URL of the run.', type: 'string' },
          'retry-after': { description: 'Whole seconds to wait.', type: 'integer' },
        },
      ),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'invalid-body': 'No records were uploaded.',
      'malformed-body': 'The request has a body.',
      ...REFUSALS,
      unavailable: 'Too many runs are queued, or the database does not respond.',
    },
    authorize: ({ request, path }) =>
      authorizeSubmission(access, database, request, {
        operation: 'request-run',
        scope: 'submissions:write',
        token: path.submissionToken,
      }),
    async handle({ authorized: { token, eid, run: current } }) {
      const { run } = await refusing(requestRun(database, { token, eid, maxWaiting: maxWaitingRuns }))
      return accepted(locate(run), 1, renderRun(run, current))
    },
  })
}

function list({ access, database }: SubmissionOptions): Operation {
  return declare<Token, unknown, unknown, unknown, SubmissionRow>({
    name: 'list-runs',
    id: 'listValidationRuns',
    summary: 'List validation runs',
    description: 'The stored runs of a submission, newest first.',
    tag: TAG,
    method: 'GET',
    path: BASE,
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { path: TOKEN_PATH },
    schemas: { ValidationRun, ValidationRunPage },
    responses: {
      200: describeDocument('ValidationRunPage', 'The runs.', {
        page: 1,
        pageSize: 1,
        results: [EXAMPLE_RUN],
        totalCount: 1,
      }),
    },
    problems: { ...COMMON_PROBLEMS, gone: REFUSALS.gone },
    authorize: ({ request, path }) =>
      authorizeSubmission(access, database, request, {
        operation: 'list-runs',
        scope: 'validation-results:read',
        token: path.submissionToken,
      }),
    async handle({ authorized }) {
      if (authorized.ended === 'Cancelled') await refusing(Promise.reject(cancelled()))
      const runs = await listRuns(database, authorized.token)
      const results = runs.map((run) => renderRun(run, authorized.run))
      return document({ page: 1, pageSize: results.length, results, totalCount: results.length })
    },
  })
}

function show({ access, database, isStopping }: SubmissionOptions): Operation {
  return declare<RunPath, unknown, { Prefer?: string }, unknown, SubmissionRow>({
    name: 'get-run',
    id: 'getValidationRun',
    summary: 'Get a validation run',
    description:
      'The state of a run. `Prefer: wait=30` delays the response until the run has ended, for at most that many seconds.',
    tag: TAG,
    method: 'GET',
    path: `${BASE}/{runId}`,
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: {
      path: RUN_PATH,
      header: Type.Object({
        Prefer: Type.Optional(
          Type.String({
            description: `\`wait=SECONDS\` (RFC 7240), ${MAX_WAIT} at most; other preferences are ignored.`,
            maxLength: 1000,
          }),
        ),
      }),
    },
    schemas: { ValidationRun },
    responses: { 200: describeDocument('ValidationRun', 'The run.', EXAMPLE_RUN) },
    problems: {
      ...COMMON_PROBLEMS,
      'not-found': 'The submission has no such run, or it is no longer stored.',
      gone: REFUSALS.gone,
    },
    authorize: ({ request, path }) =>
      authorizeSubmission(access, database, request, {
        operation: 'get-run',
        scope: 'validation-results:read',
        token: path.submissionToken,
      }),
    async handle({ authorized, path, header, request }) {
      if (authorized.ended === 'Cancelled') await refusing(Promise.reject(cancelled()))
      const wait = readWait(header.Prefer)
      const ends = () => isStopping() || request.raw.socket.destroyed === true
      const run = await waitForRun(database, authorized.token, path.runId, wait, ends)
      if (run === undefined) throw new Problem('not-found', 'The submission has no run with this ID.')
      const current = run.status === 'Processed' && run.run > authorized.run ? run.run : authorized.run
      return document(renderRun(run, current), wait === 0 ? {} : { 'preference-applied': `wait=${wait}` })
    },
  })
}

/** The seconds that the caller is willing to wait (RFC 7240, section 4.3). */
function readWait(prefer = ''): number {
  const seconds = Number(/(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?/i.exec(prefer)?.[1] ?? 0)
  return Math.min(seconds, MAX_WAIT)
}

async function waitForRun(
  database: Database,
  token: string,
  number: number,
  seconds: number,
  ends: () => boolean,
): Promise<Run | undefined> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const run = await findRun(database, token, number)
    if (run === undefined || run.completed !== null || performance.now() >= end || ends()) return run
    await sleep(WAIT_INTERVAL)
  }
}

function cancel({ access, database }: SubmissionOptions): Operation {
  return declare<RunPath, unknown, unknown, unknown, SubmissionRow>({
    name: 'cancel-run',
    id: 'cancelValidationRun',
    summary: 'Cancel a validation run',
    description: 'Cancels a run that is queued or in progress. A finished run does not change.',
    tag: TAG,
    method: 'DELETE',
    path: `${BASE}/{runId}`,
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { path: RUN_PATH },
    schemas: { ValidationRun },
    responses: {
      200: describeDocument('ValidationRun', 'The run.', { ...EXAMPLE_RUN, status: 'Cancelled' }),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'malformed-body': 'The request has a body.',
      'not-found': 'The submission has no such run, or it is no longer stored.',
      gone: REFUSALS.gone,
    },
    authorize: ({ request, path }) =>
      authorizeSubmission(access, database, request, {
        operation: 'cancel-run',
        scope: 'submissions:write',
        token: path.submissionToken,
      }),
    async handle({ authorized, path }) {
      if (authorized.ended === 'Cancelled') await refusing(Promise.reject(cancelled()))
      const { token, eid, run: current } = authorized
      const run = await refusing(cancelRun(database, { token, eid, number: path.runId }))
      return document(renderRun(run, current))
    },
  })
}
