import { hash } from 'node:crypto'
import { formatNumber } from '../../../foundation/text/format-number.ts'
import { NO_RECORDS } from '../../records/index.ts'
import type { Check, Definition, Field, ForeignKey, Resource, Severity } from '../definition/definition.ts'
import { compilePattern } from '../definition/pattern.ts'
import { stripSql } from '../definition/strip-sql.ts'
import { describeCheck, summariseMessage } from '../explain.ts'
import { Interner, PairTable } from './interner.ts'
import { findNature, type Nature } from './natures.ts'
import { toPlainForm } from './plain-form.ts'
import { listFields } from './record-checks.ts'
import { SharedValues } from './shared-values.ts'
import { cut, showControls } from './shown-text.ts'
import { listPairs, NEEDS_ALL } from './sql-unknown.ts'
import { listUses } from './sql-uses.ts'
import type { Cause, CauseKind } from './summary.ts'

/** A finding, with the record that it is about. */
export interface SeenFinding {
  readonly resource: Resource
  /** Name of the file. */
  readonly name: string
  readonly check: Check
  /** From 1; 0 is the file. */
  readonly record: number
  readonly line: number
  readonly field: string | undefined
  readonly message: string
  readonly studentId: string
  /** The value of a field as the file has it. */
  readonly cell: (field: number) => string
}

/** What the engine knows beside the findings. */
export interface CauseContext {
  readonly definition: Definition
  /** The number of records of a file. */
  readonly recordsOf: (resource: string) => number
  /** Values of some records of a file, spread over all of it. */
  readonly sampleOf: (resource: Resource) => readonly (readonly string[])[]
  /** Finds the keys of a file whose plain forms are among these, by form. */
  readonly findKeys: (
    resource: Resource,
    fields: readonly number[],
    forms: ReadonlySet<string>,
  ) => Map<string, string>
}

/** Values that get a cause of their own: repeated, and the most frequent ones of their field. */
const LEAST_OF_VALUE = 3
const MOST_VALUES = 20
/** The same for the keys of records that do not exist. */
const LEAST_OF_REFERENCE = 10
const MOST_REFERENCES = 50
/** The distinct values that are counted of a field, and of references to a file. */
const COUNTED_VALUES = 2000
const COUNTED_REFERENCES = 50_000
/** The keys by which records that lack another one are found again. */
const MOST_SUSPECTS = 200_000
/** The most characters of a key. */
const MOST_KEY = 300

/** How often the values of a field fail, if nothing typical happened to them. */
interface FieldCount {
  readonly values: Map<string, number>
  frequent: ReadonlySet<string>
}

interface ReferenceCount {
  readonly link: { readonly from: Resource; readonly key: ForeignKey }
  findings: number
  readonly values: Set<string>
}

/** A rule that finds a record because others are absent, and what may have taken their place. */
interface Absence {
  readonly key: ForeignKey
  readonly from: Resource
  /** The fields of the rule's own file and of the other one, beside those of the foreign key. */
  readonly own: readonly number[]
  readonly other: readonly number[]
  /** The fields of the rule's own file that correspond to the foreign key. */
  readonly ownKey: readonly number[]
  readonly suspects: Map<string, string>
}

interface Building {
  readonly key: string
  readonly number: number
  readonly kind: CauseKind
  readonly example: Cause['example']
  readonly describe: (findings: number, records: number) => string
  readonly fix: string | undefined
  readonly value: string | undefined
  readonly fieldName: string | undefined
  severity: Severity
  readonly codes: Map<Check, number>
  findings: number
  records: number
  learners: number
  lastFile: string
  lastRecord: number
}

/**
 * Assigns every finding to exactly one cause: the smallest description of what to fix. Findings are passed three
 * times, in the same order: to count values, to relate the findings of rules to others, and to assign all of them.
 * What is kept is bounded: counts of the most frequent values, not findings.
 */
