import { getOrMake } from '../../../foundation/get-or-make.ts'
import { increment } from '../../../foundation/increment.ts'
import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import { quote } from '../../../foundation/text/quote.ts'
import { kindOf, type RecordFault } from '../../records/index.ts'
import type { Check, Definition, Field, Resource } from '../definition/definition.ts'
import { FIELD_KINDS } from '../definition/field-kinds.ts'
import { AlikeColumns } from './alike-columns.ts'
import { type Building, CauseList, type CheckShare, sortChecks, toExample } from './cause-list.ts'
import { type CheckUses, fieldsOf } from './check-uses.ts'
import { DateEvidence } from './column-forms.ts'
import { DisplacedRecords, describeDisplaced } from './displaced-records.ts'
import { describeCheck, summariseMessage } from './explain.ts'
import type { FileFault } from './file-fault.ts'
import type { FileOf } from './file-state.ts'
import { KeyEvidence, type Misspelling, readKey } from './key-evidence.ts'
import { FieldNatures, TURNED } from './natures.ts'
import { findOtherYear } from './other-year.ts'
import type { SeenFinding } from './seen-finding.ts'
import { SharedValues } from './shared-values.ts'
import type { Use } from './sql-uses.ts'
import type { Cause, CauseKind } from './summary.ts'
import { findSwapped, findSwappedKeys } from './swapped-columns.ts'

/** Values that get a cause of their own: repeated, and a large part of what less frequent ones leave. */
const LEAST_OF_VALUE = 3
const SHARE_OF_VALUE = 0.2
/** The distinct values that are counted of a field. */
const COUNTED_VALUES = 2000
/** The part of a column's values that fail a check if all of them have one cause. */
const SHARE_OF_COLUMN = 0.9

/** What is wrong with a file, or with one or two of its columns, and explains what all checks find that read them. */
interface Suspect {
  readonly resource: Resource
  readonly key: string
  readonly kind: CauseKind
  /** Columns that are swapped. */
  readonly swapped: readonly number[]
  readonly concerns: (uses: readonly Use[]) => boolean
  readonly sentence: string
  /** The same without values of the data. */
  readonly general: string
  readonly fix: string
}

/** How often the values of a field fail a check, if nothing typical happened to them. */
interface FieldCount {
  readonly resource: Resource
  readonly field: Field
  findings: number
  /** The last record that fails. */
  last: number
  readonly values: Map<string, number>
  frequent: ReadonlySet<string>
}

/**
 * Assigns every finding to exactly one cause: the smallest description of what to fix. Findings are passed three
 * times, in the same order: to count values, to relate the findings of rules to others, and to assign all of them.
 * What is kept is bounded: counts of the most frequent values, not findings.
 */
export class Causes {
  readonly #definition: Definition
  readonly #uses: CheckUses
  /** That of the return, if it has one. */
  readonly #returnYear: number | null
  readonly #fileOf: FileOf
  readonly #fields = new Map<Check, FieldCount>()
  readonly #natures = new Map<Field, FieldNatures>()
  readonly #shared: SharedValues
  readonly #keys: KeyEvidence
  readonly #alike: AlikeColumns
  readonly #displaced: DisplacedRecords
  readonly #related = new Set<Resource>()
  readonly #suspects: Suspect[] = []
  readonly #suspected = new Map<Check, Suspect | undefined>()
  readonly #list: CauseList

  constructor(definition: Definition, uses: CheckUses, returnYear: number | null, fileOf: FileOf) {
    this.#definition = definition
    this.#uses = uses
    this.#returnYear = returnYear
    this.#fileOf = fileOf
    this.#shared = new SharedValues(fileOf)
    this.#keys = new KeyEvidence(definition, uses, fileOf)
    this.#alike = new AlikeColumns((field) => this.#naturesOf(field))
    this.#displaced = new DisplacedRecords(fileOf)
    this.#list = new CauseList()
  }

