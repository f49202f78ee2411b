import { increment } from '../../../foundation/increment.ts'
import type { Check, Definition, ForeignKey, Resource } from '../definition/definition.ts'
import { type CheckUses, fieldsOf } from './check-uses.ts'
import type { FileOf } from './file-state.ts'
import { toForm } from './keys.ts'
import type { SeenFinding } from './seen-finding.ts'

/** A search for the keys of a file that differ only in form from those that others have. */
interface KeySearch {
  readonly fields: readonly number[]
  readonly forms: Set<string>
  /** The parts of each found key, by form. */
  readonly found: Map<string, readonly string[]>
}

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

interface ReferenceCount {
  readonly link: { readonly from: Resource; readonly key: ForeignKey }
  findings: number
  /** The form of each value. */
  readonly values: Map<string, string>
  readonly search: KeySearch
}

/** A rule that looks for records of another file with the same values in some fields. */
interface Relation {
  /** The file of the rule, and the other one. */
  readonly of: Resource
  readonly from: Resource
  readonly own: readonly number[]
  readonly search: KeySearch
  findings: number
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
  readonly #references = new Map<Check, ReferenceCount>()
  /** References to each file by value. */
  readonly #targets = new Map<string, Map<string, number>>()
  readonly #frequentTargets = new Map<string, ReadonlySet<string>>()
  readonly #relations = new Map<Check, Relation[]>()
  readonly #needs = new Map<Check, readonly number[]>()
  /** The references of the current record that lead nowhere. */
  #dangling: { check: Check; fields: readonly number[]; value: string }[] = []
  #at = ''

