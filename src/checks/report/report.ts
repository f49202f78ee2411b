import type { CheckSummary, Finding } from '../engine/summary.ts'
import { type Change, type Standing, sumChanges } from './baseline.ts'

/** A finding and, if there is an earlier run, its comparison with that. */
export type ReportedFinding = Finding & { readonly standing?: Standing }

/** The input of a report. */
export interface ReportInput {
  readonly summary: CheckSummary
  readonly findings: () => AsyncIterable<ReportedFinding>
  /** The findings as NDJSON. */
  readonly path: string
  /** The changes since an earlier run by code, if there is one. */
  readonly changes: ReadonlyMap<string, Change> | undefined
}

export type Append = (text: string) => Promise<void>
export type ReportWriter = (input: ReportInput, append: Append) => Promise<void>

/** The findings of each code shown in a report with records; the counts are always complete. */
export const SHOWN_OF_CODE = 1000

/** `1 error`, `2,431 errors`. */
export function count(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`
}

export function formatNumber(number: number): string {
  return number.toLocaleString('en-NZ')
}

/** The verdict in one sentence. */
export function describeVerdict({ errors, warnings }: CheckSummary): string {
  if (errors + warnings === 0) return 'No findings.'
  return `${count(errors, 'error')} and ${count(warnings, 'warning')}.`
}

/** The checked files, the definition and its parameters. */
export function describeSubject({ files, definition, parameters }: CheckSummary): string {
  const checked = files.filter(({ state }) => state === 'checked')
  const records = checked.reduce((sum, file) => sum + file.records, 0)
  const forReturn = parameters.returnId === null ? '' : ` for the return ${parameters.returnId}`
  return `${count(checked.length, 'file')} with ${count(records, 'record')}, checked against ${definition.name} ${definition.version}${forReturn} as of ${parameters.asOf}.`
}

/** Describes the changes since an earlier run in one sentence. */
export function describeChanges(changes: ReadonlyMap<string, Change>): string {
  const { fresh, fixed, open } = sumChanges(changes)
  return `Since the earlier run: ${formatNumber(fresh)} new, ${formatNumber(fixed)} fixed, ${formatNumber(open)} still open.`
}

/** Lists all parts that a report lacks, as sentences. */
export function listGaps({ codes, notRun, files }: CheckSummary): string[] {
  return [
    ...files
      .filter(({ state }) => state !== 'checked')
      .map(({ file, state }) => (state === 'missing' ? `${file} is not there.` : `${file} cannot be read.`)),
    ...groupByReason(notRun),
    ...codes
      .filter(({ stored, count: total }) => stored < total)
      .map(
        ({ code, stored, count: total }) =>
          `${code} is partial: the first ${formatNumber(stored)} of its ${formatNumber(total)} findings are kept.`,
      ),
  ]
}

/** The percentage of a file's records that a code concerns, such as `0.6 %`. */
export function describeShare(
  { file, count: number }: { file: string; count: number },
  { files }: CheckSummary,
): string {
  const records = files.find(({ resource }) => resource === file)?.records ?? 0
  if (records === 0) return ''
  const share = (100 * number) / records
  return `${share < 0.05 ? '<0.1' : Math.min(share, 100).toFixed(1)} %`
}

/** One sentence for each reason, because one missing file can affect many rules. */
function groupByReason(notRun: CheckSummary['notRun']): string[] {
  const groups = new Map<string, string[]>()
  for (const { code, reason } of notRun) {
    const codes = groups.get(reason)
    if (codes === undefined) groups.set(reason, [code])
    else codes.push(code)
  }
  return [...groups].map(([reason, codes]) => `${reason} Not run: ${codes.join(', ')}.`)
}
