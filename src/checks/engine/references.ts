import type { Check, Definition, ForeignKey, Resource } from '../definition/definition.ts'
import type { Found } from './found.ts'
import { NumberList, NumberSet } from './interner.ts'
import { type KeyReader, type KeySpace, ReferencedKeys } from './keys.ts'
import type { Values } from './record-checks.ts'
import { SeenTexts } from './seen-texts.ts'
import { compileValues } from './values.ts'

/** Processes the keys of each record of a file. */
export type RecordStep = (values: Values, record: number) => void

interface Link {
  readonly from: Resource
  readonly key: ForeignKey
  readonly target: ReferencedKeys
}

/** The destination of a check's findings, or why it does not run. */
export interface Outcome {
  readonly position: (check: Check) => number
  readonly found: (resource: Resource) => Found
  /** Why a check over these files and fields cannot run, or `undefined`. */
  readonly obstacle: (uses: readonly { resource: string; fields: readonly number[] }[]) => string | undefined
  readonly skip: (check: Check, reason: string) => void
}

/**
 * Checks keys and references across files, over interned keys. A reference to a file that has already been read is
 * checked at once; otherwise the keys are kept until the end.
 */
export class References {
  readonly #definition: Definition
  readonly #space: KeySpace
  readonly #outcome: Outcome
  readonly #links: readonly Link[]
  readonly #read = new Set<string>()
  readonly #atEnd: (() => void)[] = []
  /** For each `referenced` check: the keys that other files refer to. */
  readonly #used = new Map<Check, NumberSet>()

  constructor(definition: Definition, space: KeySpace, outcome: Outcome) {
    this.#definition = definition
    this.#space = space
    this.#outcome = outcome
    this.#links = definition.resources.flatMap((from) =>
      from.foreignKeys.map((key) => ({ from, key, target: new ReferencedKeys(key.matches.length) })),
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

  /** Runs the checks that had to wait for other files. */
  finish(): void {
    for (const check of this.#atEnd) check()
  }

  #compileKeys(resource: Resource): RecordStep[] {
    const found = this.#outcome.found(resource)
    const fieldKeys = resource.fields.flatMap((field, index) => {
      const check = field.checks.unique
      return check === undefined ? [] : [{ fields: [index], check }]
    })
    return [...resource.keys, ...fieldKeys].flatMap(({ fields, check }): RecordStep[] => {
      const reason = this.#outcome.obstacle([{ resource: resource.name, fields }])
      const position = this.#outcome.position(check)
      if (position === -1) return []
      if (reason !== undefined) {
        this.#outcome.skip(check, reason)
        return []
      }
      const [field = -1] = fields
      if (fields.length === 1 && !this.#isShared(resource, field)) {
        // No other key needs numbers for these values.
        const definition = resource.fields[field]
        const toKey = definition === undefined ? String : compileValues(definition).toKey
        const seen = new SeenTexts()
        return [
          (values, record) => {
            const value = values[field] as string
            if (value !== '' && !seen.add(toKey(value))) found.add(position, record)
          },
        ]
      }
      const read = this.#space.compile(resource, fields)
      const keys = new NumberSet()
      return [
        (values, record) => {
          const key = read(values)
          if (key !== -1 && !keys.add(key)) found.add(position, record)
        },
      ]
    })
  }

  /** Whether a field is also in a key that is compared with others. */
  #isShared(resource: Resource, field: number): boolean {
    const keys = [
      ...resource.keys.filter(({ fields }) => fields.length > 1).map(({ fields }) => fields),
      ...resource.foreignKeys.map(({ fields }) => fields),
      ...this.#links.filter(({ key }) => key.resource === resource.name).map(({ key }) => key.references),
    ]
    return keys.some((fields) => fields.includes(field))
  }

  /** Collects the keys of a file that another file refers to. */
  #collect({ key, target }: Link, resource: Resource): RecordStep {
    const read = this.#space.compile(resource, key.references)
    const others = key.matches.map(({ reference }) => this.#space.compile(resource, [reference]))
    return (values) => {
      const number = read(values)
      if (number === -1) return
      target.keys.add(number)
      for (let index = 0; index < others.length; index++)
        target.matches[index]?.add(number, (others[index] as KeyReader)(values))
    }
  }