export class Causes {
  readonly #context: CauseContext
  readonly #fields = new Map<string, FieldCount>()
  readonly #natures = new Map<Field, (value: string) => Nature | undefined>()
  readonly #references = new Map<Check, ReferenceCount>()
  /** References to each file by value. */
  readonly #targets = new Map<string, Map<string, number>>()
  readonly #frequentTargets = new Map<string, ReadonlySet<string>>()
  readonly #alike = new Map<string, Map<string, string>>()
  readonly #absences = new Map<Check, readonly Absence[]>()
  readonly #byKey = new Map<Check, Absence[]>()
  readonly #needs = new Map<Check, readonly number[]>()
  readonly #shared: SharedValues
  readonly #causes = new Map<string, Building>()
  readonly #students = new Interner()
  readonly #studentsOfCauses = new PairTable()
  /** The references of the current record that lead nowhere. */
  #dangling: { check: Check; fields: readonly number[]; value: string }[] = []
  #at = ''

  constructor(context: CauseContext) {
    this.#context = context
    this.#shared = new SharedValues(context.sampleOf)
    for (const resource of context.definition.resources) {
      for (const key of resource.foreignKeys)
        this.#references.set(key.check, { link: { from: resource, key }, findings: 0, values: new Set() })
    }
    for (const resource of context.definition.resources) this.#listAbsences(resource)
  }

