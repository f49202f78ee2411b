import { setTimeout as sleep } from 'node:timers/promises'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { text } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Database } from '../../foundation/database/database.ts'
import { Type } from '../../foundation/schema/type.ts'
import { forSubmission, REFUSALS, refusing } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import { EXAMPLE_RUN } from '../example.ts'
import { findRun, type Run } from '../findings/runs.ts'
import type { SubmissionOptions } from '../options.ts'
import { renderRun } from '../render.ts'
import { ValidationRun } from '../schema.ts'
import { cancelled } from '../submission.ts'
import { BASE, RUN_PATH } from './contract.ts'

/** The longest wait for `Prefer: wait`, in seconds: shorter than the timeouts of common proxies. */
const MAX_WAIT = 30

/** How often a run is polled during the wait, in milliseconds. */
const WAIT_INTERVAL = 250

export function getValidationRun({ database, isStopping }: SubmissionOptions): Operation {
  return operation({
    name: 'get-run',
    id: 'getValidationRun',
    summary: 'Get a validation run',
    description:
      'The state of a run. `Prefer: wait=30` delays the response until the run has ended, for at most that many seconds.',
    tag: TAG,
    method: 'GET',
    path: `${BASE}/{runId}`,
    access: forSubmission(database, 'validation-results:read'),
    limit: 'submissions',
    request: {
      path: RUN_PATH,
      header: Type.Object({
        Prefer: text(`\`wait=SECONDS\` (RFC 7240), ${MAX_WAIT} at most; other preferences are ignored.`, {
          maxLength: 1000,
        }),
      }),
    },
    schemas: { ValidationRun },
    responses: { 200: describeDocument(ValidationRun, 'The run.', EXAMPLE_RUN) },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'not-found': 'The submission has no such run, or it is no longer stored.',
      gone: REFUSALS.gone,
    },
  }).handle(async ({ authorized, path, header, request, refuse }) => {
    if (authorized.ended === 'Cancelled') await refusing(Promise.reject(cancelled()))
    const wait = readWait(header.Prefer)
    const ends = () => isStopping() || request.raw.socket.destroyed === true
    const run = await waitForRun(database, authorized.token, path.runId, wait, ends)
    if (run === undefined) return refuse('not-found', 'The submission has no run with this ID.')
    const current = run.status === 'Processed' && run.run > authorized.run ? run.run : authorized.run
    return document(renderRun(run, current), wait === 0 ? {} : { 'preference-applied': `wait=${wait}` })
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