  #check({ from, key, target }: Link): RecordStep[] {
    const found = this.#outcome.found(from)
    const uses = [
      { resource: from.name, fields: key.fields },
      { resource: key.resource, fields: key.references },
    ]
    const later = !this.#read.has(key.resource)
    const read = this.#space.compile(from, key.fields)
    const steps: RecordStep[] = []
    const position = this.#runnable(key.check, uses)
    if (position !== -1) {
      steps.push(
        this.#whenRead(later, read, undefined, (number, _value, record) => {
          if (!target.keys.has(number)) found.add(position, record)
        }),
      )
    }
    for (const [index, match] of key.matches.entries()) {
      const place = this.#runnable(match.check, [
        ...uses,
        { resource: from.name, fields: [match.field] },
        { resource: key.resource, fields: [match.reference] },
      ])
      const pairs = target.matches[index]
      if (place === -1 || pairs === undefined) continue
      const readValue = this.#space.compile(from, [match.field])
      steps.push(
        this.#whenRead(later, read, readValue, (number, value, record) => {
          if (value === -1 || !target.keys.has(number)) return
          if (!pairs.has(number, value) && !pairs.has(number, -1)) found.add(place, record)
        }),
      )
    }
    return steps
  }

  /** Whether a check needs the keys that a foreign key refers to. */
  #runs({ check, matches }: ForeignKey): boolean {
    return [check, ...matches.map((match) => match.check)].some((each) => this.#outcome.position(each) !== -1)
  }

  #runnable(check: Check, uses: readonly { resource: string; fields: readonly number[] }[]): number {
    const position = this.#outcome.position(check)
    const reason = position === -1 ? undefined : this.#outcome.obstacle(uses)
    if (reason === undefined) return position
    this.#outcome.skip(check, reason)
    return -1
  }

  /** Checks a key at once, or at the end if the referenced file has not been read. */
  #whenRead(
    later: boolean,
    read: KeyReader,
    readValue: KeyReader | undefined,
    check: (key: number, value: number, record: number) => void,
  ): RecordStep {
    if (!later) {
      return (values, record) => {
        const key = read(values)
        if (key !== -1) check(key, readValue === undefined ? 0 : readValue(values), record)
      }
    }
    const [keys, others, records] = [new NumberList(), new NumberList(), new NumberList()]
    this.#atEnd.push(() => {
      for (let index = 0; index < keys.size; index++)
        check(keys.get(index), others.get(index), records.get(index))
    })
    return (values, record) => {
      const key = read(values)
      if (key === -1) return
      keys.push(key)
      others.push(readValue === undefined ? 0 : readValue(values))
      records.push(record)
    }
  }

  /** Finds unreferenced records: known only at the end, unless the referring files come first. */
  #compileReferenced(resource: Resource): RecordStep[] {
    const steps: RecordStep[] = []
    for (const target of this.#definition.resources) {
      for (const each of target.recordChecks) {
        if (each.kind !== 'referenced' || this.#outcome.position(each.check) === -1) continue
        const used = this.#used.get(each.check) ?? new NumberSet()
        this.#used.set(each.check, used)
        for (const by of each.by) {
          if (by.resource !== resource.name) continue
          const read = this.#space.compile(resource, by.fields)
          steps.push((values) => {
            const key = read(values)
            if (key !== -1) used.add(key)
          })
        }
        if (target !== resource) continue
        const uses = [{ resource: target.name, fields: each.fields }, ...each.by]
        const position = this.#runnable(each.check, uses)
        if (position === -1) continue
        const found = this.#outcome.found(target)
        const read = this.#space.compile(target, each.fields)
        steps.push(
          this.#whenRead(true, read, undefined, (key, _value, record) => {
            if (!used.has(key)) found.add(position, record)
          }),
        )
      }
    }
    return steps
  }
}