  #listAbsences(resource: Resource): void {
    const { definition } = this.#context
    const add = (check: Check, from: Resource, pairs: readonly { own: number; other: number }[]) => {
      const absences = from.foreignKeys.flatMap((key): Absence[] => {
        const keyed = key.fields.map((field) => pairs.find(({ other }) => other === field)?.own)
        if (keyed.includes(undefined)) return []
        const others = pairs.filter(({ other }) => !key.fields.includes(other))
        return [
          {
            key,
            from,
            own: others.map(({ own }) => own),
            other: others.map(({ other }) => other),
            ownKey: keyed.filter((field) => field !== undefined),
            suspects: new Map(),
          },
        ]
      })
      this.#absences.set(check, [...(this.#absences.get(check) ?? []), ...absences])
      for (const each of absences)
        this.#byKey.set(each.key.check, [...(this.#byKey.get(each.key.check) ?? []), each])
    }
    for (const rule of resource.rules) {
      const uses = listUses(definition, rule)
      this.#needs.set(rule.check, uses.find((use) => use.resource === resource)?.fields ?? [])
      const bare = stripSql(rule.sql).toLowerCase()
      if (!NEEDS_ALL.test(bare)) continue
      for (const use of uses) {
        if (use.resource === resource) continue
        const pairs = listPairs(definition, bare, { rule, own: resource, uses }, use)
        add(
          rule.check,
          use.resource,
          pairs.map(({ own, other }) => ({
            own: resource.fields.findIndex(({ column }) => column === own),
            other,
          })),
        )
      }
    }
    for (const each of resource.recordChecks) {
      this.#needs.set(each.check, listFields(each))
      if (each.kind !== 'referenced') continue
      for (const by of each.by) {
        const from = definition.resources.find(({ name }) => name === by.resource)
        if (from !== undefined)
          add(
            each.check,
            from,
            by.fields.map((other, index) => ({ own: each.fields[index] ?? -1, other })),
          )
      }
    }
    for (const key of resource.foreignKeys) {
      for (const match of key.matches) this.#needs.set(match.check, [...key.fields, match.field])
    }
  }

  /** First pass: counts the values of fields and references. */
  count(finding: SeenFinding): void {
    const { resource, check, cell } = finding
    const reference = this.#references.get(check)
    if (reference !== undefined) {
      const value = readKey(cell, reference.link.key.fields)
      reference.findings++
      if (reference.values.size < COUNTED_VALUES) reference.values.add(value)
      const { resource: target } = reference.link.key
      const counts = this.#targets.get(target) ?? new Map<string, number>()
      this.#targets.set(target, counts)
      if (counts.size < COUNTED_REFERENCES || counts.has(value)) increment(counts, value)
      for (const absence of this.#byKey.get(check) ?? []) {
        if (absence.suspects.size >= MOST_SUSPECTS) continue
        const key = absence.other.length === 0 ? toPlainForm(value) : readKey(cell, absence.other)
        if (key !== '') absence.suspects.set(key, value)
      }
      return
    }
    const field = fieldOf(resource, check)
    if (field === undefined || PLAIN_KINDS.has(check.kind)) return
    const value = cell(resource.fields.indexOf(field)).trim()
    if (this.#natureOf(field, value) !== undefined) return
    const name = `${resource.name}.${field.name}`
    const known = this.#fields.get(name) ?? { values: new Map<string, number>(), frequent: new Set() }
    this.#fields.set(name, known)
    if (known.values.size < COUNTED_VALUES || known.values.has(value)) increment(known.values, value)
  }

  /** Between the passes: chooses the values that are causes of their own. */
  choose(): void {
    for (const each of this.#fields.values())
      each.frequent = chooseFrequent(each.values, LEAST_OF_VALUE, MOST_VALUES)
    for (const [target, counts] of this.#targets)
      this.#frequentTargets.set(target, chooseFrequent(counts, LEAST_OF_REFERENCE, MOST_REFERENCES))
    for (const { link, values } of this.#references.values()) {
      if (values.size === 0) continue
      const target = this.#context.definition.resources.find(({ name }) => name === link.key.resource)
      const forms = new Set([...values].map(toPlainForm).filter((form) => form !== ''))
      if (target !== undefined && forms.size > 0)
        this.#alike.set(link.key.check.code, this.#context.findKeys(target, link.key.references, forms))
    }
  }

  /** Second pass: relates the findings of rules. */
  relate(finding: SeenFinding): void {
    this.#move(finding)
    if (!this.#isRule(finding) || this.#findOrigin(finding) !== undefined) return
    this.#shared.add(finding, this.#needs.get(finding.check) ?? [])
  }

  /** Third pass: the key of the cause to which a finding belongs. */
  assign(finding: SeenFinding): string {
    this.#move(finding)
    const cause = this.#find(finding)
    cause.findings++
    increment(cause.codes, finding.check)
    if (finding.check.severity === 'Error') cause.severity = 'Error'
    if (cause.lastFile !== finding.name || cause.lastRecord !== finding.record) {
      cause.records += finding.record === 0 ? 0 : 1
      cause.lastFile = finding.name
      cause.lastRecord = finding.record
    }
    if (finding.studentId !== '') {
      const before = this.#studentsOfCauses.size
      this.#studentsOfCauses.intern(cause.number, this.#students.intern(finding.studentId))
      if (this.#studentsOfCauses.size > before) cause.learners++
    }
    return cause.key
  }

  #move({ name, record, check, cell }: SeenFinding): void {
    const at = `${name}\n${record}`
    if (at !== this.#at) {
      this.#at = at
      this.#dangling = []
    }
    const reference = this.#references.get(check)
    if (reference === undefined) return
    const { fields } = reference.link.key
    this.#dangling.push({ check, fields, value: readKey(cell, fields) })
  }

  #isRule({ check }: SeenFinding): boolean {
    return this.#needs.has(check)
  }

  /** The reference that explains the finding of a rule: of its own record, or of one that it misses. */
  #findOrigin({ check, cell }: SeenFinding): { check: Check; value: string } | undefined {
    const needs = this.#needs.get(check) ?? []
    const own = this.#dangling.find(({ fields }) => fields.some((field) => needs.includes(field)))
    if (own !== undefined) return own
    for (const absence of this.#absences.get(check) ?? []) {
      const key =
        absence.own.length === 0 ? toPlainForm(readKey(cell, absence.ownKey)) : readKey(cell, absence.own)
      const value = absence.suspects.get(key)
      // Only a key that is written differently takes the place of another one.
      if (value !== undefined && this.#findAlike(absence.key.check, value) !== undefined)
        return { check: absence.key.check, value }
    }
    return undefined
  }

  /** The key of another spelling that a reference probably means. */
  #findAlike({ code }: Check, value: string): string | undefined {
    const alike = this.#alike.get(code)?.get(toPlainForm(value))
    return alike === value ? undefined : alike
  }

  #find(finding: SeenFinding): Building {
    const { resource, check, message, field: named, record } = finding
    if (check === resource.fileCheck) {
      // A second sentence, or an option, says what to do with this file.
      const isAdvised = /\. \S.*[.?]$|--file /s.test(message)
      const fix = message.endsWith(' is missing.') ? 'Add the file.' : undefined
      return this.#make('file', `file:${resource.name}`, finding, () => message, { isAdvised, fix })
    }
    if (check === resource.headerCheck) {
      const name = named ?? 'columns'
      return this.#make('column', `column:${resource.name}.${name}:header`, finding, () => message)
    }
    if (check === resource.recordCheck) {
      const fault = message.replace(/\d+(?:,\d{3})*/g, '#')
      const none = NO_RECORDS.get(message)
      const some = none?.some ?? `records, such as the first: ${message}`
      const describe = (findings: number) => (findings === 1 ? message : `${formatNumber(findings)} ${some}`)
      const more = { fix: none?.fix }
      return this.#make('record', `record:${resource.name}:${fault}`, finding, describe, more)
    }
    const reference = this.#references.get(check)
    if (reference !== undefined) {
      const value = readKey(finding.cell, reference.link.key.fields)
      return this.#findReference(finding, check, value)
    }
    const field = fieldOf(resource, check)
    if (field !== undefined) return this.#findField(finding, field)
    if (!this.#isRule(finding) || record === 0)
      return this.#make('record', `record:${resource.name}:${check.code}`, finding, (findings) =>
        findings === 1 ? message : `${formatNumber(findings)} records repeat an earlier one: ${message}`,
      )
    const origin = this.#findOrigin(finding)
    if (origin !== undefined) return this.#findReference(finding, origin.check, origin.value)
    return this.#findRule(finding)
  }

  #findField(finding: SeenFinding, field: Field): Building {
    const { resource, check, cell } = finding
    const { kind } = check
    const place = `${resource.name}.${field.name}`
    const value = cell(resource.fields.indexOf(field)).trim()
    if (kind === 'unique')
      return this.#make('record', `record:${resource.name}:${check.code}`, finding, (findings) =>
        findings === 1
          ? finding.message
          : `${formatNumber(findings)} records repeat an earlier one: ${finding.message}`,
      )
    const phrase = PLAIN_PHRASES[kind]
    if (phrase !== undefined)
      return this.#make(
        'column',
        `column:${place}:${kind}`,
        finding,
        (findings) => `${field.name} ${phrase} in ${this.#share(resource, findings)}.`,
      )
    const nature = this.#natureOf(field, value)
    if (nature !== undefined) {
      const describe = (findings: number) =>
        `${field.name}: ${this.#share(resource, findings, 'value')} ${nature.phrase}.`
      return this.#make('column', `column:${place}:${nature.name}`, finding, describe, { fix: nature.fix })
    }
    const { message } = this.#describe(finding)
    const rule = summariseMessage(message)
      .replace(/^\S+ is …, but /, '')
      .replace(/\.$/, '')
    const sentence = (what: string) =>
      `${what}: ${rule.startsWith(field.name) ? rule : `${field.name} ${rule}`}.`
    if (this.#fields.get(place)?.frequent.has(value) === true)
      return this.#make(
        'value',
        `value:${place}:${value}`,
        finding,
        () => sentence(`${field.name} ${shorten(value)} is wrong`),
        { value },
      )
    return this.#make('column', `column:${place}:${kind}`, finding, (findings) =>
      sentence(`${field.name} is wrong in ${this.#share(resource, findings)}`),
    )
  }

  #findReference(finding: SeenFinding, check: Check, value: string): Building {
    const count = this.#references.get(check)
    if (count === undefined) throw new Error(`${check.code} is not a reference`)
    const { from, key } = count.link
    const names = key.fields.map((field) => from.fields[field]?.name ?? '').join(', ')
    const target = this.#context.definition.resources.find(({ name }) => name === key.resource)
    const file = target?.path ?? key.resource
    const fix = describeCheck(this.#context.definition, from, check).fix
    const alike = this.#findAlike(check, value)
    if (alike !== undefined) {
      const describe = () =>
        `${names} of ${from.path} is written differently from ${file}, such as ${shorten(value)} instead of ${shorten(alike)}.`
      return this.#make('column', `column:${from.name}.${names}:alike`, finding, describe, {
        fix: `Write ${names} exactly as in ${file}: ${shorten(alike)}, not ${shorten(value)}.`,
        field: names,
      })
    }
    const records = this.#context.recordsOf(from.name)
    if (count.values.size > MOST_VALUES && count.findings >= records * 0.8) {
      const describe = () => `${names} of ${from.path}: nearly no value is in ${file}.`
      return this.#make('column', `column:${from.name}.${names}:reference`, finding, describe, {
        fix,
        field: names,
      })
    }
    if (this.#frequentTargets.get(key.resource)?.has(value) === true) {
      const describe = () => `${names} ${shorten(value)} is not in ${file}.`
      return this.#make('reference', `reference:${key.resource}:${value}`, finding, describe, {
        fix,
        value,
        field: names,
      })
    }
    const describe = () => `Some values of ${names} are not in ${file}, such as ${shorten(value)}.`
    return this.#make('reference', `reference:${key.resource}`, finding, describe, { fix, field: names })
  }

  #findRule(finding: SeenFinding): Building {
    const { resource, check, message } = finding
    const shared = this.#shared.find(finding)
    if (shared === undefined) {
      const code = this.#shared.leaderOf(check)
      return this.#make('rule', `rule:${code}`, finding, () => message)
    }
    const { field, value } = shared
    const describe = () => `In records with ${field} ${shorten(value)}: ${message}`
    return this.#make('rule', `rule:${resource.name}.${field}:${value}`, finding, describe, { value, field })
  }

  #make(
    kind: CauseKind,
    name: string,
    finding: SeenFinding,
    describe: Building['describe'],
    more: { fix?: string | undefined; value?: string; field?: string; isAdvised?: boolean } = {},
  ): Building {
    const known = this.#causes.get(name)
    if (known !== undefined) return known
    const made: Building = {
      key: toKey(name),
      number: this.#causes.size,
      kind,
      example: toExample(finding),
      describe,
      fix: more.isAdvised ? undefined : (more.fix ?? this.#describe(finding).fix),
      value: more.value,
      fieldName: more.field ?? finding.field,
      severity: 'Warning',
      codes: new Map(),
      findings: 0,
      records: 0,
      learners: 0,
      lastFile: '',
      lastRecord: -1,
    }
    this.#causes.set(name, made)
    return made
  }

  #describe({ resource, check }: SeenFinding): ReturnType<typeof describeCheck> {
    return describeCheck(this.#context.definition, resource, check)
  }

  /** `all 1,500 records`, or `207 of 1,500 records`. */
  #share({ name }: Resource, findings: number, noun = 'record'): string {
    const all = this.#context.recordsOf(name)
    const nouns = `${noun}${all === 1 ? '' : 's'}`
    if (findings === all) return all === 1 ? `the only ${noun}` : `all ${formatNumber(all)} ${nouns}`
    return `${formatNumber(findings)} of ${formatNumber(all)} ${nouns}`
  }

  #natureOf(field: Field, value: string): Nature | undefined {
    let find = this.#natures.get(field)
    if (find === undefined) {
      find = compileNature(field)
      this.#natures.set(field, find)
    }
    return find(value)
  }

  /**
   * The causes in the order in which to fix them.
   *
   * @param counts of all findings of each check; those that are not kept belong to the largest cause of their check
   */
  list(countOf: (check: Check) => number): Cause[] {
    this.#addUncounted(countOf)
    return [...this.#causes.values()]
      .sort(
        (one, other) =>
          Number(one.severity === 'Warning') - Number(other.severity === 'Warning') ||
          Number(one.kind === 'rule') - Number(other.kind === 'rule') ||
          Number(other.kind === 'file') - Number(one.kind === 'file') ||
          other.records - one.records ||
          other.findings - one.findings ||
          (one.key < other.key ? -1 : 1),
      )
      .map((cause) => toCause(cause))
  }

  #addUncounted(countOf: (check: Check) => number): void {
    const largest = new Map<Check, { cause: Building; count: number; total: number }>()
    for (const cause of this.#causes.values()) {
      for (const [check, count] of cause.codes) {
        const known = largest.get(check)
        const total = (known?.total ?? 0) + count
        if (known === undefined || count > known.count) largest.set(check, { cause, count, total })
        else known.total = total
      }
    }
    for (const [check, { cause, total }] of largest) cause.findings += Math.max(0, countOf(check) - total)
  }
}

