import type { Definition, Resource } from '../definition/definition.ts'
import { Interner, NumberSet, PairTable } from './interner.ts'
import type { Values } from './record-checks.ts'
import { compileValues } from './values.ts'

/** The number of a record's key, or -1 where a part of it is empty. */
export type KeyReader = (values: Values) => number

/** Numbers for the keys of all files: equal keys have the same number, in whichever file they are. */
export class KeySpace {
  readonly #texts = new Interner()
  readonly #pairs: PairTable[] = []
  readonly #readers = new Map<string, KeyReader>()

  /** Compiles the reading of a key over some fields of a resource. */
  compile(resource: Resource, fields: readonly number[]): KeyReader {
    const readers = fields.map((field) => this.#readerOf(resource, field))
    const [first, second] = readers
    if (first === undefined) return () => -1
    if (second === undefined) return first
    return (values) => {
      let key = first(values)
      for (let index = 1; index < readers.length && key !== -1; index++) {
        const part = (readers[index] as KeyReader)(values)
        key = part === -1 ? -1 : this.#pairsAt(index).intern(key, part)
      }
      return key
    }
  }

  /** One reader for each field: most fields are in several keys, and often equal to that of the record before. */
  #readerOf(resource: Resource, field: number): KeyReader {
    const name = `${resource.name}\n${field}`
    const known = this.#readers.get(name)
    if (known !== undefined) return known
    const definition = resource.fields[field]
    const toKey = definition === undefined ? (value: string) => value : compileValues(definition).toKey
    let last = ''
    let lastNumber = -1
    const reader: KeyReader = (values) => {
      const value = values[field] as string
      if (value !== last) {
        lastNumber = value === '' ? -1 : this.#texts.intern(toKey(value))
        last = value
      }
      return lastNumber
    }
    this.#readers.set(name, reader)
    return reader
  }

  #pairsAt(depth: number): PairTable {
    let table = this.#pairs[depth]
    if (table === undefined) {
      table = new PairTable()
      this.#pairs[depth] = table
    }
    return table
  }
}

/** The keys of a referenced file, and the values beside them that must agree. */
export class ReferencedKeys {
  readonly keys = new NumberSet()
  /** For each match: pairs of key and value, where -1 is an empty value. */
  readonly matches: readonly PairTable[]

  constructor(matches: number) {
    this.matches = Array.from({ length: matches }, () => new PairTable())
  }
}

/** The order in which files are read: a referenced one first, as far as the references make no circle. */
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
