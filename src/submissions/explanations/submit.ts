import { createHash } from 'node:crypto'
import type { Actor } from '../../api/access/principal.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import type { Slot } from '../../foundation/slots.ts'
import { count } from '../../foundation/text/format-number.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { readCurrentFile, TooManyChanges } from '../files/current-file.ts'
import { FileGone } from '../files/file-store.ts'
import type { SubmissionWriter } from '../findings/change-submission.ts'
import { type Run, type RunSummary, readRun, readSummary } from '../findings/runs.ts'
import { Refusal } from '../refusal.ts'
import { end } from '../retention/ending.ts'
import type { Definitions } from '../rules/definitions.ts'
import { findActiveRun } from '../runs/validation.ts'
import {
  assertOpen,
  type FileState,
  findOwn,
  readState,
  type SubmissionState,
  withSubmission,
} from '../submission.ts'
import { type Explanation, findOpenWarnings, judge, type OpenWarning } from './explanation.ts'
import { type ReceiptDocument, readReceipt, storeReceipt } from './receipt.ts'
import { renderExplanation } from './render-explanation.ts'
import { readExplanations } from './store.ts'

export interface SubmitServices {
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  /** Takes the memory of the batches of a file, whose digest is of the merged content. */
  readonly takeMemory: () => Slot
}

/** How often files that change meanwhile are read again. */
const ATTEMPTS = 3

/** What the submission means, in the receipt. */
const STATEMENT = 'Mahi froze these files. It does not send them anywhere.'

/**
 * Submits a submission whose current run covers its current files, found no errors, and leaves no warning that needs
 * an explanation. Afterwards, the submission no longer changes, unless the agency opens it again.
 *
 * @throws {Refusal}
 */
export async function submit(
  services: SubmitServices,
  { token, eid, actor }: { token: string; eid: string; actor: Actor },
): Promise<{ submission: SubmissionState; receipt: ReceiptDocument | undefined }> {
  const { database, sealer, definitions } = services
  for (let attempt = 1; ; attempt++) {
    const known = await findOwn(database, eid, token)
    const before = known === undefined ? undefined : await readState(database, known)
    // Files with batches are read before the lock is taken: others do not wait for that.
    const digests = before?.ended === null ? await digestFiles(services, before) : new Map<string, string>()
    const submitted = await withSubmission(database, { token, eid }, async (writer, submission) => {
      if (submission.ended === 'Submitted')
        return { submission, receipt: await readReceipt(writer, token, sealer) }
      assertOpen(submission)
      const run = await assertChecked(writer, submission)
      if (!submission.files.every((file) => digests.has(nameContent(file)))) return undefined
      const summary = await readSummary(writer, run.run, sealer)
      const explanations = await readExplanations(writer, token, sealer)
      const definition = definitions.find(submission.definition ?? '')
      assertExplained(findOpenWarnings(definition, summary, explanations))
      const replaced = await findReplaced(writer, submission)
      const describe = (number: number) => ({
        receipt: number,
        ...describeSubmission(submission, run, summary, explanations),
        submittedBy: actor,
        dateSubmitted: formatTimestamp(Date.now()),
        files: submission.files.map((file) => ({
          fileType:
            definitions.findResource(submission.definition ?? '', file.resource)?.fileType ?? 'Unknown',
          file: file.resource,
          records: file.records,
          bytes: file.bytes,
          sha256: digests.get(nameContent(file)) ?? '',
        })),
        ...(replaced !== undefined && { replaces: replaced }),
      })
      const number = await storeReceipt(writer, submission, describe, sealer)
      const receipt = await readReceipt(writer, token, sealer)
      const detail = { receipt: number, runId: run.number }
      return { submission: await end(writer, submission, 'Submitted', actor, detail), receipt }
    })
    if (submitted !== undefined) return submitted
    if (attempt === ATTEMPTS)
      throw new Refusal('conflict', 'The files are changing. Submit when all changes have ended.', {
        errorCode: 'DS1',
        retryAfter: 1,
      })
  }
}

/** @throws {Refusal} unless the current run covers the current files and found no errors */
async function assertChecked(writer: SubmissionWriter, submission: SubmissionState): Promise<Run> {
  if ((await findActiveRun(writer, submission.token)) !== undefined)
    throw new Refusal('conflict', 'A validation run is in progress. Wait until it ends.')
  const run = await readRun(writer, submission.run)
  if (run === undefined)
    throw new Refusal('conflict', 'The submission has not been validated yet. Request a validation run.')
  if (run.revision !== submission.revision)
    throw new Refusal('conflict', 'The files were changed after the current run. Request a new one.')
  if (run.errors > 0)
    throw new Refusal(
      'conflict',
      `The current run found ${count(run.errors, 'error')}. Correct ${run.errors === 1 ? 'it' : 'them'} and validate again.`,
    )
  return run
}

/** The most warnings that a refusal names. */
const NAMED = 5

/** @throws {Refusal} which names the warnings that need an explanation */
function assertExplained(open: readonly OpenWarning[]): void {
  if (open.length === 0) return
  const named = open.slice(0, NAMED).map(({ code, findings, explained }) => {
    const before = explained === undefined ? '' : `, ${explained} when it was explained`
    return `${code} (${count(findings, 'finding')}${before})`
  })
  const others = open.length > NAMED ? ` and ${open.length - NAMED} more` : ''
  const subject = open.length === 1 ? 'This warning needs' : 'These warnings need'
  throw new Refusal(
    'conflict',
    `${subject} an explanation before the submission: ${named.join(', ')}${others}. Explain each one with PUT /v1/submissions/{token}/explanations/{code}, or fix it and validate again.`,
  )
}

function describeSubmission(
  { token, eid, returnId, returnName, type }: SubmissionState,
  run: Run,
  summary: RunSummary | undefined,
  explanations: readonly Explanation[],
): ReceiptDocument {
  const { name, version, title } = summary?.definition ?? {}
  return {
    submissionToken: token,
    eid,
    returnId,
    ...(returnName !== null && { returnName }),
    ...(type !== null && { submissionType: type }),
    statement: STATEMENT,
    ...(name !== undefined && {
      definition: { name, ...(version !== undefined && { version }), ...(title !== undefined && { title }) },
    }),
    runId: run.number,
    ...(run.completed !== null && { dateChecked: formatTimestamp(run.completed) }),
    errorCount: run.errors,
    warningCount: run.warnings,
    explanations: explanations
      .filter((each) => judge(each, summary).state !== 'NoFindings')
      .map((each) => renderExplanation(each, summary)),
  }
}

/** The content of a file: the version and its batches. */
function nameContent({ version, chunks }: FileState): string {
  return `${version}.${chunks}`
}

/** The SHA-256 of each file as it is now, by its content; those that are replaced meanwhile are missing. */
async function digestFiles(
  { database, sealer, definitions, takeMemory }: SubmitServices,
  { files, definition }: SubmissionState,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  for (const file of files) {
    if (file.batches === 0) {
      digests.set(nameContent(file), file.sha256)
      continue
    }
    const digest = createHash('sha256')
    const form = definitions.formOf(definition ?? '', file.resource)
    try {
      for await (const piece of readCurrentFile(database, sealer, file, form, takeMemory))
        digest.update(piece)
    } catch (error) {
      if (error instanceof FileGone) continue
      if (error instanceof TooManyChanges) throw new Refusal('conflict', error.message)
      throw error
    }
    digests.set(nameContent(file), digest.digest('hex'))
  }
  return digests
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
