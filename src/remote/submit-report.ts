import type { Client } from '../../client/src/index.ts'
import type {
  ResultsCauses,
  ResultsSummary,
  Submission,
  SubmissionFile,
  ValidationRun,
} from '../../client/src/types.ts'
import { groupByField, groupByReason, tabulateCauses } from '../engines/checking/index.ts'
import { EMPTY_RETURN, isEmptyReturn } from '../foundation/text/empty-return.ts'
import { count, formatNumber } from '../foundation/text/format-number.ts'
import { escapeControls, quoteForShell } from '../foundation/text/quote.ts'
import { showLocal } from '../foundation/text/zoned-time.ts'
import { listPartial } from './results.ts'

/** Where a submission is, for the commands that continue with it. */
export interface Destination {
  readonly url: string
  readonly eid: string
  readonly token: string
}

/** A run that has ended, and the state of its submission since. */
export interface Ended {
  readonly run: ValidationRun
  readonly submission: Submission
}

/** The files that a command has sent, by their names in URLs, as the service has stored them. */
export type SentFiles = ReadonlyMap<string, SubmissionFile>

type CheckedFile = Pick<SubmissionFile, 'file' | 'records' | 'sha256' | 'batches'>

/** Whether two states of a file have the same content. */
function isSame(one: CheckedFile | undefined, other: CheckedFile | undefined): boolean {
  const content = ({ sha256, records, batches = 0 }: CheckedFile = {}) => `${sha256} ${records} ${batches}`
  return content(one) === content(other)
}

const find = (files: readonly CheckedFile[], name: string) => files.find(({ file }) => file === name)

/**
 * Finds the files that were sent and that a run has not read, because several people can send files of a return at once
 * and share its runs: `late` were sent after the run was requested, which reads the files of its request; `replaced`
 * were replaced or deleted by somebody else before it was.
 */
export function compareSent({ files, dateReceived = '' }: ValidationRun, sent: SentFiles) {
  // A service that does not say what a run reads would be asked for runs without end.
  const missed =
    files === undefined ? [] : [...sent].filter(([name, each]) => !isSame(find(files, name), each))
  const isLate = ({ received = '' }: SubmissionFile) => Date.parse(received) > Date.parse(dateReceived)
  const late = missed.filter(([, each]) => isLate(each)).map(([name]) => name)
  const replaced = missed.filter(([, each]) => !isLate(each)).map(([name]) => name)
  return { late, replaced, notChecked: [...late, ...replaced] }
}

/** Whether the return still has all files that were sent. */
export function hasAllSent({ files = [] }: Submission, sent: SentFiles): boolean {
  return [...sent].every(([name, each]) => isSame(find(files, name), each))
}

/** The files that have changed since a run was requested. */
function listChanged({ run: { files: checked }, submission: { files = [] } }: Ended): string[] {
  if (checked === undefined) return []
  const names = new Set([...checked, ...files].map(({ file = '' }) => file))
  return [...names].filter((name) => !isSame(find(checked, name), find(files, name)))
}

/** The files that a run has read although the command has not sent them, with the time if it still is known. */
function listOthers({ run: { files: checked }, submission: { files = [] } }: Ended, sent: SentFiles) {
  return (checked ?? files)
    .filter(({ file = '' }) => !sent.has(file))
    .map((each) => {
      const current = find(files, each.file ?? '')
      const received = isSame(each, current) ? (current as SubmissionFile).received : undefined
      return { file: each.file, records: each.records, received }
    })
}

export function describeNotChecked(run: ValidationRun, sent: SentFiles): string[] {
  const { late, replaced } = compareSent(run, sent)
  const lines: string[] = []
  if (late.length > 0)
    lines.push(
      `Run ${run.runId} was requested before these files arrived, and does not check them as sent: ${late.join(', ')}.`,
    )
  if (replaced.length > 0)
    lines.push(
      `Run ${run.runId} does not check these files as sent, because somebody has replaced or deleted them: ${replaced.join(', ')}.`,
    )
  return lines
}

/** The table of what to fix: of causes, or of codes for a run that a command published. */
export function tabulateFindings({ codes = [] }: ResultsSummary, causes: ResultsCauses['causes']): string[] {
  const lines =
    causes === undefined
      ? codes.map(
          ({ errorCode = '', errorType = '', count: findings = 0, first }) =>
            `${formatNumber(findings).padStart(7)}  ${errorType.padEnd(7)}  ${errorCode.padEnd(20)}  ${first?.errorDescription ?? ''}`,
        )
      : tabulateCauses(causes)
  return lines.map(escapeControls)
}

