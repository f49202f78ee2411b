import { getOrMake } from '../../../foundation/get-or-make.ts'
import { FirstRecords, NumberList, NumberSet } from '../../../foundation/text/interner.ts'
import type { Check, Definition, ForeignKey, Resource } from '../definition/definition.ts'
import { compileValues } from '../definition/values.ts'
import { listParts, readCell } from './broken-record.ts'
import type { FileOf } from './file-state.ts'
import { type KeyReader, KeySpace, ReferencedKeys, toForm } from './keys.ts'
import type { Plan } from './plan.ts'
import type { Values } from './record-checks.ts'
import type { UndecidedCounts, Unknown } from './unknown.ts'

/** Processes the keys of each record of a file. */
export type RecordStep = (values: Values, record: number, unknown: Unknown) => void

interface Link {
  readonly from: Resource
  readonly key: ForeignKey
  readonly target: ReferencedKeys
  /** References to no record, while a record with an unknown key may be the one that they mean. */
  readonly misses: Misses
}

/**
 * References to no record. A record of another file whose key is unknown may be the one that is meant: certainly if
 * the two differ only in case, spaces, punctuation or leading zeros, or if a record that cannot be read contains the
 * key, and possibly each if at least half of the keys of a file are unknown. Then nothing is said about the reference.
 */
class Misses {
  readonly #sources: Source[] = []
  readonly #forms = new Set<string>()
  /** Keys that records contain which cannot be read. */
  readonly #broken = new NumberSet()
  #brokenCount = 0
  readonly #records: NumberList = new NumberList()
  #hidden = 0

