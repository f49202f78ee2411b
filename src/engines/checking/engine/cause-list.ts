import { hash } from 'node:crypto'
import { getOrMake } from '../../../foundation/get-or-make.ts'
import { DistinctTexts } from '../../../foundation/text/interner.ts'
import type { Check, Resource, Severity } from '../definition/definition.ts'
import { describeCheck, summariseMessage } from './explain.ts'
import { toPlainForm } from './plain-form.ts'
import type { SeenFinding } from './seen-finding.ts'
import { cut, shorten, toShown } from './shown-text.ts'
import type { Cause, CauseKind } from './summary.ts'

/** The most characters of a key. */
const MOST_KEY = 300

/** What a cause has of one check. */
export interface CheckShare {
  findings: number
  /** The message of the first finding. */
  readonly message: string
  /** Whether another finding has another message. */
  isVaried: boolean
}

/** Writes the sentence of a cause: true of all of its records. */
type Describe = (findings: number, records: number, checks: ReadonlyMap<Check, CheckShare>) => string

export interface Building {
  readonly key: string
  readonly number: number
  readonly kind: CauseKind
  /** The records of the file, if a fault of its header concerns all of them. */
  readonly concerned: number
  /** Name of the file to fix. */
  readonly file: string
  example: Cause['example']
  /** Whether the example is a record to correct. */
  isInPlace: boolean
  /** The file of its first finding. */
  readonly resource: Resource
  readonly describe: Describe
  readonly general: string | undefined
  readonly columns: number | undefined
  readonly fix: string | undefined
  readonly value: string | undefined
  readonly fieldName: string | undefined
  severity: Severity
  readonly checks: Map<Check, CheckShare>
  findings: number
  records: number
  learners: number
  lastFile: string
  lastRecord: number
}

/** Causes, each with what belongs to it. */
export class CauseList {
  readonly #causes = new Map<string, Building>()
  readonly #students = new DistinctTexts()

  /** The cause with this name; a new one has the finding as its example. */
  make(
    kind: CauseKind,
    name: string,
    finding: SeenFinding,
    describe: Building['describe'],
    more: {
      fix?: string | undefined
      value?: string
      field?: string
      /** The sentence without values of the data; by default, what the clearest of its checks says. */
      general?: string | undefined
      /** The number of columns that have the cause, if they are several. */
      columns?: number | undefined
      /** The file to fix, if it is not that of the finding. */
      file?: string
      /** Whether it is of a file or of several columns, so that it names no field. */
      isOfFile?: boolean
      isAdvised?: boolean
      concerned?: number
    } = {},
  ): Building {
    const known = this.#causes.get(name)
    if (known !== undefined) return known
    const made: Building = {
      key: toKey(name),
      number: this.#causes.size,
      kind,
      concerned: more.concerned ?? 0,
      file: more.file ?? finding.name,
      example: toExample(finding),
      isInPlace: false,
      resource: finding.resource,
      describe,
      general: more.general,
      columns: more.columns,
      fix: more.isAdvised ? undefined : (more.fix ?? describeCheck(finding.resource, finding.check).fix),
      value: more.value,
      fieldName: more.columns === undefined && !more.isOfFile ? (more.field ?? finding.field) : undefined,
      severity: 'Warning',
      checks: new Map(),
      findings: 0,
      records: 0,
      learners: 0,
      lastFile: '',
      lastRecord: -1,
    }
    this.#causes.set(name, made)
    return made
  }

  /** Adds a finding to its cause. */
  add(cause: Building, finding: SeenFinding): void {
    cause.findings++
    const share = getOrMake(cause.checks, finding.check, () => {
      return { findings: 0, message: finding.message, isVaried: false }
    })
    share.findings++
    share.isVaried ||= share.message !== finding.message
    if (finding.check.severity === 'Error') cause.severity = 'Error'
    if (cause.lastFile !== finding.name || cause.lastRecord !== finding.record) {
      cause.records += finding.record === 0 ? 0 : 1
      cause.lastFile = finding.name
      cause.lastRecord = finding.record
    }
    const { studentId } = finding
    if (studentId !== '' && this.#students.add(cause.number, toPlainForm(studentId))) cause.learners++
  }

  /**
   * The causes in the order in which to fix them.
   *
   * @param countOf of all findings of each check; those that are not kept belong to the largest cause of their check
   */
  sort(countOf: (check: Check) => number): Cause[] {
    this.#addUncounted(countOf)
    return [...this.#causes.values()]
      .sort(
        (one, other) =>
          Number(one.severity === 'Warning') - Number(other.severity === 'Warning') ||
          Number(one.kind === 'rule') - Number(other.kind === 'rule') ||
          Number(other.kind === 'file') - Number(one.kind === 'file') ||
          Math.max(other.records, other.concerned) - Math.max(one.records, one.concerned) ||
          other.findings - one.findings ||
          (one.key < other.key ? -1 : 1),
      )
      .map((cause) => toCause(cause))
  }

  #addUncounted(countOf: (check: Check) => number): void {
    const largest = new Map<Check, { cause: Building; count: number; total: number }>()
    for (const cause of this.#causes.values()) {
      for (const [check, { findings: count }] of cause.checks) {
        const known = largest.get(check)
        const total = (known?.total ?? 0) + count
        if (known === undefined || count > known.count) largest.set(check, { cause, count, total })
        else known.total = total
      }
    }
    for (const [check, { cause, total }] of largest) cause.findings += Math.max(0, countOf(check) - total)
  }
}

export function toExample({
  resource,
  name,
  record,
  line,
  field,
  message,
  cell,
}: SeenFinding): Cause['example'] {
  const position = resource.fields.findIndex((each) => each.name === field)
  const value = position === -1 || record === 0 ? '' : cell(position)
  return {
    file: name,
    line,
    ...(field !== undefined && { field }),
    ...(value !== '' && { value: shorten(value) }),
    description: message,
  }
}

/** The checks of a cause, the clearest first: that of most records. */
export function sortChecks(checks: ReadonlyMap<Check, CheckShare>): [Check, CheckShare][] {
  return [...checks].sort(
    ([one, first], [other, second]) => second.findings - first.findings || (one.code < other.code ? -1 : 1),
  )
}

function toCause(cause: Building): Cause {
  const { key, kind, severity, file, example, findings, records, learners, fix, value, fieldName, columns } =
    cause
  const checks = sortChecks(cause.checks).map(([check]) => check)
  const [clearest] = checks
  const rule = clearest && describeCheck(cause.resource, clearest).message
  return {
    key,
    kind,
    severity,
    file,
    ...(fieldName !== undefined && { field: fieldName }),
    ...(value !== undefined && { value: shorten(value) }),
    codes: checks.map(({ code }) => code),
    findings,
    records,
    learners,
    sentence: cause.describe(findings, records, cause.checks),
    general: cause.general ?? summariseMessage(rule ?? ''),
    ...(columns !== undefined && { columns }),
    ...(fix !== undefined && { fix }),
    example,
  }
}

/** A key that can be published with each finding: a long value is shortened, and still distinguished from others. */
function toKey(name: string): string {
  const shown = toShown(name)
  return shown.length > MOST_KEY
    ? cut(shown, MOST_KEY / 2) + hash('sha256', name, 'base64url').slice(0, 22)
    : shown
}
