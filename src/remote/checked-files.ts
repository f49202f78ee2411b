import type { Submission, SubmissionFile, ValidationRun } from '../../client/src/types.ts'
import { count } from '../foundation/text/format-number.ts'
import { showLocal } from '../foundation/text/zoned-time.ts'

/** The files that a command has sent, by their names in URLs, as the service has stored them. */
export type SentFiles = ReadonlyMap<string, SubmissionFile>

type CheckedFile = Pick<SubmissionFile, 'file' | 'records' | 'sha256' | 'batches'>

/** How the files of a run differ from those that a command has sent. */
interface Comparison {
  /** Sent after the run was requested, which reads the files of its request. */
  readonly late: readonly string[]
  /** Sent, but replaced or deleted by somebody else before the run was requested. */
  readonly replaced: readonly string[]
  /** Both. */
  readonly notChecked: readonly string[]
}

/** Whether two states of a file have the same content. */
function isSame(one: CheckedFile | undefined, other: CheckedFile | undefined): boolean {
  const content = ({ sha256, records, batches = 0 }: CheckedFile = {}) => `${sha256} ${records} ${batches}`
  return content(one) === content(other)
}

const find = (files: readonly CheckedFile[], name: string) => files.find(({ file }) => file === name)

/** Several people can send files of a return at once, and share its runs: finds the files that a run has not read. */
export function compareSent({ files, dateReceived = '' }: ValidationRun, sent: SentFiles): Comparison {
  // An earlier version of the service does not say what a run reads.
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
export function listChanged({ files: checked }: ValidationRun, { files = [] }: Submission): string[] {
  if (checked === undefined) return []
  const names = new Set([...checked, ...files].map(({ file = '' }) => file))
  return [...names].filter((name) => !isSame(find(checked, name), find(files, name)))
}

/** The files that a run has read although the command has not sent them, with the time if it still is known. */
export function listOthers({ files: checked }: ValidationRun, { files = [] }: Submission, sent: SentFiles) {
  return (checked ?? files)
    .filter(({ file = '' }) => !sent.has(file))
    .map((each) => {
      const current = find(files, each.file ?? '')
      const received = isSame(each, current) ? (current as SubmissionFile).received : undefined
      return { file: each.file, records: each.records, received }
    })
}

export function describeOthers(others: ReturnType<typeof listOthers>): string[] {
  const described = others.map(({ file = '', records = 0, received }) => {
    const when = received === undefined ? '' : `, ${showLocal(Date.parse(received))}`
    return `${file} (${count(records, 'record')}${when})`
  })
  return described.length === 0 ? [] : [`Also checked, from other uploads: ${described.join(', ')}.`]
}

export function describeComparison({ late, replaced }: Comparison, run: ValidationRun): string[] {
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
