import { getOrMake } from '../../../foundation/get-or-make.ts'
import { increment } from '../../../foundation/increment.ts'
import type { Check, Definition, Resource } from '../definition/definition.ts'
import { type CheckUses, fieldsOf } from './check-uses.ts'
import type { FileOf } from './file-state.ts'
import { toForm } from './keys.ts'
import type { SeenFinding } from './seen-finding.ts'

/** Keys of records that do not exist and get a cause of their own. */
const LEAST_OF_REFERENCE = 10
const MOST_REFERENCES = 50
/** With more values that are not in another file, most of a column is one cause. */
const MOST_LISTED = 20
/** The part of a file's records whose references lead nowhere if most of the column is one cause. */
const SHARE_OF_RECORDS = 0.8
/** The distinct references to a file that are counted. */
const COUNTED_REFERENCES = 50_000
/** The keys by which records that lack another one are found again. */
const MOST_SUSPECTS = 200_000

/** A field, and the field of another file in which its values should be. */
export interface KeyPair {
  readonly from: Resource
  readonly field: number
  readonly to: Resource
  readonly reference: number
}

/** What looks for records of another file with the same values in some fields: a reference, or a rule. */
interface Link {
  /** The file that has it, and the other one. */
  readonly of: Resource
  readonly to: Resource
  /** The fields of both. */
  readonly own: readonly number[]
  readonly other: readonly number[]
  findings: number
  /** The forms of the keys that are not found, and the parts of those that the other file has in such a form. */
  readonly forms: Set<string>
  readonly found: Map<string, readonly string[]>
}

interface Reference extends Link {
  /** The form of each value. */
  readonly values: Map<string, string>
}

/** Values of a file that differ only in form from those of another one. */
export interface Misspelling {
  readonly from: Resource
  readonly like: Resource
  /** The names of the fields. */
  readonly names: string
  readonly value: string
  readonly alike: string
}

/**
 * What references that lead nowhere, and records that rules miss, say together: keys that differ only in form, and files
 * without records. Findings are passed twice: to collect keys, and to explain each finding.
 */
export class KeyEvidence {
  readonly #definition: Definition
  readonly #fileOf: FileOf
  readonly #references = new Map<Check, Reference>()
  /** References to each file by value. */
  readonly #targets = new Map<string, Map<string, number>>()
  readonly #frequentTargets = new Map<string, ReadonlySet<string>>()
  readonly #relations = new Map<Check, Link[]>()
  readonly #needs = new Map<Check, readonly number[]>()
  /** The references of the current record that lead nowhere. */
  #dangling: { check: Check; fields: readonly number[]; value: string }[] = []
  #at = ''

  constructor(definition: Definition, uses: CheckUses, fileOf: FileOf) {
    this.#definition = definition
    this.#fileOf = fileOf
    for (const resource of definition.resources) {
      for (const { check, resource: name, fields, references } of resource.foreignKeys) {
        const link = this.#link(resource, name, fields, references)
        this.#references.set(check, { ...link, values: new Map() })
      }
      this.#listRelations(resource, uses)
    }
  }