  /** First pass: counts the values of fields and references. */
  count(finding: SeenFinding): void {
    const { resource, check, cell } = finding
    this.#keys.add(finding)
    for (const use of this.#uses.get(check) ?? []) this.#related.add(use.resource)
    const field = fieldOf(resource, check)
    if (field === undefined || findLoneValue(finding) !== undefined) return
    const { state } = FIELD_KINDS[check.kind] ?? {}
    if (state?.many !== undefined) this.#alike.add(finding, field, check.kind)
    if (state !== undefined || check.kind === 'unique') return
    const value = cell(resource.fields.indexOf(field)).trim()
    const natures = this.#naturesOf(field)
    natures.add(value)
    const known = getOrMake(this.#fields, check, () => {
      return { resource, field, findings: 0, last: 0, values: new Map(), frequent: new Set<string>() }
    })
    known.findings++
    known.last = finding.record
    const nature = natures.find(check.kind, value)
    if (nature !== undefined) {
      this.#alike.add(finding, field, nature.name, value)
      return
    }
    this.#displaced.add(finding, field)
    if (known.values.size < COUNTED_VALUES || known.values.has(value)) increment(known.values, value)
  }

  /** Between the passes: chooses the values that are causes of their own, and the columns that are one together. */
  choose(): void {
    const failing = new Set<Resource>()
    for (const [check, each] of this.#fields) {
      if (!this.#failsAsColumn(check, each)) each.frequent = chooseDominant(each.values)
      failing.add(each.resource)
    }
    const { resources } = this.#definition
    for (const resource of resources) this.#alike.choose(resource)
    // The first of these that concerns a check has its findings: no value of a swapped column can be judged.
    this.#suspectSwapped(resources.filter((resource) => failing.has(resource)))
    for (const { resource, field } of this.#fields.values())
      if (this.#naturesOf(field).mayBeTurned) this.#judgeDates(resource, field)
    this.#suspectYears()
    this.#keys.search()
  }

  /** Finds columns of which each has the values of the other. */
  #suspectSwapped(failing: readonly Resource[]): void {
    const natures = (field: Field) => this.#naturesOf(field)
    const swapped = failing.flatMap((resource) => findSwapped(this.#fileOf(resource.name), natures))
    const keys = findSwappedKeys(this.#keys.listFailing(), this.#fileOf, natures)
    for (const { resource, fields } of [...swapped, ...keys]) {
      const [one, other] = fields.map((field) => resource.fields[field]?.name ?? '')
      const sentence = `${one} and ${other} are swapped: the values of each fit the other.`
      this.#suspects.push({
        resource,
        key: `column:${resource.name}:${one}:swapped`,
        kind: 'column',
        swapped: fields,
        concerns: (uses) => fieldsOf(uses, resource).some((field) => fields.includes(field)),
        sentence,
        general: sentence,
        fix: 'Swap the two names in the header.',
      })
    }
  }

  /** Finds files whose dates are nearly all in another year than that of the return. */
  #suspectYears(): void {
    for (const resource of this.#definition.resources) {
      if (!this.#related.has(resource)) continue
      const found = findOtherYear(this.#fileOf(resource.name), this.#returnYear)
      if (found === undefined) continue
      const { year, fields, count: number, dates } = found
      const [name = ''] = fields.map((field) => resource.fields[field]?.name ?? '')
      const those =
        number === dates ? `all ${formatNumber(dates)}` : `${formatNumber(number)} of ${formatNumber(dates)}`
      const file = this.#fileOf(resource.name).name
      this.#suspects.push({
        resource,
        key: `file:${resource.name}:year`,
        kind: 'file',
        swapped: [],
        concerns: (uses) => {
          const own = fieldsOf(uses, resource)
          return own.some((field) => fields.includes(field)) || (own.length > 0 && uses.length > 1)
        },
        sentence: `${file} is of ${year}: ${those} values of ${name} are in that year, and the return is of ${this.#returnYear}.`,
        general: 'The year of the file is not that of the return.',
        fix: `Export the file again for ${this.#returnYear}, or check it with the return of ${year}.`,
      })
    }
  }

  /** What is wrong with a file that a check reads. */
  #suspectOf(check: Check): Suspect | undefined {
    return getOrMake(this.#suspected, check, () => {
      const uses = this.#uses.get(check) ?? []
      return this.#suspects.find(({ concerns }) => concerns(uses))
    })
  }

