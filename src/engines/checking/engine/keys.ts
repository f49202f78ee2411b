import { getOrMake } from '../../../foundation/get-or-make.ts'
import { Interner, NumberSet, PairTable } from '../../../foundation/text/interner.ts'
import type { Definition, Resource } from '../definition/definition.ts'
import { compileValues } from '../definition/values.ts'
import { toPlainForm } from './plain-form.ts'
import type { Values } from './record-checks.ts'

/** Returns the number of a record's key, or -1 if a part of it is empty. */
export type KeyReader = (values: Values) => number

/** Numbers the keys of all files: equal keys have the same number, whatever their file and fields. */
export class KeySpace {
  readonly #texts = new Interner()
  readonly #pairs = new PairTable()
  readonly #readers = new Map<string, KeyReader>()

  /** Compiles a reader for a key over some fields of a resource. */
  compile(resource: Resource, fields: readonly number[]): KeyReader {
    const [first, ...others] = fields.map((field) => this.#readerOf(resource, field))
    if (first === undefined) return () => -1
    return others.reduce<KeyReader>(
      (readStart, readLast) => (values) => {
        const one = readStart(values)
        const other = one === -1 ? -1 : readLast(values)
        return other === -1 ? -1 : this.#pairs.intern(one, other)
      },
      first,
    )
  }

  /** One reader for each field: most fields belong to several keys, and often equal the previous record's. */
  #readerOf(resource: Resource, field: number): KeyReader {
    return getOrMake(this.#readers, `${resource.name}\n${field}`, () => this.#compileReader(resource, field))
  }

  #compileReader(resource: Resource, field: number): KeyReader {
    const definition = resource.fields[field]
    const toKey = definition === undefined ? (value: string) => value : compileValues(definition).toKey
    let last = ''
    let lastNumber = -1
    return (values) => {
      const value = values[field] as string
      if (value === last) return lastNumber
      last = value
      lastNumber = value === '' ? -1 : this.#texts.intern(toKey(value))
      return lastNumber
    }
  }

  /** Frees the memory of the texts of all keys; no key can be read afterwards. */
  close(): void {
    this.#texts.close()
  }
}

/** What keys that are probably the same have in common; empty if a part has no letter or digit. */
export function toForm(parts: readonly string[]): string {
  const forms = parts.map(toPlainForm)
  return forms.includes('') ? '' : forms.join('\n')
}

/** The keys of a referenced file, and the values that must match them. */
export class ReferencedKeys {
  readonly keys = new NumberSet()
  /** For each match: the values of each key, with -1 for an empty one. */
  readonly matches: readonly PairTable[]

  constructor(matches: number) {
    this.matches = Array.from({ length: matches }, () => new PairTable())
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