/** Which files a run has read, whether they are those that were sent, and what to say about it besides its findings. */
export function describeRun(ended: Ended, sent: SentFiles, summary: ResultsSummary) {
  const { run, submission } = ended
  const alsoChecked = listOthers(ended, sent)
  const { notChecked } = compareSent(run, sent)
  const changed = listChanged(ended)
  const others = alsoChecked.map(({ file = '', records = 0, received }) => {
    const when = received === undefined ? '' : `, ${showLocal(Date.parse(received))}`
    return `${file} (${count(records, 'record')}${when})`
  })
  const notRun = (summary.notRun ?? []).map(({ errorCode: code = '', reason = '' }) => ({ code, reason }))
  const undecided = (summary.undecided ?? []).map(
    ({ errorCode: code = '', file = '', field = '', records = 0 }) => ({ code, file, field, records }),
  )
  const lines = [
    ...listPartial(summary),
    ...groupByReason(notRun),
    ...groupByField(undecided),
    ...(others.length === 0 ? [] : [`Also checked, from other uploads: ${others.join(', ')}.`]),
    ...describeNotChecked(run, sent),
    ...(changed.length === 0 ? [] : [`Changed since run ${run.runId} was requested: ${changed.join(', ')}.`]),
  ]
  const isOwn = notChecked.length === 0 && hasAllSent(submission, sent)
  return { files: { alsoChecked, notChecked, changed }, isOwn, lines }
}

/** The command that prints the findings of a submission. */
export function fetchCommand({ url, eid, token }: Destination): string {
  return `mahi results fetch ${quoteForShell(url)} ${quoteForShell(token)} --eid ${quoteForShell(eid)}`
}

/** The most codes that a sentence lists. */
const MOST_CODES = 10

/**
 * Says which warnings can be explained, and that the return is not submitted yet.
 *
 * @param replaced what was submitted before, such as `receipt 1 of 31 Jan 2026, 17:00`
 */
export async function describeNextSteps(
  submissions: Client['submissions'],
  destination: Destination,
  { run, submission: { submissionStatus, validationRun, files = [] } }: Ended,
  { codes = [] }: ResultsSummary,
  replaced: string | undefined,
): Promise<string[]> {
  // Otherwise somebody has changed, submitted or deleted it meanwhile.
  if (submissionStatus !== 'Validated' || validationRun?.runId !== run.runId) return []
  const known = await submissions.explanations(destination.token)
  const commandFor = (name: string, more = '') =>
    `mahi submissions ${name} ${quoteForShell(destination.token)}${more} --url ${quoteForShell(destination.url)} --eid ${quoteForShell(destination.eid)}`
  const warnings = codes.flatMap(({ errorType, errorCode = '' }) =>
    errorType === 'Warning' ? [errorCode] : [],
  )
  const lines =
    warnings.length === 0
      ? []
      : [
          `Codes of the warnings: ${list(warnings)}.${warnings.length > MOST_CODES ? ` List all with: ${fetchCommand(destination)}` : ''}`,
          `Explain those whose values are right with: ${commandFor('explain', ' CODE --reason Verified')}`,
        ]
  if ((run.errorCount ?? 0) > 0) return lines
  if (run.stoppedCount !== undefined)
    return [
      ...lines,
      `The return cannot be submitted: ${count(run.stoppedCount, 'rule was', 'rules were')} stopped. Check it again; if that does not help, ask the operator of the service.`,
    ]
  const open = (known.open ?? []).map(
    ({ code = '', findings = 0 }) => `${code} (${count(findings, 'finding')})`,
  )
  const before = open.length === 0 ? '' : ` Before it can be, explain ${list(open)}.`
  if (isEmptyReturn(files)) lines.push(EMPTY_RETURN)
  const state =
    replaced === undefined
      ? 'The return is not submitted yet.'
      : `This submission is not submitted yet, so ${replaced} still counts.`
  return [...lines, `${state}${before} Submit it with: ${commandFor('submit')}`]
}

function list(names: readonly string[]): string {
  const others = names.length - MOST_CODES
  return names.slice(0, MOST_CODES).join(', ') + (others > 0 ? ` and ${others} more` : '')
}