  /**
   * Where no date in the right form has a day behind the 12th, the others say what happened: no check can tell which of
   * the dates are right.
   */
  #judgeDates(resource: Resource, field: Field): void {
    const at = resource.fields.indexOf(field)
    const file = this.#fileOf(resource.name)
    const some = new DateEvidence()
    for (const row of file.sample) some.add((row[at] ?? '').trim())
    // Usually, a few records show it, and the file is not read again.
    if (!some.mayBeTurned) return
    const dates = new DateEvidence()
    file.scan((cell) => dates.add(cell(at).trim()))
    if (!dates.isTurned) return
    this.#naturesOf(field).isTurned = true
    const { name, many, fix } = TURNED
    this.#suspects.push({
      resource,
      key: `column:${resource.name}.${field.name}:${name}`,
      kind: 'column',
      swapped: [],
      concerns: (uses) => fieldsOf(uses, resource).includes(at),
      sentence: `${field.name}: ${formatNumber(dates.late)} of ${formatNumber(dates.late + dates.iso)} values ${many}.`,
      general: `${field.name} has dates whose day and month a spreadsheet has turned around.`,
      fix,
    })
  }

  /** Whether nearly all values of a column fail a check, by a sample, which also shows how the column is written. */
  #failsAsColumn({ kind }: Check, { resource, field, findings, last }: FieldCount): boolean {
    const at = resource.fields.indexOf(field)
    const natures = this.#naturesOf(field)
    const { sample } = this.#fileOf(resource.name)
    const values = sample
      .map((row) => (row[at] ?? '').trim())
      .filter((value) => value !== '' && !field.missingValues.includes(value))
    for (const value of values) natures.add(value)
    const failed = values.filter((value) => !natures.passes(kind, value)).length
    // The records of the sample are at equal distances, and so may be those that fail.
    const least = (last * values.length) / sample.length / 2
    return failed > 0 && failed >= values.length * SHARE_OF_COLUMN && findings >= least
  }

  /** Second pass: relates the findings of rules. */
  relate(finding: SeenFinding): void {
    this.#keys.move(finding)
    if (this.#suspectOf(finding.check) !== undefined) return
    const needs = this.#keys.needsOf(finding.check)
    if (needs === undefined || this.#displaced.has(finding) || this.#keys.findOrigin(finding) !== undefined)
      return
    if (this.#keys.findEmpty(finding) !== undefined || this.#keys.findMisspelling(finding) !== undefined)
      return
    this.#shared.add(finding, needs)
  }

  /** Third pass: the key of the cause to which a finding belongs. */
  assign(finding: SeenFinding): string {
    this.#keys.move(finding)
    const cause = this.#find(finding)
    const suspect = this.#suspectOf(finding.check)
    const { studentId = -1 } = finding.resource.record
    // A swapped column does not say which learners there are.
    const isOther = suspect?.resource === finding.resource && suspect.swapped.includes(studentId)
    this.#list.add(cause, isOther ? { ...finding, studentId: '' } : finding)
    return cause.key
  }

  #find(finding: SeenFinding): Building {
    const { resource, check, message, record } = finding
    const { group = '' } = (finding.fault ?? {}) as FileFault
    if (check === resource.fileCheck) {
      const key = `file:${resource.name}${group === '' ? '' : `:${group}`}`
      return this.#list.make('file', key, finding, () => message, adviceOf(finding))
    }
    if (check === resource.headerCheck) {
      const key = `column:${resource.name}:${group}:header`
      const concerned = this.#fileOf(resource.name).count
      const several = this.#fileOf(resource.name).open?.columns.groups.get(group)
      const describe = () => several?.message ?? message
      const advice = several === undefined ? adviceOf(finding) : { fix: several.fix }
      return this.#list.make('column', key, finding, describe, { ...advice, concerned })
    }
    if (check === resource.recordCheck) {
      const { code = '' } = (finding.fault ?? {}) as Partial<RecordFault>
      const { some, fix } = kindOf({ code, message })
      const describe = (findings: number) => (findings === 1 ? message : `${formatNumber(findings)} ${some}`)
      const general = `Some ${some}`
      return this.#list.make('record', `record:${resource.name}:${code}`, finding, describe, { fix, general })
    }
    if (this.#displaced.has(finding)) {
      const describe = (_: number, records: number) => describeDisplaced(records)
      return this.#list.make('record', `record:${resource.name}:displaced`, finding, describe, {
        general: 'Some records have wrong values in several columns, as if their cells had moved.',
        fix: 'Put the cells of such a row back into their columns, or delete a row of another file.',
      })
    }
    const suspect = this.#suspectOf(check)
    if (suspect !== undefined) {
      const { kind, key, sentence, general, fix } = suspect
      const file = this.#fileOf(suspect.resource.name).name
      return this.#list.make(kind, key, finding, () => sentence, { fix, general, file, isOfFile: true })
    }
    const link = this.#keys.linkOf(check)
    if (link !== undefined) return this.#findReference(finding, check, readKey(finding.cell, link.own))
    const field = fieldOf(resource, check)
    if (field !== undefined) return this.#findField(finding, field)
    if (this.#keys.needsOf(check) === undefined || record === 0) return this.#makeRepeat(finding)
    const origin = this.#keys.findOrigin(finding)
    if (origin !== undefined) return this.#findReference(finding, origin.check, origin.value)
    const empty = this.#keys.findEmpty(finding)
    if (empty !== undefined) return this.#makeEmpty(finding, empty)
    const misspelling = this.#keys.findMisspelling(finding)
    if (misspelling !== undefined) return this.#makeAlike(finding, misspelling)
    return this.#findRule(finding)
  }

  #findField(finding: SeenFinding, field: Field): Building {
    const { resource, check, cell } = finding
    const { kind } = check
    const lone = findLoneValue(finding)
    if (lone !== undefined) {
      const key = `record:${resource.name}:lone`
      const describe = (_: number, records: number) =>
        records === 1
          ? `A row has one value only, ${quote(lone)}.`
          : `${formatNumber(records)} rows have one value only, such as ${quote(lone)}.`
      return this.#list.make('record', key, finding, describe, {
        general: 'Some rows have one value only.',
        fix: 'Delete the row if it is a note; otherwise fill in its other columns.',
      })
    }
    const place = `${resource.name}.${field.name}`
    const value = cell(resource.fields.indexOf(field)).trim()
    if (kind === 'unique') return this.#makeRepeat(finding)
    const { state } = FIELD_KINDS[kind] ?? {}
    const nature = state === undefined ? this.#naturesOf(field).find(kind, value) : undefined
    const name = state === undefined ? nature?.name : kind
    const alike = name === undefined ? undefined : this.#alike.find(field, name)
    const key = alike?.key ?? `column:${place}:${name}`
    const columns = alike?.columns
    if (state !== undefined) {
      const general = alike && `Several columns ${state.many} in some records.`
      const describe = (findings: number, records: number) =>
        alike === undefined
          ? `${field.name} ${state.one} in ${this.#share(resource, findings)}.`
          : `${alike.names} ${state.many} in ${this.#share(resource, records)}.`
      return this.#list.make('column', key, finding, describe, { general, columns })
    }
    if (nature !== undefined) {
      const { one, many, fix } = nature
      const general = `${alike === undefined ? `${field.name} has` : 'Several columns have'} values that ${many}.`
      const describe = (findings: number) =>
        alike === undefined
          ? `${field.name}: ${this.#share(resource, findings, field)} ${findings === 1 ? one : many}.`
          : `${alike.names}: ${formatNumber(findings)} values ${many}.`
      return this.#list.make('column', key, finding, describe, { fix, general, columns })
    }
    const { message } = describeCheck(resource, check)
    const rule = summariseMessage(message)
      .replace(/^\S+ is …, but /, '')
      .replace(/\.$/, '')
    const sentence = (what: string) =>
      `${what}: ${rule.startsWith(field.name) ? rule : `${field.name} ${rule}`}.`
    if (this.#fields.get(check)?.frequent.has(value) === true)
      return this.#list.make(
        'value',
        `value:${place}:${value}`,
        finding,
        () => sentence(`${field.name} ${quote(value)} is wrong`),
        { value },
      )
    return this.#list.make('column', `column:${place}:${kind}`, finding, (findings) =>
      sentence(`${field.name} is wrong in ${this.#share(resource, findings)}`),
    )
  }

  #findReference(finding: SeenFinding, check: Check, value: string): Building {
    const link = this.#keys.linkOf(check)
    if (link === undefined) throw new Error(`${check.code} is not a reference`)
    const { of: from, to, own } = link
    const names = own.map((field) => from.fields[field]?.name ?? '').join(', ')
    const file = to.path
    const fix = describeCheck(from, check).fix
    if (this.#fileOf(to.name).count === 0) return this.#makeEmpty(finding, to)
    const alike = this.#keys.findAlike(check, value)
    if (alike !== undefined) return this.#makeAlike(finding, { from, like: to, names, value, alike })
    if (this.#keys.failsAsColumn(check)) {
      const general = `${names} of ${from.path}: nearly no value is in ${file}.`
      const key = `column:${from.name}.${names}:reference`
      return this.#list.make('column', key, finding, () => general, { fix, general, field: names })
    }
    const general = `Some values of ${names} are not in ${file}.`
    if (this.#keys.isFrequent(to.name, value)) {
      const describe = () => `${names} ${quote(value)} is not in ${file}.`
      return this.#list.make('reference', `reference:${to.name}:${value}`, finding, describe, {
        fix,
        general,
        value,
        field: names,
      })
    }
    const describe = (_: number, records: number) =>
      records === 1
        ? `${names} ${quote(value)} is not in ${file}.`
        : `Some values of ${names} are not in ${file}, such as ${quote(value)}.`
    const more = { fix, general, field: names }
    return this.#list.make('reference', `reference:${to.name}`, finding, describe, more)
  }

  #makeRepeat(finding: SeenFinding): Building {
    const { resource, check, message } = finding
    return this.#list.make('record', `record:${resource.name}:${check.code}`, finding, (findings) =>
      findings === 1
        ? message
        : `${formatNumber(findings)} records repeat an earlier one. The first of them: ${message}`,
    )
  }

  #makeEmpty(finding: SeenFinding, resource: Resource): Building {
    const { name, path } = resource
    const general = `${path} has no records, but other files need them.`
    return this.#list.make('file', `file:${name}:empty`, finding, () => general, {
      general,
      fix: `Export ${path} again with its records.`,
      file: this.#fileOf(name).name,
      isOfFile: true,
    })
  }

  #makeAlike(finding: SeenFinding, { from, like, names, value, alike }: Misspelling): Building {
    const file = like.path
    const describe = () =>
      `${names} of ${from.path} is written differently from ${file}, such as ${quote(value)} instead of ${quote(alike)}.`
    const shown = { ...finding, field: names }
    const cause = this.#list.make('column', `column:${from.name}.${names}:alike`, shown, describe, {
      general: `${names} of ${from.path} is written differently from ${file}.`,
      fix: `Write ${names} exactly as in ${file}: ${quote(alike)}, not ${quote(value)}.`,
      file: this.#fileOf(from.name).name,
    })
    // The record to correct, even if one that misses it comes first.
    if (!cause.isInPlace && finding.resource === from) {
      cause.isInPlace = true
      cause.example = toExample(shown)
    }
    return cause
  }

  #findRule(finding: SeenFinding): Building {
    const { resource, check } = finding
    const shared = this.#shared.find(finding)
    if (shared === undefined) {
      const code = this.#shared.leaderOf(check)
      const describe: Building['describe'] = (_findings, _records, checks) => describeRules(resource, checks)
      return this.#list.make('rule', `rule:${code}`, finding, describe)
    }
    const { field, value } = shared
    const describe: Building['describe'] = (_findings, _records, checks) =>
      `In records with ${field} ${quote(value)}: ${describeRules(resource, checks)}`
    return this.#list.make('rule', `rule:${resource.name}.${field}:${value}`, finding, describe, {
      value,
      field,
    })
  }

  /**
   * The causes in the order in which to fix them.
   *
   * @param countOf of all findings of each check; those that are not kept belong to the largest cause of their check
   */
  list(countOf: (check: Check) => number): Cause[] {
    return this.#list.sort(countOf)
  }

  /** `all 1,500 records`, or `207 of 1,500 records`; of a field, values. */
  #share(resource: Resource, findings: number, field?: Field): string {
    const noun = field === undefined ? 'record' : 'value'
    const all =
      field === undefined
        ? this.#fileOf(resource.name).count
        : this.#fileOf(resource.name).countValues(resource.fields.indexOf(field))
    const nouns = `${noun}${all === 1 ? '' : 's'}`
    if (findings === all) return all === 1 ? `the only ${noun}` : `all ${formatNumber(all)} ${nouns}`
    return `${formatNumber(findings)} of ${formatNumber(all)} ${nouns}`
  }

  #naturesOf(field: Field): FieldNatures {
    return getOrMake(this.#natures, field, () => new FieldNatures(field))
  }
}

