import { isDeepStrictEqual } from 'node:util'
import { explainToken, unauthorized } from '../../api/access/refusals.ts'
import { asOrganisation } from '../../api/contract/access-rules.ts'
import { operationsOf } from '../../api/contract/contract.ts'
import { Problem } from '../../api/request/problems.ts'
import type { PageCache } from '../../api/serving/page-cache.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { REFUSALS } from '../submission/contract.ts'
import { type Run, readRun } from '../submission/runs.ts'
import { assertKept, findOwn, type SubmissionRow } from '../submission/submission.ts'
import { RunMissing } from './run-missing.ts'

export interface ResultsOptions {
  readonly database: Database
  readonly pages: PageCache
  /** Entries per page. */
  readonly limits: { readonly default: number; readonly max: number }
  /** Decrypts stored data. */
  readonly sealer: Sealer
}

/** Declares operations on the findings of the submission in the path. */
export function ofFindings({ database }: ResultsOptions) {
  return operationsOf({
    tag: 'Validation results',
    limit: 'validation-results',
    access: asOrganisation('validation-results:read', (eid, { submissionToken = '' }) =>
      findOwn(database, eid, submissionToken),
    ),
    problems: { gone: REFUSALS.gone },
  })
}

/**
 * Answers about the current run of a submission. If the run is no longer stored, because another one was published or the
 * database was restored since the submission was read, answers about the run that is current by then.
 *
 * @throws {RunMissing} if a run that is still current lacks data
 * @throws {Problem} `gone` if the submission was cancelled
 */
export async function answerCurrent<T>(
  database: Reader,
  submission: SubmissionRow,
  answer: (current: SubmissionRow) => Promise<T>,
): Promise<T> {
  for (let current = submission; ; ) {
    assertKept(current)
    try {
      return await answer(current)
    } catch (error) {
      if (!(error instanceof RunMissing)) throw error
      const found = await findOwn(database, current.eid, current.token)
      if (found === undefined) throw unauthorized(`${explainToken(current.eid)}.`)
      if (isDeepStrictEqual(found, current)) throw error
      current = found
    }
  }
}

/**
 * Answers about the current run of a submission from several statements.
 *
 * @throws {Problem} `no-such-run` if its findings are no longer stored, `gone` if the submission was cancelled
 */
export async function answerFromCurrent<T>(
  database: Reader,
  submission: SubmissionRow,
  answer: (reader: Reader, current: SubmissionRow) => Promise<T>,
): Promise<T> {
  try {
    return await answerCurrent(database, submission, (current) =>
      readCurrent(database, current, (reader) => answer(reader, current)),
    )
  } catch (error) {
    throw error instanceof RunMissing ? new Problem('no-such-run', 'The run is not kept any more.') : error
  }
}

/**
 * Reads about the current run of a submission in several statements.
 *
 * @throws {RunMissing} if the submission was changed meanwhile: the result, or its error, could be of two states
 */
export async function readCurrent<T>(
  database: Reader,
  submission: SubmissionRow,
  read: (reader: Reader) => Promise<T>,
): Promise<T> {
  const assertUnchanged = async () => {
    const found = await findOwn(database, submission.eid, submission.token)
    if (!isDeepStrictEqual(found, submission)) throw new RunMissing()
  }
  try {
    return await read(database)
  } finally {
    await assertUnchanged()
  }
}

/**
 * The current run of a submission and the one before, with which it was compared when it was published.
 *
 * @throws {Problem} `no-such-run` if there is none before
 */
export async function readCompared(reader: Reader, { run }: SubmissionRow): Promise<{ from: Run; to: Run }> {
  const to = await readRun(reader, run)
  const from = to === undefined || to.previous === null ? undefined : await readRun(reader, to.previous)
  if (to === undefined || from === undefined)
    throw new Problem('no-such-run', 'There is no earlier run that the current one was compared with.')
  return { from, to }
}

/** The publishing time distinguishes the run from one with the same number in a restored database. */
export function nameRun({ run, published }: Pick<SubmissionRow, 'run' | 'published'>): string {
  return `r${run}.${published.toString(36)}`
}

/** The path of a submission's findings below `/v1`. */
export function findingsPath(token: string): string {
  return `/submissions/${encodeURIComponent(token)}/validation-results`
}