  constructor(definition: Definition, uses: CheckUses, fileOf: FileOf) {
    this.#definition = definition
    this.#fileOf = fileOf
    for (const resource of definition.resources) {
      for (const key of resource.foreignKeys)
        this.#references.set(key.check, {
          link: { from: resource, key },
          findings: 0,
          values: new Map(),
          search: search(key.references),
        })
    }
    for (const resource of definition.resources) this.#listRelations(resource, uses)
  }

  #listRelations(resource: Resource, uses: CheckUses): void {
    const { rules, recordChecks, foreignKeys } = resource
    const add = (check: Check, name: string, pairs: readonly { own: number; other: number }[]) => {
      const from = this.#definition.resources.find((each) => each.name === name)
      if (from === undefined) return
      const relation = {
        of: resource,
        from,
        own: pairs.map(({ own }) => own),
        search: search(pairs.map(({ other }) => other)),
        findings: 0,
      }
      this.#relations.set(check, [...(this.#relations.get(check) ?? []), relation])
    }
    for (const { check, relates } of rules)
      for (const { resource: name, pairs } of relates) if (name !== resource.name) add(check, name, pairs)
    for (const each of recordChecks) {
      if (each.kind !== 'referenced') continue
      for (const { resource: name, fields } of each.by) {
        const pairs = fields.map((other, index) => ({ own: each.fields[index] ?? -1, other }))
        add(each.check, name, pairs)
      }
    }
    const needy = [...rules, ...recordChecks, ...foreignKeys.flatMap(({ matches }) => matches)]
    for (const { check } of needy) this.#needs.set(check, fieldsOf(uses.get(check), resource))
  }

  /** Collects the key of a reference, or of a record that a rule takes for missing. */
  add({ check, cell }: SeenFinding): void {
    for (const relation of this.#relations.get(check) ?? []) {
      const { own, search } = relation
      relation.findings++
      if (search.forms.size < MOST_SUSPECTS) search.forms.add(toForm(readParts(cell, own)))
    }
    const reference = this.#references.get(check)
    if (reference === undefined) return
    const { fields, resource: target } = reference.link.key
    const value = readKey(cell, fields)
    reference.findings++
    if (reference.values.size < COUNTED_REFERENCES && !reference.values.has(value)) {
      const form = toForm(readParts(cell, fields))
      reference.values.set(value, form)
      reference.search.forms.add(form)
    }
    const counts = this.#targets.get(target) ?? new Map<string, number>()
    this.#targets.set(target, counts)
    if (counts.size < COUNTED_REFERENCES || counts.has(value)) increment(counts, value)
  }

  /** Between the passes: looks for the keys in the files that should have them. */
  search(): void {
    for (const [target, counts] of this.#targets)
      this.#frequentTargets.set(target, chooseFrequent(counts, LEAST_OF_REFERENCE, MOST_REFERENCES))
    for (const resource of this.#definition.resources) {
      const searches = [
        ...[...this.#references.values()].filter(({ link }) => link.key.resource === resource.name),
        ...[...this.#relations.values()].flat().filter(({ from }) => from === resource),
      ].map((each) => each.search)
      for (const { forms } of searches) forms.delete('')
      const wanted = searches.filter(({ forms }) => forms.size > 0)
      if (wanted.length === 0) continue
      this.#fileOf(resource.name).scan((cell) => {
        for (const { fields, forms, found } of wanted) {
          const key = readParts(cell, fields)
          const form = toForm(key)
          if (forms.has(form)) found.set(form, key)
        }
      })
    }
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
    const { fields } = reference.link.key
    this.#dangling.push({ check, fields, value: readKey(cell, fields) })
  }

  /** The fields that a rule needs of the record that it finds; `undefined` for other checks. */
  needsOf(check: Check): readonly number[] | undefined {
    return this.#needs.get(check)
  }

  /** The file and the key of a reference; `undefined` for other checks. */
  linkOf(check: Check): ReferenceCount['link'] | undefined {
    return this.#references.get(check)?.link
  }

  /** The fields that references and rules compare where nearly no record of a file finds another one. */
  listFailing(): KeyPair[] {
    const isMost = (findings: number, resource: Resource) =>
      findings > 0 && findings >= this.#fileOf(resource.name).count * SHARE_OF_RECORDS
    const references = [...this.#references].flatMap(([, { link, findings }]) => {
      const to = this.#definition.resources.find(({ name }) => name === link.key.resource)
      if (to === undefined || !isMost(findings, link.from)) return []
      return link.key.fields.map((field, index) => {
        return { from: link.from, field, to, reference: link.key.references[index] ?? -1 }
      })
    })
    const relations = [...this.#relations.values()].flat().flatMap(({ of, from, own, search, findings }) => {
      if (!isMost(findings, of)) return []
      return own.map((field, index) => ({ from: of, field, to: from, reference: search.fields[index] ?? -1 }))
    })
    return [...references, ...relations]
  }

  /** Whether nearly no reference of a file leads to a record. */
  failsAsColumn(check: Check): boolean {
    const reference = this.#references.get(check)
    if (reference === undefined || reference.values.size <= MOST_LISTED) return false
    return reference.findings >= this.#fileOf(reference.link.from.name).count * SHARE_OF_RECORDS
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
    for (const { from, own, search } of this.#relations.get(check) ?? []) {
      const key = readParts(cell, own)
      const found = search.found.get(toForm(key)) ?? key
      for (const { check: origin, fields } of from.foreignKeys) {
        const at = fields.length === 1 ? search.fields.indexOf(fields[0] ?? -1) : -1
        const value = found[at]
        if (value === undefined || value === key[at]) continue
        if (this.findAlike(origin, value) === key[at]) return { check: origin, value }
      }
    }
    return undefined
  }

  /** The key of another spelling that a reference probably means. */
  findAlike(check: Check, value: string): string | undefined {
    const reference = this.#references.get(check)
    const alike = reference?.search.found.get(reference.values.get(value) ?? '')?.join(' ')
    return alike === value ? undefined : alike
  }

  /** The empty file in which a rule misses a key: if all other files have the key, or it misses half of its own. */
  findEmpty({ resource, check, cell }: SeenFinding): Resource | undefined {
    const relations = this.#relations.get(check) ?? []
    const isEmpty = ({ from }: Relation) => this.#fileOf(from.name).count === 0
    const empty = relations.find(isEmpty)
    if (empty === undefined) return undefined
    const isCertain =
      empty.findings * 2 >= this.#fileOf(resource.name).count ||
      relations.every((each) => isEmpty(each) || each.search.found.has(toForm(readParts(cell, each.own))))
    return isCertain ? empty.from : undefined
  }

  /** What a rule takes for an absent record, although only the form of a key differs. */
  findMisspelling({ resource, check, cell }: SeenFinding): Misspelling | undefined {
    for (const { from, own, search } of this.#relations.get(check) ?? []) {
      const key = readParts(cell, own)
      const other = search.found.get(toForm(key)) ?? key
      const differing = [...key.keys()].filter(
        (index) => key[index] !== other[index] && resource.fields[own[index] ?? -1]?.type === 'string',
      )
      const [first] = differing
      if (first === undefined) continue
      const pick = (parts: readonly string[]) => differing.map((index) => parts[index] ?? '').join(' ')
      const name = ({ fields }: Resource, of: readonly number[]) =>
        differing.map((index) => fields[of[index] ?? -1]?.name ?? '').join(', ')
      const isChecked = this.#isChecked(resource, own[first])
      // A reference has been checked; otherwise the key is in the file that the definition names first.
      const isOwn =
        isChecked === this.#isChecked(from, search.fields[first])
          ? this.#definition.resources.find((each) => each === from || each === resource) === from
          : !isChecked
      return isOwn
        ? { from: resource, like: from, names: name(resource, own), value: pick(key), alike: pick(other) }
        : { from, like: resource, names: name(from, search.fields), value: pick(other), alike: pick(key) }
    }
    return undefined
  }

  /** Whether a field is part of a reference. */
  #isChecked({ foreignKeys }: Resource, field = -1): boolean {
    return foreignKeys.some(({ fields }) => fields.includes(field))
  }
}

function search(fields: readonly number[]): KeySearch {
  return { fields, forms: new Set(), found: new Map() }
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
