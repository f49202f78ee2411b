import { getOrMake } from '../../../foundation/get-or-make.ts'
import type { Definition, Resource } from '../definition/definition.ts'
import { Interner, NumberLinks, NumberSet, PairTable, TupleTable } from './interner.ts'
import { toPlainForm } from './plain-form.ts'
import type { Values } from './record-checks.ts'
import { compileValues } from './values.ts'

/** Returns the number of a record's key, or -1 if a part of it is empty. */
export type KeyReader = (values: Values) => number

/**
 * Numbers the keys of all files: equal keys of fields that refer to each other have the same number, whatever their file.
 * Fields that are never compared have numbers of their own, so that the tables by number of a small file stay small.
 */
export class KeySpace {
  readonly #groupOf: (field: string) => string
  readonly #texts = new Map<string, Interner>()
  readonly #pairs = new PairTable()
  readonly #tuples = new Map<number, TupleTable>()
  readonly #readers = new Map<string, KeyReader>()

  constructor(definition: Definition) {
    this.#groupOf = groupFields(definition)
  }

  /** Compiles a reader for a key over some fields of a resource. */
  compile(resource: Resource, fields: readonly number[]): KeyReader {
    const readers = fields.map((field) => this.#readerOf(resource, field))
    const [first, second] = readers
    if (first === undefined) return () => -1
    if (second === undefined) return first
    if (readers.length === 2) {
      return (values) => {
        const one = first(values)
        const other = one === -1 ? -1 : second(values)
        return other === -1 ? -1 : this.#pairs.intern(one, other)
      }
    }
    const table = getOrMake(this.#tuples, readers.length, () => new TupleTable(readers.length))
    const parts = new Int32Array(readers.length)
    return (values) => {
      for (let index = 0; index < readers.length; index++) {
        const part = (readers[index] as KeyReader)(values)
        if (part === -1) return -1
        parts[index] = part
      }
      return table.intern(parts)
    }
  }

  /** One reader for each field: most fields belong to several keys, and often equal the previous record's. */
  #readerOf(resource: Resource, field: number): KeyReader {
    const name = nameField(resource.name, field)
    const known = this.#readers.get(name)
    if (known !== undefined) return known
    const definition = resource.fields[field]
    const toKey = definition === undefined ? (value: string) => value : compileValues(definition).toKey
    const texts = getOrMake(this.#texts, this.#groupOf(name), () => new Interner())
    let last = ''
    let lastNumber = -1
    const reader: KeyReader = (values) => {
      const value = values[field] as string
      if (value === last) return lastNumber
      last = value
      lastNumber = value === '' ? -1 : texts.intern(toKey(value))
      return lastNumber
    }
    this.#readers.set(name, reader)
    return reader
  }

  /** Frees the memory of the texts of all keys; no key can be read afterwards. */
  close(): void {
    for (const texts of this.#texts.values()) texts.close()
  }
}

/** What keys that are probably the same have in common; empty if a part has no letter or digit. */
export function toForm(parts: readonly string[]): string {
  const forms = parts.map(toPlainForm)
  return forms.includes('') ? '' : forms.join('\n')
}

const nameField = (resource: string, field: number) => `${resource}\n${field}`

/** Returns the group of each field: those that references compare, directly or through others, are in the same one. */
function groupFields({ resources }: Definition): (field: string) => string {
  const parents = new Map<string, string>()
  const groupOf = (field: string): string => {
    const parent = parents.get(field)
    return parent === undefined ? field : groupOf(parent)
  }
  const join = (one: string, fields: readonly number[], other: string, references: readonly number[]) => {
    for (const [index, field] of fields.entries()) {
      const [from, to] = [groupOf(nameField(one, field)), groupOf(nameField(other, references[index] ?? -1))]
      if (from !== to) parents.set(from, to)
    }
  }
  for (const { name, foreignKeys, recordChecks } of resources) {
    for (const { fields, resource, references, matches } of foreignKeys) {
      join(name, fields, resource, references)
      for (const { field, reference } of matches) join(name, [field], resource, [reference])
    }
    for (const check of recordChecks)
      if (check.kind === 'referenced')
        for (const by of check.by) join(name, check.fields, by.resource, by.fields)
  }
  return groupOf
}

/** The keys of a referenced file, and the values that must match them. */
export class ReferencedKeys {
  readonly keys = new NumberSet()
  /** For each match: the values of each key, with -1 for an empty one. */
  readonly matches: readonly NumberLinks[]

  constructor(matches: number) {
    this.matches = Array.from({ length: matches }, () => new NumberLinks())
  }
}

/** The order in which files are read: referenced ones first, unless references form a cycle. */
export function orderResources(definition: Definition): Resource[] {
  const ordered: Resource[] = []
  const visited = new Set<Resource>()
  const visit = (resource: Resource): void => {
    if (visited.has(resource)) return
    visited.add(resource)
    for (const { resource: name } of resource.foreignKeys) {
      const referenced = definition.resources.find((each) => each.name === name)
      if (referenced !== undefined) visit(referenced)
    }
    ordered.push(resource)
  }
  for (const resource of definition.resources) visit(resource)
  return ordered
}
