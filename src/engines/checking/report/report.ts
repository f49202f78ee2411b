import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import { joinOr } from '../../../foundation/text/join-or.ts'
import { hasOtherFormat } from '../definition/is-file.ts'
import { type CheckSummary, EMPTY_NOTE, type Finding, type SpareFile } from '../engine/summary.ts'
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
  /** Whether the files are copies that `--fix` has corrected. */
  readonly isFixed: boolean
}

type Append = (text: string) => Promise<void>
export type ReportWriter = (input: ReportInput, append: Append) => Promise<void>

/** The findings of each code shown in a report with records; the counts are always complete. */
export const SHOWN_OF_CODE = 1000
/** The findings of each cause that are shown in any case. */
export const SHOWN_OF_CAUSE = 100

/** The verdict in one sentence: what was found, in what, and what was not checked. */
export function describeVerdict(summary: CheckSummary): string {
  const { errors, warnings, files } = summary
  const checked = files.filter(({ state }) => state === 'checked')
  const empty = checked.filter(({ records }) => records === 0).map(({ file }) => file)
  const absent = [
    describeAbsent(summary),
    empty.length === 0 ? '' : `${joinAnd(empty)} ${empty.length === 1 ? 'has' : 'have'} no records`,
  ]
    .filter((part) => part !== '')
    .join('; ')
  const isClean = errors + warnings === 0
  if (checked.length === 0 || (isClean && empty.length === checked.length))
    return `Nothing was checked: ${absent}.`
  const what = isClean
    ? 'No findings'
    : `${errors === 0 ? 'No errors' : count(errors, 'error')} and ${warnings === 0 ? 'no warnings' : count(warnings, 'warning')}`
  // Some of the findings are that files are missing, or cannot be read.
  if (!isClean && checked.length < files.length)
    return `${what}. ${count(checked.length, 'file')} ${checked.length === 1 ? 'was' : 'were'} checked; ${absent}.`
  const where =
    checked.length === 1 ? 'the file that was checked' : `the ${checked.length} files that were checked`
  return `${what} in ${where}${absent === '' ? '' : `; ${absent}`}.`
}

/** What was not checked, such as `courses.csv is missing, so 12 checks did not run`. */
function describeAbsent({ files, notRun }: CheckSummary): string {
  const checks = `${count(notRun.length, 'check')} did not run`
  const parts = (['missing', 'unreadable'] as const).flatMap((state) => {
    const names = files.filter((file) => file.state === state).map(({ file }) => file)
    if (names.length === 0) return []
    const is = names.length === 1 ? 'is' : 'are'
    return [`${joinAnd(names)} ${state === 'missing' ? `${is} missing` : `cannot be read`}`]
  })
  if (parts.length === 0) return notRun.length === 0 ? '' : checks
  return `${parts.join(', and ')}${notRun.length === 0 ? '' : `, so ${checks}`}`
}

function joinAnd(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** Says what to do with a file in whose place another one was read, as a shell needs it. */
export function describeSpare({ name, resource, read }: SpareFile): string {
  const shown = /^[\w./-]+$/.test(name) ? name : `"${name}"`
  const other = hasOtherFormat(name)
    ? `replace ${read} by it, saved as CSV or XLSX`
    : `use --file ${resource}=${shown}`
  return `${name} was not read: ${read} was read in its place. Remove it, or ${other}.`
}

/** The checked files, the definition and its parameters. */
export function describeSubject({ files, definition, parameters }: CheckSummary): string {
  const checked = files.filter(({ state }) => state === 'checked')
  const records = checked.reduce((sum, file) => sum + file.records, 0)
  const forReturn = parameters.returnId === null ? '' : ` for the return ${parameters.returnId}`
  return `${count(checked.length, 'file')} with ${count(records, 'record')}, checked against ${`${definition.name} ${definition.version}`.trim()}${forReturn} as of ${parameters.asOf}.`
}

/** Describes the changes since an earlier run in one sentence. */
export function describeChanges(changes: ReadonlyMap<string, Change>): string {
  const { fresh, fixed, open } = sumChanges(changes)
  return `Since the earlier run: ${formatNumber(fresh)} new, ${formatNumber(fixed)} fixed, ${formatNumber(open)} still open.`
}

/** Lists all parts that a report lacks, as sentences. */
export function listGaps({ codes, notRun, files, unread, spare, undecided }: CheckSummary): string[] {
  const missing = files.filter(({ state }) => state === 'missing').map(({ file }) => file)
  const advice = missing.length === 0 ? '' : ` If it is ${joinOr(missing)}, rename it, or use --file.`
  return [
    ...files
      .filter(({ state }) => state !== 'checked')
      .map(({ file, state }) => (state === 'missing' ? `${file} is missing.` : `${file} cannot be read.`)),
    ...files.filter(({ notes }) => notes.includes(EMPTY_NOTE)).map(({ file }) => `${file} has no records.`),
    ...unread.map((name) => `${name} was not read: the definition has no such file.${advice}`),
    ...spare.map(describeSpare),
    ...groupByReason(notRun),
    ...groupByField(undecided, files),
    ...codes.flatMap(({ code, stored, count: total }) => describePartial(code, stored, total)),
  ]
}

/** A sentence if not all findings of a code are kept, and nothing otherwise. */
export function describePartial(code: string, stored: number, total: number): string[] {
  if (stored >= total) return []
  return [
    `${code} is partial: the first ${formatNumber(stored)} of its ${formatNumber(total)} findings are kept.`,
  ]
}

/** The percentage of a file's records that a code concerns, such as `0.6 %`; empty for one of the whole file. */
export function describeShare(
  { file, kind, count: number }: { file: string; kind: string; count: number },
  { files }: CheckSummary,
): string {
  const records = files.find(({ resource }) => resource === file)?.records ?? 0
  if (records === 0 || kind === 'file' || kind === 'header') return ''
  const share = (100 * number) / records
  return `${share < 0.05 ? '<0.1' : Math.min(share, 100).toFixed(1)} %`
}

/** One sentence for each reason, because one missing file can affect many rules. */
export function groupByReason(notRun: CheckSummary['notRun']): string[] {
  const groups = Map.groupBy(notRun, ({ reason }) => reason)
  return [...groups].map(
    ([reason, group]) => `${reason} Not run: ${group.map(({ code }) => code).join(', ')}.`,
  )
}

/** One sentence for each field whose unknown values kept checks from running. */
export function groupByField(
  undecided: CheckSummary['undecided'],
  files: CheckSummary['files'] = [],
): string[] {
  const groups = Map.groupBy(undecided, ({ file, field }) => `${file}\n${field}`)
  return [...groups.values()]
    .map((group) => ({ group, most: Math.max(...group.map(({ records }) => records)) }))
    .sort((one, other) => other.most - one.most)
    .flatMap(({ group }) => {
      const [first] = group
      if (first === undefined) return []
      const name = files.find(({ resource }) => resource === first.file)?.file ?? first.file
      const checks = group.map(({ code, records }) => `${code} (${count(records, 'record')})`)
      return [`${first.field} of ${name} has unknown values. Not run because of them: ${checks.join(', ')}.`]
    })
}