/** What to do about a fault of a file or its header; its message may say it. */
function adviceOf({ fault = { message: '' } }: SeenFinding): { fix?: string; isAdvised: boolean } {
  const { fix } = fault as FileFault
  return { ...(fix !== undefined && { fix }), isAdvised: fix === undefined }
}

/** The rules of a cause that its sentence says, the clearest first. */
const SAID_RULES = 3

/** What rules say, as sentences that are true of all of their records. */
function describeRules(resource: Resource, checks: ReadonlyMap<Check, CheckShare>): string {
  const sorted = sortChecks(checks)
  const said = sorted.slice(0, SAID_RULES).map(([check, share]) => {
    if (!share.isVaried) return share.message
    return check.many === undefined
      ? `${count(share.findings, 'record')}: ${summariseMessage(describeCheck(resource, check).message)}`
      : `${formatNumber(share.findings)} ${check.many}`
  })
  const rest = sorted.length - said.length
  return [...said, ...(rest > 0 ? [`${count(rest, 'more rule')} found the same records.`] : [])].join(' ')
}

/** The only value of a record of several columns that lacks others: a note below the records has no other. */
function findLoneValue({ resource, cell }: SeenFinding): string | undefined {
  if (resource.fields.length < LEAST_COLUMNS) return undefined
  let lone: string | undefined
  let isIncomplete = false
  for (const [index, { required }] of resource.fields.entries()) {
    const value = cell(index).trim()
    if (value === '') {
      isIncomplete ||= required
      continue
    }
    if (lone !== undefined) return undefined
    lone = value
  }
  return isIncomplete ? lone : undefined
}

/** With fewer columns, a record with one value is no note. */
const LEAST_COLUMNS = 4

function fieldOf({ fields }: Resource, check: Check): Field | undefined {
  return fields.find(({ checks }) => checks[check.kind] === check)
}

/** The most frequent values, as long as each is a large part of what those before it leave. */
function chooseDominant(counts: ReadonlyMap<string, number>): Set<string> {
  const sorted = [...counts].sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))
  let rest = sorted.reduce((sum, [, count]) => sum + count, 0)
  const dominant = new Set<string>()
  for (const [value, count] of sorted) {
    if (count < LEAST_OF_VALUE || count < rest * SHARE_OF_VALUE) break
    dominant.add(value)
    rest -= count
  }
  return dominant
}