  #link(of: Resource, to: string, own: readonly number[], other: readonly number[]): Link {
    const { resource } = this.#fileOf(to)
    return { of, to: resource, own, other, findings: 0, forms: new Set(), found: new Map() }
  }

  #listRelations(resource: Resource, uses: CheckUses): void {
    const { rules, recordChecks, foreignKeys } = resource
    const add = (check: Check, name: string, own: readonly number[], other: readonly number[]) => {
      const links = getOrMake(this.#relations, check, () => [])
      links.push(this.#link(resource, name, own, other))
    }
    for (const { check, relates } of rules) {
      for (const { resource: name, pairs } of relates) {
        if (name === resource.name) continue
        const [own, other] = [pairs.map((pair) => pair.own), pairs.map((pair) => pair.other)]
        add(check, name, own, other)
      }
    }
    for (const each of recordChecks)
      if (each.kind === 'referenced')
        for (const by of each.by) add(each.check, by.resource, each.fields, by.fields)
    const needy = [...rules, ...recordChecks, ...foreignKeys.flatMap(({ matches }) => matches)]
    for (const { check } of needy) this.#needs.set(check, fieldsOf(uses.get(check), resource))
  }

  /** Collects the key of a reference, or of a record that a rule takes for missing. */
  add({ check, cell }: SeenFinding): void {
    for (const link of this.#relations.get(check) ?? []) {
      link.findings++
      if (link.forms.size < MOST_SUSPECTS) link.forms.add(toForm(readParts(cell, link.own)))
    }
    const reference = this.#references.get(check)
    if (reference === undefined) return
    const { own, to, values, forms } = reference
    const value = readKey(cell, own)
    reference.findings++
    if (values.size < COUNTED_REFERENCES && !values.has(value)) {
      const form = toForm(readParts(cell, own))
      values.set(value, form)
      forms.add(form)
    }
    const counts = getOrMake(this.#targets, to.name, () => new Map())
    if (counts.size < COUNTED_REFERENCES || counts.has(value)) increment(counts, value)
  }

  /** Between the passes: looks for the keys in the files that should have them. */
  search(): void {
    for (const [target, counts] of this.#targets)
      this.#frequentTargets.set(target, chooseFrequent(counts, LEAST_OF_REFERENCE, MOST_REFERENCES))
    for (const [to, links] of Map.groupBy(this.#links(), (link) => link.to)) {
      for (const { forms } of links) forms.delete('')
      const wanted = links.filter(({ forms }) => forms.size > 0)
      if (wanted.length === 0) continue
      this.#fileOf(to.name).scan((cell) => {
        for (const { other, forms, found } of wanted) {
          const key = readParts(cell, other)
          const form = toForm(key)
          if (forms.has(form)) found.set(form, key)
        }
      })
    }
  }

  #links(): Link[] {
    return [...this.#references.values(), ...[...this.#relations.values()].flat()]
  }

  /** Called with each finding of the later passes, in the order of the records. */
  move({ name, record, check, cell }: SeenFinding): void {
    const at = `${name}\n${record}`
    if (at !== this.#at) {
      this.#at = at
      this.#dangling = []
    }
    const reference = this.#references.get(check)
    if (reference === undefined) return
    this.#dangling.push({ check, fields: reference.own, value: readKey(cell, reference.own) })
  }

  /** The fields that a rule needs of the record that it finds; `undefined` for other checks. */
  needsOf(check: Check): readonly number[] | undefined {
    return this.#needs.get(check)
  }

  /** The files and the fields of a reference; `undefined` for other checks. */
  linkOf(check: Check): Link | undefined {
    return this.#references.get(check)
  }

  /** The fields that references and rules compare where nearly no record of a file finds another one. */
  listFailing(): KeyPair[] {
    return this.#links().flatMap(({ of, to, own, other, findings }) => {
      if (findings === 0 || findings < this.#fileOf(of.name).count * SHARE_OF_RECORDS) return []
      return own.map((field, index) => ({ from: of, field, to, reference: other[index] ?? -1 }))
    })
  }

  /** Whether nearly no reference of a file leads to a record. */
  failsAsColumn(check: Check): boolean {
    const reference = this.#references.get(check)
    if (reference === undefined || reference.values.size <= MOST_LISTED) return false
    return reference.findings >= this.#fileOf(reference.of.name).count * SHARE_OF_RECORDS
  }

  /** Whether many references to a file have this value. */
  isFrequent(target: string, value: string): boolean {
    return this.#frequentTargets.get(target)?.has(value) === true
  }

  /** The reference that explains the finding of a rule: of its own record, or of one that it misses. */
  findOrigin({ check, cell }: SeenFinding): { check: Check; value: string } | undefined {
    const needs = this.#needs.get(check) ?? []
    const own = this.#dangling.find(({ fields }) => fields.some((field) => needs.includes(field)))
    if (own !== undefined) return own
    return this.#findMisspeltOrigin(check, cell)
  }

  /** The reference of a record that a rule misses, if its key is the one that is written differently. */
  #findMisspeltOrigin(check: Check, cell: SeenFinding['cell']): { check: Check; value: string } | undefined {
    for (const { to, own, other, found } of this.#relations.get(check) ?? []) {
      const key = readParts(cell, own)
      const alike = found.get(toForm(key)) ?? key
      for (const { check: origin, fields } of to.foreignKeys) {
        const at = fields.length === 1 ? other.indexOf(fields[0] ?? -1) : -1
        const value = alike[at]
        if (value === undefined || value === key[at]) continue
        if (this.findAlike(origin, value) === key[at]) return { check: origin, value }
      }
    }
    return undefined
  }

  /** The key of another spelling that a reference probably means. */
  findAlike(check: Check, value: string): string | undefined {
    const reference = this.#references.get(check)
    const alike = reference?.found.get(reference.values.get(value) ?? '')?.join(' ')
    return alike === value ? undefined : alike
  }

  /** The empty file in which a rule misses a key: if all other files have the key, or it misses half of its own. */
  findEmpty({ resource, check, cell }: SeenFinding): Resource | undefined {
    const relations = this.#relations.get(check) ?? []
    const isEmpty = ({ to }: Link) => this.#fileOf(to.name).count === 0
    const empty = relations.find(isEmpty)
    if (empty === undefined) return undefined
    const isCertain =
      empty.findings * 2 >= this.#fileOf(resource.name).count ||
      relations.every((each) => isEmpty(each) || each.found.has(toForm(readParts(cell, each.own))))
    return isCertain ? empty.to : undefined
  }

  /** What a rule takes for an absent record, although only the form of a key differs. */
  findMisspelling({ resource, check, cell }: SeenFinding): Misspelling | undefined {
    for (const { to, own, other: fields, found } of this.#relations.get(check) ?? []) {
      const key = readParts(cell, own)
      const other = found.get(toForm(key)) ?? key
      const differing = [...key.keys()].filter(
        (index) => key[index] !== other[index] && resource.fields[own[index] ?? -1]?.type === 'string',
      )
      const [first] = differing
      if (first === undefined) continue
      const pick = (parts: readonly string[]) => differing.map((index) => parts[index] ?? '').join(' ')
      const name = (file: Resource, of: readonly number[]) =>
        differing.map((index) => file.fields[of[index] ?? -1]?.name ?? '').join(', ')
      const isChecked = this.#isChecked(resource, own[first])
      // A reference has been checked; otherwise the key is in the file that the definition names first.
      const isOwn =
        isChecked === this.#isChecked(to, fields[first])
          ? this.#definition.resources.find((each) => each === to || each === resource) === to
          : !isChecked
      return isOwn
        ? { from: resource, like: to, names: name(resource, own), value: pick(key), alike: pick(other) }
        : { from: to, like: resource, names: name(to, fields), value: pick(other), alike: pick(key) }
    }
    return undefined
  }

  /** Whether a field is part of a reference. */
  #isChecked({ foreignKeys }: Resource, field = -1): boolean {
    return foreignKeys.some(({ fields }) => fields.includes(field))
  }
}

function readParts(cell: (field: number) => string, fields: readonly number[]): string[] {
  return fields.map((field) => cell(field).trim())
}

export function readKey(cell: (field: number) => string, fields: readonly number[]): string {
  const parts = readParts(cell, fields)
  return parts.includes('') ? '' : parts.join(' ')
}

function chooseFrequent(counts: ReadonlyMap<string, number>, least: number, most: number): Set<string> {
  const frequent = [...counts].filter(([, count]) => count >= least)
  frequent.sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))
  return new Set(frequent.slice(0, most).map(([value]) => value))
}
