import type { Rendered } from '../../foundation/schema/type.ts'
import { formatKnown } from '../../foundation/text/timestamp.ts'
import { MAX_BATCH_RECORDS } from './contract.ts'
import { openNotes } from './notes.ts'
import type { SubmissionOptions } from './options.ts'
import { isPartial, type Run } from './runs.ts'
import type { Submission, SubmissionFile, ValidationRun } from './schema.ts'
import { changeableUntil, type FileState, type SubmissionState } from './submission.ts'

export function renderRun(run: Run, current: number): Rendered<typeof ValidationRun> {
  const files = run.files.map(({ resource, records, sha256, batches }) => ({
    file: resource,
    records,
    sha256: sha256 || undefined,
    batches: batches || undefined,
  }))
  return { ...renderRunState(run, current), files }
}

/** Without its files: a list of submissions has many runs. */
function renderRunState(run: Run, current: number): Rendered<typeof ValidationRun> {
  const done = run.status === 'Processed'
  return {
    runId: run.number,
    submissionToken: run.token,
    status: run.status,
    dateReceived: formatKnown(run.received),
    dateStarted: formatKnown(run.started),
    dateCompleted: formatKnown(run.completed),
    errorCount: done ? run.errors : undefined,
    warningCount: done ? run.warnings : undefined,
    stoppedCount: run.stopped || undefined,
    totalCount: done ? run.total : undefined,
    partial: done && isPartial(run) ? true : undefined,
    progress: run.completed === null ? run.progress : undefined,
    reason: run.reason ?? undefined,
    current: run.run === current,
  }
}

/** What rendering needs. */
type Services = Pick<SubmissionOptions, 'definitions' | 'sealer'>

export function renderFile(
  { definitions, sealer }: Services,
  definition: string | null,
  file: FileState,
): Rendered<typeof SubmissionFile> {
  const resource = definitions.findResource(definition ?? '', file.resource)
  return {
    fileType: resource?.fileType ?? 'Unknown',
    file: file.resource,
    records: file.records,
    bytes: file.bytes,
    sha256: file.batches === 0 ? file.sha256 : undefined,
    received: formatKnown(file.received),
    batches: file.batches === 0 ? undefined : file.batches,
    notes: openNotes(sealer, file),
  }
}

export function renderState(services: Services, state: SubmissionState): Rendered<typeof Submission> {
  const shown = state.ended !== 'Cancelled'
  return {
    submissionToken: state.token,
    tokenExpiry: formatKnown(changeableUntil(state)),
    reopenedUntil: state.ended === null ? formatKnown(state.reopenedUntil) : undefined,
    returnId: state.returnId,
    returnName: state.returnName ?? undefined,
    notes: state.returnNotes ?? undefined,
    dueDate: formatKnown(state.due),
    closeWindowDate: formatKnown(state.closes),
    eid: state.eid,
    definition: state.definition ?? undefined,
    submissionType: state.type ?? undefined,
    submissionStatus: state.status,
    maxRecordPerBatch: state.created === null ? undefined : MAX_BATCH_RECORDS,
    dateCreated: formatKnown(state.created ?? state.published),
    files: shown ? state.files.map((file) => renderFile(services, state.definition, file)) : undefined,
    validationRun:
      shown && state.lastRun !== undefined ? renderRunState(state.lastRun, state.run) : undefined,
  }
}