/** The kinds of checks whose values say nothing about what is wrong. */
const PLAIN_PHRASES: Readonly<Record<string, string>> = {
  required: 'is empty',
  empty: 'has a value where it must be empty',
  spaces: 'has spaces at its ends',
}
const PLAIN_KINDS = new Set([...Object.keys(PLAIN_PHRASES), 'unique'])

function toExample({ resource, name, record, line, field, message, cell }: SeenFinding): Cause['example'] {
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

function toCause(cause: Building): Cause {
  const { key, kind, severity, example, findings, records, learners, fix, value, fieldName } = cause
  return {
    key,
    kind,
    severity,
    file: example.file,
    ...(fieldName !== undefined && { field: fieldName }),
    ...(value !== undefined && { value: shorten(value) }),
    codes: [...cause.codes.keys()].map(({ code }) => code).sort(),
    findings,
    records,
    learners,
    sentence: cause.describe(findings, records),
    ...(fix !== undefined && { fix }),
    example,
  }
}

/** A key that can be published with each finding: a long value is shortened, and still distinguished from others. */
function toKey(name: string): string {
  const shown = showControls(name)
  return shown.length > MOST_KEY
    ? cut(shown, MOST_KEY / 2) + hash('sha256', name, 'base64url').slice(0, 22)
    : shown
}

function compileNature(field: Field): (value: string) => Nature | undefined {
  const { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = field.limits
  const form = pattern === undefined ? undefined : compilePattern(pattern)
  const matches = (value: string) =>
    value.length >= minLength && value.length <= maxLength && (form === undefined || form.test(value))
  return (value) => findNature(field, value, matches)
}

function fieldOf({ fields }: Resource, check: Check): Field | undefined {
  return fields.find(({ checks }) => checks[check.kind] === check)
}

function readKey(cell: (field: number) => string, fields: readonly number[]): string {
  const parts = fields.map((field) => cell(field).trim())
  return parts.includes('') ? '' : parts.join(' ')
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function chooseFrequent(counts: ReadonlyMap<string, number>, least: number, most: number): Set<string> {
  const frequent = [...counts].filter(([, count]) => count >= least)
  frequent.sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))
  return new Set(frequent.slice(0, most).map(([value]) => value))
}

function shorten(value: string): string {
  return value.length > 60 ? `${value.slice(0, 60).toWellFormed()}…` : value
}
