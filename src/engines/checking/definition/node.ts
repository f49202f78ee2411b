import { type Fault, UserError } from '../../../foundation/faults/user-error.ts'
import { joinOr } from '../../../foundation/text/join-or.ts'
import { quote } from '../../../foundation/text/quote.ts'
import { suggest } from '../../../foundation/text/suggest.ts'
import { isObject } from '../../records/index.ts'
import { isDate } from './parameters.ts'
import { compilePattern } from './pattern.ts'
import { growsExponentially } from './pattern-growth.ts'
import { findMisnamed, isDescriptive, STANDARD, type StandardObject } from './standard.ts'

/** A definition has faults, and none of it is used. */
export class DefinitionRefused extends UserError {}

/** A value in a JSON or YAML document with its location; reports faults and notes at that location. */
export class Node {
  readonly value: unknown
  readonly #file: string
  readonly #path: string
  readonly #faults: Fault[]
  readonly #notes: string[]

  /** @param notes gets what changes no check, as full sentences */
  constructor(value: unknown, file: string, faults: Fault[], notes: string[] = [], path = '') {
    this.value = value
    this.#file = file
    this.#path = path
    this.#faults = faults
    this.#notes = notes
  }

  get present(): boolean {
    return this.value !== undefined
  }

  fault(message: string): undefined {
    const place = this.#path === '' ? {} : { field: this.#path }
    this.#faults.push({ file: this.#file, ...place, message })
    return undefined
  }

  note(message: string): undefined {
    this.#notes.push(`${this.#file}: ${this.#path}: ${message}.`)
  }

  get(name: string): Node {
    const value = isObject(this.value) ? this.value[name] : undefined
    const step = /^[\w]+$/.test(name) ? (this.#path === '' ? name : `.${name}`) : `[${JSON.stringify(name)}]`
    return new Node(value, this.#file, this.#faults, this.#notes, this.#path + step)
  }

  /**
   * Reports all unknown properties if `strict`. Otherwise, of an object of the standard, it reports unknown `mahi:`
   * properties and those that resemble one of the standard's. What changes no check is a note.
   */
  knows(
    names: readonly string[],
    { strict = false, object }: { strict?: boolean; object?: StandardObject } = {},
  ): void {
    if (!isObject(this.value)) return
    const standard = object === undefined ? [] : STANDARD[object]
    for (const name of Object.keys(this.value)) {
      if (names.includes(name) || standard.includes(name)) continue
      const misnamed = object === undefined ? undefined : findMisnamed(name, object)
      const node = this.get(name)
      if (misnamed?.isHarmless === true) node.note(misnamed.message)
      else if (misnamed !== undefined) node.fault(misnamed.message)
      else if (name.startsWith('mahi:') || (strict && !(object !== undefined && isDescriptive(name, object))))
        node.fault(`is not a known property${suggest(name, [...names, ...standard])}`)
    }
  }

  object(): Node | undefined {
    if (isObject(this.value)) return this
    return this.present ? this.fault(`must be an object, not ${describe(this.value)}`) : undefined
  }

  names(): string[] {
    return isObject(this.value) ? Object.keys(this.value) : []
  }

  list(): Node[] {
    if (!this.present) return []
    if (!Array.isArray(this.value)) {
      this.fault(`must be a list, not ${describe(this.value)}`)
      return []
    }
    return this.value.map(
      (item, index) => new Node(item, this.#file, this.#faults, this.#notes, `${this.#path}[${index}]`),
    )
  }

  /** A list, or a single value as a list with one item. */
  listOrOne(): Node[] {
    return this.present && !Array.isArray(this.value) ? [this] : this.list()
  }

  text(): string | undefined {
    if (!this.present) return undefined
    if (typeof this.value === 'string') return this.value
    return this.fault(`must be text, not ${describe(this.value)}`)
  }

  /** Text that is not empty; null is none. */
  filledText(): string | undefined {
    const text = this.value === null ? undefined : this.text()
    return text === '' ? this.fault('must not be empty') : text
  }

  /** This object with the properties of others, which are in its place in the descriptors of some programs. */
  with(...others: readonly Node[]): Node {
    const objects = [this, ...others].map((each) => each.value).filter(isObject)
    if (objects.length === 0) return this
    const all = Object.fromEntries(objects.flatMap((each) => Object.entries(each)))
    return new Node(all, this.#file, this.#faults, this.#notes, this.#path)
  }

  /** A text that only describes, unless it is empty: a number is one too, and what is no text is ignored with a note. */
  description(): string | undefined {
    if (this.value === undefined || this.value === null) return undefined
    if (typeof this.value === 'object')
      return this.note(`is ${describe(this.value)}, not text, and is ignored`)
    return String(this.value) || undefined
  }

  requiredText(): string {
    const text = this.text()
    if (text !== undefined && text !== '') return text
    if (!this.present || text === '') this.fault('is missing')
    return ''
  }

  /** Text, or a number as text: the standard accepts either for minimum and enum. */
  scalar(): string | undefined {
    if (!this.present) return undefined
    const { value } = this
    if (typeof value === 'string') return value
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    return this.fault(`must be text or a number, not ${describe(value)}`)
  }

  whole(): number | undefined {
    if (!this.present) return undefined
    if (typeof this.value === 'number' && Number.isInteger(this.value) && this.value >= 0) return this.value
    return this.fault(`must be a whole number from 0, not ${describe(this.value)}`)
  }

  flag(): boolean {
    if (!this.present) return false
    if (typeof this.value === 'boolean') return this.value
    this.fault(`must be true or false, not ${describe(this.value)}`)
    return false
  }

  oneOf<const T extends string>(names: readonly T[]): T | undefined {
    const text = this.text()
    if (text === undefined) return undefined
    const name = names.find((each) => each === text)
    if (name !== undefined) return name
    return this.fault(`must be ${joinOr(names)}, not ${quote(text)}${suggest(text, names)}`)
  }

  texts(): string[] {
    return this.list().flatMap((node) => node.text() ?? [])
  }

  pattern(): string | undefined {
    const text = this.text()
    if (text === undefined) return undefined
    try {
      compilePattern(text)
      if (!growsExponentially(text)) return text
      return this.fault(
        'is a pattern whose time can double with each character of a value: a repeated part, such as (a+)+, must match a text in one way only',
      )
    } catch (error) {
      return this.fault(`is not a valid pattern: ${(error as Error).message}`)
    }
  }

  date(): string | undefined {
    const text = this.text()
    if (text === undefined || isDate(text)) return text
    return this.fault(`must be a date such as 2025-12-31, not ${quote(text)}`)
  }
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'string' ? quote(value) : String(value)
}
