import { isDeepStrictEqual } from 'node:util'
import { unauthorized } from '../../api/access/admit.ts'
import { explainToken } from '../../api/access/explain-refusal.ts'
import { type AccessRule, asOrganisation } from '../../api/contract/access-rules.ts'
import { Problem } from '../../api/contract/problems.ts'
import type { Page } from '../../api/serving/page.ts'
import type { PageCache } from '../../api/serving/page-cache.ts'
import type { UnreadResponses } from '../../api/serving/unread-responses.ts'
import type { Budget } from '../../foundation/budget/budget.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { readAtPrimary, type Servers, StateMissing } from '../../foundation/database/servers.ts'
import type { Download } from '../activity/activity.ts'
import { REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS } from '../contract.ts'
import { findSubmissionOf, type Submission } from './queries.ts'
import type { Run } from './runs.ts'

export interface ResultsOptions {
  readonly servers: Servers
  readonly pages: PageCache<Page>
  readonly unread: UnreadResponses
  /** Slots of concurrent reads. */
  readonly reads: Budget
  /** Entries per page. */
  readonly limits: { readonly default: number; readonly max: number }
  /** Decrypts stored data. */
  readonly sealer: Sealer
  /** Records that somebody downloads findings, where the primary can record it: reads work without it. */
  readonly onDownload: (download: Download) => Promise<void>
}

/**
 * A credential with the scope, of the organisation to which the submission in the path belongs. The submission is read
 * at the primary: the caller may know of a run, an encryption or a deletion that a standby has not replayed.
 */
export function forFindings(servers: Servers): AccessRule<Submission> {
  return asOrganisation('validation-results:read', (eid, { submissionToken = '' }) =>
    readAtPrimary(servers, (reader) => findSubmissionOf(reader, eid, submissionToken)),
  )
}

/** The problems of every operation that reads findings. */
export const FINDINGS_PROBLEMS = { ...SUBMISSION_PROBLEMS, gone: REFUSALS.gone } as const

/** @throws {Problem} `gone` if the submission was cancelled */
function assertThere({ ended }: Submission): void {
  if (ended === 'Cancelled') throw new Problem('gone', FINDINGS_PROBLEMS.gone)
}

/**
 * Answers about the current run of a submission. If the run is no longer stored, because another one was published or the
 * database was restored since the submission was read, answers about the run that is current by then.
 *
 * @throws {StateMissing} if a run that is still current lacks data
 * @throws {Problem} `gone` if the submission was cancelled
 */
export async function answerCurrent<T>(
  servers: Servers,
  submission: Submission,
  answer: (current: Submission) => Promise<T>,
): Promise<T> {
  for (let current = submission; ; ) {
    assertThere(current)
    try {
      return await answer(current)
    } catch (error) {
      if (!(error instanceof StateMissing)) throw error
      const found = await findAgain(servers, current)
      if (found === undefined) throw unauthorized(`${explainToken(current.eid)}.`)
      if (isDeepStrictEqual(found, current)) throw error
      current = found
    }
  }
}

/**
 * Answers about the current run of a submission from several statements.
 *
 * @throws {Problem} `not-found` if its findings are no longer stored, `gone` if the submission was cancelled
 */
export async function answerFromCurrent<T>(
  servers: Servers,
  submission: Submission,
  answer: (reader: Reader, current: Submission) => Promise<T>,
): Promise<T> {
  try {
    return await answerCurrent(servers, submission, (current) =>
      readCurrent(servers, current, (reader) => answer(reader, current)),
    )
  } catch (error) {
    throw error instanceof StateMissing ? new Problem('not-found', 'The run is not kept any more.') : error
  }
}

/**
 * Reads about the current run of a submission in several statements.
 *
 * @throws {StateMissing} if the submission was changed meanwhile: the result, or its error, could be of two states
 */
export async function readCurrent<T>(
  servers: Servers,
  submission: Submission,
  read: (reader: Reader) => Promise<T>,
): Promise<T> {
  try {
    return await readAtPrimary(servers, read)
  } finally {
    await assertUnchanged(servers, submission)
  }
}

async function assertUnchanged(servers: Servers, submission: Submission): Promise<void> {
  if (!isDeepStrictEqual(await findAgain(servers, submission), submission)) throw new StateMissing()
}

async function findAgain(servers: Servers, { eid, token }: Submission): Promise<Submission | undefined> {
  return await readAtPrimary(servers, (reader) => findSubmissionOf(reader, eid, token))
}

/** @throws {Problem} `not-found` unless the run has finished and is still stored */
export function assertFinished(run: Run | undefined): Run {
  if (run?.status === 'Processed') return run
  throw new Problem(
    'not-found',
    'The submission has no finished run with this ID, or it is no longer stored.',
  )
}

type Named = Pick<Submission, 'run' | 'published'>

/** The header with which a response names the newest of the finished runs that it shows. */
export function revisionOf(...shown: readonly (Named | Run | undefined)[]): Record<string, string> {
  const [newest] = shown
    .flatMap((each) => (each === undefined ? [] : [toNamed(each)]))
    .filter(({ published }) => published > 0)
    .sort((one, other) => other.run - one.run)
  return newest === undefined ? {} : { 'x-revision': nameRun(newest) }
}

function toNamed(shown: Named | Run): Named {
  if ('published' in shown) return shown
  const { run, status, completed } = shown
  return { run, published: status === 'Processed' ? (completed ?? 0) : 0 }
}

/** The publishing time distinguishes the run from one with the same number in a restored database. */
export function nameRun({ run, published }: Named): string {
  return `r${run}.${published.toString(36)}`
}
