import { COMMAND, EID } from '../../api/access/principal.ts'
import type { SourceRecord } from '../../engines/records/index.ts'
import { listColumns } from '../../engines/records/index.ts'
import type { Database, Reader, Writer } from '../../foundation/database/database.ts'
import { bumpRevision } from '../../foundation/database/revisions.ts'
import { Sealer } from '../../foundation/database/seal.ts'
import { FaultList, InputRefused, isFault, refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { compileSchema } from '../../foundation/schema/compile.ts'
import { count } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { recordActivity } from '../submission/activity.ts'
import { deleteCauses } from '../submission/cause-counts.ts'
import { lockSubmission, type SubmissionName, type SubmissionWriter } from '../submission/lock.ts'
import { findCurrent, forgetOldRuns, type RunSummary, readRun, summaryContext } from '../submission/runs.ts'
import { findAny, RETURN_ID, type SubmissionRow } from '../submission/submission.ts'
import { createToken } from '../submission/token.ts'
import { type Finding, splitFinding } from './blocks.ts'
import { storeComparison } from './compare.ts'
import { PublishedFinding } from './schema.ts'
import { type StoredRun, storeFindings } from './store-run.ts'

export interface Publication {
  /** The organisation of the submission. */
  readonly eid: string
  /** The return that the submission belongs to. */
  readonly returnId: string
  /** The token of a new or existing submission; generated if absent. */
  readonly token?: string
  /** Encrypts the stored data if there is a key. */
  readonly sealer?: Sealer
  /** Called from time to time with the number of entries read so far. */
  readonly onProgress?: (entries: number) => void
  /** Called once if another transaction must finish first. */
  readonly onWait?: () => void
}

export interface PublicationSummary {
  readonly submissionToken: string
  readonly returnId: string
  readonly eid: string
  readonly runId: number
  readonly totalCount: number
}

/** The columns of validation results, including the details that `mahi check` writes. */
export const PUBLISHED_COLUMNS = listColumns(PublishedFinding)

const readShape = compileSchema(PublishedFinding, { personal: true })

/**
 * Stores a complete run of validation results and makes it the submission's current run, in one transaction. The
 * order of the entries is kept. Memory use does not depend on their number, but holds each different student.
 *
 * @throws {InputRefused} with all faults found, up to MAX_FAULTS; nothing is stored then
 */
export async function publishResults(
  database: Database,
  entries: AsyncIterable<SourceRecord | Fault>,
  { eid, returnId, token = createToken(), sealer = new Sealer(), onProgress, onWait }: Publication,
): Promise<PublicationSummary> {
  const faults = findPublicationFaults({ eid, returnId, token })
  if (faults.length > 0) throw new InputRefused(faults)

  // Numbered in a separate transaction, so that publishes of different submissions do not wait for each other.
  const { number: runId } = await database.write('run', (writer) => bumpRevision(writer, 'run'), onWait)
  return await database.write(
    `job:publish/${runId}`,
    async (transaction) => {
      // Also before the entries are read: there may be millions.
      await findPublishable(transaction, { token, eid, returnId })
      const stored = await loadEntries(transaction, runId, entries, sealer, onProgress)
      const { totalCount } = stored
      const writer = await lockSubmission(transaction, token, onWait)
      const before = await findPublishable(writer, { token, eid, returnId })
      const now = Date.now()
      await writer.run(
        `insert into submission (token, eid, return_id, run, total, published, runs)
         values ($1, $2, $3, $4, 0, 0, 0) on conflict (token) do nothing`,
        [token, eid, returnId, runId],
      )
      await writer.run(
        `insert into submission_run
           (run, token, number, eid, status, received, revision, total, errors, warnings, files)
         select $1, token, runs + 1, eid, 'InProgress', $2, case when created is null then revision else -1 end, 0, 0, 0,
           '[]' from submission where token = $3`,
        [runId, now, token],
      )
      await writer.run('update submission set runs = runs + 1 where token = $1', [token])
      await makeCurrent(writer, { token, run: runId, stored, notRun: [] }, sealer)
      await deleteCauses(writer, token)
      if (before === undefined) await recordActivity(writer, { token, event: 'Created', actor: COMMAND })
      const { errorCount, warningCount } = stored
      const detail = { runId: (await readRun(writer, runId))?.number, errorCount, warningCount }
      await recordActivity(writer, { token, event: 'Checked', actor: COMMAND, run: runId, detail })
      return { submissionToken: token, returnId, eid, runId, totalCount }
    },
    onWait,
  )
}

/**
 * The submission to publish to, if it exists.
 *
 * @throws {InputRefused} if it is another one, or was submitted or cancelled
 */
async function findPublishable(
  reader: Reader,
  { token, eid, returnId }: SubmissionName & { returnId: string },
): Promise<SubmissionRow | undefined> {
  const found = await findAny(reader, token)
  if (found !== undefined && (found.eid !== eid || found.returnId !== returnId)) {
    refuse({
      field: '--token',
      message: `belongs to a submission of EID ${quote(found.eid)} and return ${quote(found.returnId)}. Use those, or leave --token out to create a new submission`,
    })
  }
  if (found?.ended === 'Cancelled') {
    refuse({
      field: '--token',
      message: 'belongs to a cancelled submission. Leave --token out to create a new one',
    })
  }
  // Its receipt names the run and the counts that it was submitted with.
  if (found?.ended === 'Submitted') {
    refuse({
      field: '--token',
      message:
        'belongs to a submission that was submitted, and its receipt names what was found. Reopen it first, in the console or with POST /v1/submissions/{token}/reopen and the scope operate, or leave --token out to create a new one',
    })
  }
  return found
}

/**
 * Makes a run whose findings were stored in this transaction the current one of its submission, compares it with the one
 * before, and deletes the runs that are no longer kept.
 */
export async function makeCurrent(
  writer: SubmissionWriter,
  {
    token,
    run,
    stored: { totalCount, errorCount, warningCount, codes, causeKeys },
    ...rest
  }: { token: string; run: number; stored: StoredRun } & Omit<RunSummary, 'codes' | 'causeKeys'>,
  sealer: Sealer,
): Promise<void> {
  const now = Date.now()
  const before = await findCurrent(writer, token)
  if (before !== undefined)
    await storeComparison(writer, { run: before.run, totalCount: before.total }, { run, totalCount }, sealer)
  const summary: RunSummary = { codes, ...rest, causeKeys }
  await writer.run(
    `update submission_run set status = 'Processed', completed = $2, total = $3, errors = $4, warnings = $5,
       sealed = $6, summary = $7, stopped = $8, progress = null, reason = null where run = $1`,
    [
      run,
      now,
      totalCount,
      errorCount,
      warningCount,
      sealer.keyId,
      sealer.sealJson(summary, summaryContext(run)),
      summary.notRun.filter(({ blocks }) => blocks).length,
    ],
  )
  await writer.run('update submission set run = $2, total = $3, published = $4 where token = $1', [
    token,
    run,
    totalCount,
    now,
  ])
  await forgetOldRuns(writer, token)
}

function findPublicationFaults({ eid, returnId, token }: SubmissionName & { returnId: string }): Fault[] {
  const checks: [string, string, RegExp, string][] = [
    ['--eid', eid, EID, '1 to 64 visible ASCII characters without a comma'],
    ['--return', returnId, RETURN_ID.pattern, RETURN_ID.rule],
    [
      '--token',
      token,
      /^[A-Za-z0-9._~-]{8,128}$/,
      '8 to 128 letters, digits, dots, hyphens, underscores or tildes',
    ],
  ]
  return checks.flatMap(([field, value, pattern, right]) => {
    if (pattern.test(value)) return []
    // A token grants access, and messages are often logged.
    const shown =
      field === '--token' ? `; it has ${count(value.length, 'character')}` : `, not ${quote(value)}`
    return [{ field, message: `must be ${right}${shown}` }]
  })
}

async function loadEntries(
  writer: Writer,
  runId: number,
  entries: AsyncIterable<SourceRecord | Fault>,
  sealer: Sealer,
  onProgress?: (entries: number) => void,
): Promise<StoredRun> {
  const faults = new FaultList()
  async function* findings(): AsyncGenerator<Finding> {
    let count = 0
    try {
      for await (const entry of entries) {
        const { value, faults: found } = isFault(entry) ? { faults: [entry] } : readEntry(entry)
        faults.add(found)
        if (faults.truncated) return
        if (faults.found) continue
        yield splitFinding(value ?? {})
        if (++count % 1000 === 0) onProgress?.(count)
      }
    } catch (error) {
      // Unreadable input is one more fault, after those of the entries before it.
      if (!(error instanceof InputRefused)) throw error
      faults.add(error.faults)
    }
    onProgress?.(count)
  }
  const stored = await storeFindings(writer, runId, findings(), sealer)
  faults.throwIfFound()
  return stored
}

function readEntry({ file, line, value, faults = [] }: SourceRecord): {
  value?: PublishedFinding
  faults: Fault[]
} {
  const reading = readShape(value)
  return {
    value: reading.value as PublishedFinding,
    faults: [
      ...faults,
      ...reading.faults.map(({ field, message }) => ({
        file,
        line,
        ...(field === '' ? {} : { field }),
        message,
      })),
    ],
  }
}
