import type { Actor } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { count } from '../../foundation/text/format-number.ts'
import { formatKnown, formatTimestamp } from '../../foundation/text/timestamp.ts'
import { assertAllRead } from '../files/file-job.ts'
import { forgetPrevious } from '../files/undo.ts'
import { renderNotRun } from '../findings/not-run.ts'
import { end } from '../retention/ending.ts'
import type { Definitions } from '../rules/definitions.ts'
import type { SubmissionName, SubmissionWriter } from '../submission/lock.ts'
import { type FinishedRun, findActiveRun, type RunSummary, readFinished } from '../submission/runs.ts'
import { assertOpen, type SubmissionState, withSubmission } from '../submission/submission.ts'
import { type Explanation, findOpenWarnings, judge, type OpenWarning } from './explanation.ts'
import { type ReceiptDocument, readReceipt, storeReceipt } from './receipt.ts'
import { renderExplanation } from './render-explanation.ts'
import { readExplanations } from './store.ts'

export interface SubmitServices {
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
}

/** What the submission means, in the receipt. */
const STATEMENT = 'Mahi froze these files. It does not send them anywhere.'

/**
 * Submits a submission whose current run covers its current files, made every check that matters, found no errors, and
 * leaves no warning that needs an explanation. Afterwards, the submission no longer changes, unless the agency opens it again.
 *
 * @throws {Problem}
 */
export async function submit(
  services: SubmitServices,
  { token, eid, actor }: SubmissionName & { actor: Actor },
): Promise<{ submission: SubmissionState; receipt: ReceiptDocument | undefined }> {
  const { database, sealer, definitions } = services
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    if (submission.ended === 'Submitted')
      return { submission, receipt: await readReceipt(writer, token, sealer) }
    assertOpen(submission)
    await assertAllRead(writer, token)
    const current = await assertChecked(writer, submission, sealer)
    const { run, summary } = current
    assertComplete(summary)
    const explanations = await readExplanations(writer, token, sealer)
    const definition = definitions.find(submission.definition ?? '')
    assertExplained(findOpenWarnings(definition, summary, explanations))
    const replaced = await findReplaced(writer, submission)
    // The run has read these files as they are.
    const digests = new Map(run.files.map(({ resource, sha256 }) => [resource, sha256]))
    const describe = (number: number) => ({
      receipt: number,
      ...describeSubmission(submission, current, explanations),
      submittedBy: actor,
      dateSubmitted: formatTimestamp(Date.now()),
      files: submission.files.map((file) => ({
        fileType: definitions.findResource(submission.definition ?? '', file.resource)?.fileType ?? 'Unknown',
        file: file.resource,
        records: file.records,
        bytes: file.bytes,
        sha256: digests.get(file.resource) ?? '',
      })),
      replaces: replaced,
    })
    await forgetPrevious(writer, token)
    const number = await storeReceipt(writer, submission, describe, sealer)
    const receipt = await readReceipt(writer, token, sealer)
    const detail = { receipt: number, runId: run.number }
    return { submission: await end(writer, submission, 'Submitted', actor, detail), receipt }
  })
}

/** @throws {Problem} unless the current run covers the current files and found no errors */
async function assertChecked(
  writer: SubmissionWriter,
  submission: SubmissionState,
  sealer: Sealer,
): Promise<FinishedRun> {
  if ((await findActiveRun(writer, submission.token)) !== undefined)
    throw new Problem('conflict', 'A validation run is in progress. Wait until it ends.')
  const current = await readFinished(writer, submission.run, sealer)
  if (current === undefined)
    throw new Problem('conflict', 'The submission has not been validated yet. Request a validation run.')
  const { run } = current
  if (run.revision !== submission.revision)
    throw new Problem('conflict', 'The current run has not read the files as they are. Request a new one.')
  if (run.errors > 0)
    throw new Problem(
      'conflict',
      `The current run found ${count(run.errors, 'error')}. Correct ${run.errors === 1 ? 'it' : 'them'} and validate again.`,
    )
  return current
}

/** @throws {Problem} if a check was stopped that could have found what must be fixed or explained */
function assertComplete(summary: RunSummary): void {
  const stopped = summary.notRun.filter(({ blocks }) => blocks)
  if (stopped.length === 0) return
  const named = stopped.slice(0, NAMED).map(({ code, reason }) => `${code}: ${reason}`)
  throw new Problem(
    'conflict',
    `The current run did not make ${count(stopped.length, 'check')} that the submission needs. ${named.join(' ')} Validate again; if that does not help, the operator of this service must change its limits or the definition.`,
  )
}

/** The most checks that a refusal names. */
const NAMED = 5

/** @throws {Problem} which names the warnings that need an explanation */
function assertExplained(open: readonly OpenWarning[]): void {
  if (open.length === 0) return
  const named = open.slice(0, NAMED).map(({ code, findings, explained }) => {
    const before = explained === undefined ? '' : `, ${explained} when it was explained`
    return `${code} (${count(findings, 'finding')}${before})`
  })
  const others = open.length > NAMED ? ` and ${open.length - NAMED} more` : ''
  const subject = open.length === 1 ? 'This warning needs' : 'These warnings need'
  throw new Problem(
    'conflict',
    `${subject} an explanation before the submission: ${named.join(', ')}${others}. Explain each one, or fix it and validate again.`,
  )
}

function describeSubmission(
  { token, eid, returnId, returnName, type }: SubmissionState,
  { run, summary }: FinishedRun,
  explanations: readonly Explanation[],
): ReceiptDocument {
  const { name, version, title } = summary.definition ?? {}
  return {
    submissionToken: token,
    eid,
    returnId,
    returnName: returnName ?? undefined,
    submissionType: type ?? undefined,
    statement: STATEMENT,
    definition: summary.definition && { name, version, title },
    runId: run.number,
    dateChecked: formatKnown(run.completed),
    errorCount: run.errors,
    warningCount: run.warnings,
    notRun: summary.notRun.length > 0 ? renderNotRun(summary) : undefined,
    explanations: explanations
      .filter((each) => judge(each, summary).state !== 'NoFindings')
      .map((each) => renderExplanation(each, summary)),
  }
}

/** The last earlier submission of the organisation for the same return that was submitted. */
async function findReplaced(
  reader: Reader,
  { token, eid, returnId }: SubmissionState,
): Promise<{ submissionToken: string; dateSubmitted: string } | undefined> {
  const row = await reader.get<{ token: string; time: number }>(
    `select token, ended_at as time from submission
     where eid = $1 and return_id = $2 and token <> $3 and ended = 'Submitted' and created is not null
     order by ended_at desc limit 1`,
    [eid, returnId, token],
  )
  return row === undefined
    ? undefined
    : { submissionToken: row.token, dateSubmitted: formatTimestamp(row.time) }
}
