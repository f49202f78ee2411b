import type { Static } from '../foundation/schema/type.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { MAX_BATCH_RECORDS } from './contract.ts'
import { openNotes } from './files/notes.ts'
import { isPartial, type Run } from './findings/runs.ts'
import type { SubmissionOptions } from './options.ts'
import type { Submission, SubmissionFile, ValidationRun } from './schema.ts'
import { changeableUntil, type FileState, type SubmissionState } from './submission.ts'

const at = (time: number | null | undefined) =>
  time == null || time === 0 ? undefined : formatTimestamp(time)

/** Removes undefined members. */
function compact<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], null | undefined> } {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members))
    if (value !== undefined && value !== null) kept[name] = value
  return kept as never
}

export function renderRun(run: Run, current: number): Static<typeof ValidationRun> {
  const files = run.files.map(({ resource, records, sha256, batches }) =>
    compact({ file: resource, records, sha256: sha256 || undefined, batches: batches || undefined }),
  )
  return { ...renderRunState(run, current), files }
}

/** Without its files: a list of submissions has many runs. */
function renderRunState(run: Run, current: number): Static<typeof ValidationRun> {
  const done = run.status === 'Processed'
  return compact({
    runId: run.number,
    submissionToken: run.token,
    status: run.status,
    dateReceived: at(run.received),
    dateStarted: at(run.started),
    dateCompleted: at(run.completed),
    errorCount: done ? run.errors : undefined,
    warningCount: done ? run.warnings : undefined,
    stoppedCount: run.stopped || undefined,
    totalCount: done ? run.total : undefined,
    partial: done && isPartial(run) ? true : undefined,
    progress: run.completed === null ? run.progress : undefined,
    reason: run.reason,
    current: run.run === current,
  })
}

/** What rendering needs. */
type Services = Pick<SubmissionOptions, 'definitions' | 'sealer'>

export function renderFile(
  { definitions, sealer }: Services,
  definition: string | null,
  file: FileState,
): Static<typeof SubmissionFile> {
  const resource = definitions.findResource(definition ?? '', file.resource)
  return compact({
    fileType: resource?.fileType ?? 'Unknown',
    file: file.resource,
    records: file.records,
    bytes: file.bytes,
    sha256: file.batches === 0 ? file.sha256 : undefined,
    received: at(file.received),
    batches: file.batches === 0 ? undefined : file.batches,
    notes: openNotes(sealer, file),
  })
}

export function renderState(services: Services, state: SubmissionState): Static<typeof Submission> {
  const shown = state.ended !== 'Cancelled'
  return compact({
    submissionToken: state.token,
    tokenExpiry: at(changeableUntil(state)),
    reopenedUntil: state.ended === null ? at(state.reopenedUntil) : undefined,
    returnId: state.returnId,
    returnName: state.returnName,
    notes: state.returnNotes,
    dueDate: at(state.due),
    eid: state.eid,
    definition: state.definition,
    submissionType: state.type,
    submissionStatus: state.status,
    maxRecordPerBatch: state.created === null ? undefined : MAX_BATCH_RECORDS,
    dateCreated: at(state.created ?? state.published),
    files: shown ? state.files.map((file) => renderFile(services, state.definition, file)) : undefined,
    validationRun:
      shown && state.lastRun !== undefined ? renderRunState(state.lastRun, state.run) : undefined,
  })
}