  /** Compiles a step that notes the key, or -1, of each record of a file that references may mean. */
  watch(
    space: KeySpace,
    resource: Resource,
    fields: readonly number[],
  ): (key: number, values: Values, unknown: Unknown) => void {
    const source: Source = { resource: resource.name, field: -1, known: 0, unknown: 0 }
    this.#sources.push(source)
    const readBroken = compileBrokenKeys(space, resource, fields)
    return (key, values, unknown) => {
      if (key !== -1) {
        source.known++
        return
      }
      const field = unknown.firstOf(fields)
      if (field === -1) return
      source.unknown++
      if (source.field === -1) source.field = field
      if (unknown.isWhole && this.#brokenCount < MOST_FORMS) {
        for (const each of readBroken(unknown)) if (this.#broken.add(each)) this.#brokenCount++
      }
      if (this.#forms.size >= MOST_FORMS) return
      const form = toForm(fields.map((each) => values[each] || unknown.cellOf(each)))
      if (form !== '') this.#forms.add(form)
    }
  }

  /** @param form of the reference, if its values are still there */
  add(record: number, key: number, form: (() => string) | undefined): void {
    if (this.#broken.has(key)) this.#hidden++
    else if (form !== undefined && this.#forms.size > 0 && this.#forms.has(form())) this.#hidden++
    else this.#records.push(record)
  }

  finish(check: Check, undecided: UndecidedCounts, report: (record: number) => void): void {
    const sources = this.#sources.filter(({ unknown }) => unknown > 0)
    const hiding = sources.find(({ known, unknown }) => unknown >= known)
    const records = this.#hidden + (hiding === undefined ? 0 : this.#records.size)
    const source = hiding ?? sources[0]
    if (records > 0 && source !== undefined) undecided.add(check, source.resource, source.field, records)
    if (hiding !== undefined) return
    for (let index = 0; index < this.#records.size; index++) report(this.#records.get(index))
  }
}

/** How many records of a file have a known key, and how many an unknown one. */
interface Source {
  readonly resource: string
  /** The first field of the key that is unknown. */
  field: number
  known: number
  unknown: number
}

/** The most unknown keys whose form is kept. */
const MOST_FORMS = 200_000

/** The keys that a record which cannot be read contains: one value may be anywhere, several are where they belong. */
type BrokenReader = (unknown: Unknown) => number[]

function compileBrokenKeys(space: KeySpace, resource: Resource, fields: readonly number[]): BrokenReader {
  const readKey = space.compile(resource, fields)
  const [only = -1] = fields
  const values: string[] = new Array(resource.fields.length).fill('')
  const readers = resource.fields.map((field) => compileValues(field).read)
  const toKey = (cellOf: (field: number) => string): number[] => {
    for (const field of fields) values[field] = readCell(readers[field] ?? String, cellOf(field))
    const key = readKey(values)
    return key === -1 ? [] : [key]
  }
  return ({ broken, cellOf }) =>
    fields.length === 1 && only !== -1
      ? listParts(broken).flatMap((part) => toKey(() => part))
      : toKey(cellOf)
}

/**
 * Checks keys and references across files, over interned keys. A reference to a file that has already been read is
 * checked at once; otherwise the keys are kept until the end.
 */
export class References {
  readonly #definition: Definition
  readonly #space = new KeySpace()
  readonly #plan: Plan
  readonly #fileOf: FileOf
  readonly #links: readonly Link[]
  readonly #read = new Set<string>()
  readonly #atEnd: (() => void)[] = []
  /** For each `referenced` check: the keys that other files refer to, and the records to which none does. */
  readonly #used = new Map<Check, { of: Resource; keys: NumberSet; misses: Misses }>()

  constructor(definition: Definition, plan: Plan, fileOf: FileOf) {
    this.#definition = definition
    this.#plan = plan
    this.#fileOf = fileOf
    this.#links = definition.resources.flatMap((from) =>
      from.foreignKeys.map((key) => ({
        from,
        key,
        target: new ReferencedKeys(key.matches.length),
        misses: new Misses(),
      })),
    )
  }

  /** Returns the steps for the records of a file. */
  start(resource: Resource): RecordStep[] {
    return [
      ...this.#compileKeys(resource),
      ...this.#links
        .filter(({ key }) => key.resource === resource.name && this.#runs(key))
        .map((link) => this.#collect(link, resource)),
      ...this.#links.filter(({ from }) => from === resource).flatMap((link) => this.#check(link)),
      ...this.#compileReferenced(resource),
    ]
  }

  /** Called after a file has been read completely. */
  end(resource: Resource): void {
    this.#read.add(resource.name)
  }

  /** Runs the checks that had to wait for other files, and frees what they needed. */
  finish(): void {
    for (const check of this.#atEnd) check()
    for (const { from, key, misses } of this.#links) this.#finishMisses(from, key.check, misses)
    for (const [check, { of, misses }] of this.#used) this.#finishMisses(of, check, misses)
    this.#space.close()
  }

  #finishMisses(resource: Resource, check: Check, misses: Misses): void {
    const position = this.#plan.position(check)
    const found = this.#fileOf(resource.name).found
    if (position === -1) return
    misses.finish(check, this.#plan.undecided, (record) => found.add(position, record))
  }

  /** Runs a step for the records whose fields are known, and counts the others. */
  #whenKnown(check: Check, resource: Resource, fields: readonly number[], step: RecordStep): RecordStep {
    return (values, record, unknown) => {
      const field = unknown.firstOf(fields)
      if (field === -1) step(values, record, unknown)
      else if (!unknown.isWhole) this.#plan.undecided.add(check, resource.name, field)
    }
  }

  /** Finds repeated keys. */
  #compileKeys(resource: Resource): RecordStep[] {
    const fieldKeys = resource.fields.flatMap((field, index) => {
      const check = field.checks.unique
      return check === undefined ? [] : [{ fields: [index], check }]
    })
    const found = this.#fileOf(resource.name).found
    let reported = 0
    return [...resource.keys, ...fieldKeys].flatMap(({ fields, check }): RecordStep[] => {
      const position = this.#plan.admit(check)
      if (position === -1) return []
      const read = this.#space.compile(resource, fields)
      const firsts = new FirstRecords()
      const step: RecordStep = (values, record) => {
        const key = read(values)
        const first = key === -1 ? 0 : firsts.add(key, record)
        // A record that repeats several keys of earlier ones has one finding: the first.
        if (first === 0 || record === reported) return
        reported = record
        found.add(position, record, { earlierRecord: String(first) })
      }
      return [this.#whenKnown(check, resource, fields, step)]
    })
  }

  /** Collects the keys of a file that another file refers to. */
  #collect({ key, target, misses }: Link, resource: Resource): RecordStep {
    const read = this.#space.compile(resource, key.references)
    const note = misses.watch(this.#space, resource, key.references)
    const others = key.matches.map(({ reference }) => this.#space.compile(resource, [reference]))
    return (values, _record, unknown) => {
      const number = read(values)
      note(number, values, unknown)
      if (number === -1) return
      target.keys.add(number)
      for (let index = 0; index < others.length; index++)
        target.matches[index]?.intern(number, (others[index] as KeyReader)(values))
    }
  }

  #check({ from, key, target, misses }: Link): RecordStep[] {
    const found = this.#fileOf(from.name).found
    const later = !this.#read.has(key.resource)
    const read = this.#space.compile(from, key.fields)
    const steps: RecordStep[] = []
    const position = this.#plan.admit(key.check)
    if (position !== -1) {
      const step = this.#whenRead(later, read, undefined, (number, _value, record, values) => {
        if (target.keys.has(number)) return
        misses.add(
          record,
          number,
          values === undefined ? undefined : () => toForm(key.fields.map((field) => values[field] ?? '')),
        )
      })
      steps.push(this.#whenKnown(key.check, from, key.fields, step))
    }
    for (const [index, match] of key.matches.entries()) {
      const place = this.#plan.admit(match.check)
      const pairs = target.matches[index]
      if (place === -1 || pairs === undefined) continue
      const readValue = this.#space.compile(from, [match.field])
      const step = this.#whenRead(later, read, readValue, (number, value, record) => {
        if (value === -1 || !target.keys.has(number)) return
        if (!pairs.has(number, value) && !pairs.has(number, -1)) found.add(place, record)
      })
      steps.push(this.#whenKnown(match.check, from, [...key.fields, match.field], step))
    }
    return steps
  }

  /** Whether a check needs the keys that a foreign key refers to. */
  #runs({ check, matches }: ForeignKey): boolean {
    return [check, ...matches.map((match) => match.check)].some((each) => this.#plan.position(each) !== -1)
  }

  /** Checks a key at once, or at the end if the referenced file has not been read. */
  #whenRead(
    later: boolean,
    read: KeyReader,
    readValue: KeyReader | undefined,
    check: (key: number, value: number, record: number, values?: Values) => void,
  ): RecordStep {
    if (!later) {
      return (values, record) => {
        const key = read(values)
        if (key !== -1) check(key, readValue === undefined ? 0 : readValue(values), record, values)
      }
    }
    // By record, which takes half the memory of a list with the numbers of the records beside it.
    const [keys, others] = [new NumberList(Int32Array), new NumberList(Int32Array)]
    this.#atEnd.push(() => {
      for (let record = 0; record < keys.size; record++) {
        const key = keys.get(record)
        if (key !== -1) check(key, others.get(record), record)
      }
    })
    const skip = (numbers: NumberList, record: number) => {
      while (numbers.size < record) numbers.push(-1)
    }
    return (values, record) => {
      const key = read(values)
      if (key === -1) return
      skip(keys, record)
      keys.push(key)
      if (readValue === undefined) return
      skip(others, record)
      others.push(readValue(values))
    }
  }

  /** Finds unreferenced records: known only at the end, unless the referring files come first. */
  #compileReferenced(resource: Resource): RecordStep[] {
    const steps: RecordStep[] = []
    for (const target of this.#definition.resources) {
      for (const each of target.recordChecks) {
        if (each.kind !== 'referenced' || this.#plan.position(each.check) === -1) continue
        const used = getOrMake(this.#used, each.check, () => {
          return { of: target, keys: new NumberSet(), misses: new Misses() }
        })
        for (const by of each.by) {
          if (by.resource !== resource.name) continue
          const read = this.#space.compile(resource, by.fields)
          const note = used.misses.watch(this.#space, resource, by.fields)
          steps.push((values, _record, unknown) => {
            const key = read(values)
            note(key, values, unknown)
            if (key !== -1) used.keys.add(key)
          })
        }
        if (target !== resource) continue
        const position = this.#plan.admit(each.check)
        if (position === -1) continue
        const read = this.#space.compile(target, each.fields)
        const step = this.#whenRead(true, read, undefined, (key, _value, record) => {
          if (!used.keys.has(key)) used.misses.add(record, key, undefined)
        })
        steps.push(this.#whenKnown(each.check, target, each.fields, step))
      }
    }
    return steps
  }
}
