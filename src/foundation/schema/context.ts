import { explainC1, repairText } from '../text/mojibake.ts'
import { findControl, findTextFault } from '../text/normalise.ts'
import { quote } from '../text/quote.ts'

export interface SchemaFault {
  /** The path of the field, such as `tasks[1]`; empty for the value itself. */
  readonly field: string
  /** What is wrong and what is allowed: a clause with the field as its subject. */
  readonly message: string
}

export interface ReadingOptions {
  /** Values may be about people: faults, which are logged, then do not repeat them. */
  readonly personal?: boolean
  /** Repair UTF-8 that was decoded as Windows-1252 or Latin-1, and find text that lost characters. */
  readonly repair?: boolean
  /**
   * Lists of objects keep their length, because a response may refer to their items by place: an empty one stays. A list
   * that must have items must not be empty.
   */
  readonly keepItems?: boolean
}

/** What is known about a value while it is read: where the reader is, and what it has found. */
export class Context {
  readonly faults: SchemaFault[] = []
  /** Texts that lost characters or were decoded wrongly beyond repair, and texts of which this is only likely. */
  readonly damage: SchemaFault[] = []
  readonly doubts: SchemaFault[] = []
  readonly path: (string | number)[] = []
  normalised = false
  repaired = false
  readonly keepsItems: boolean
  readonly #personal: boolean
  readonly #repair: boolean

  constructor({ personal = false, repair = false, keepItems = false }: ReadingOptions) {
    this.keepsItems = keepItems
    this.#personal = personal
    this.#repair = repair
  }

  /** Repairs a text, and keeps what cannot be repaired with certainty. */
  repair(given: string): string {
    if (!this.#repair) return given
    const { text, fault, doubt } = repairText(given)
    if (text !== given) this.repaired = true
    const field = renderPath(this.path)
    if (fault !== undefined) this.damage.push({ field, message: fault })
    if (doubt !== undefined) this.doubts.push({ field, message: doubt })
    return text
  }

  /** Why text cannot be stored; `undefined` if it can. */
  findTextFault(text: string): string | undefined {
    const fault = findTextFault(text)
    const control = fault === undefined || !text.isWellFormed() ? undefined : findControl(text)
    if (control === undefined) return fault
    const cause = control.character >= '\u0080' ? `: ${explainC1(control.character)}` : ''
    if (this.#personal) return `${fault}${cause}`
    const start = Math.max(0, control.index - 20)
    const surroundings = text.slice(start, control.index + 20).toWellFormed()
    return `${fault} in ${quote(`${start > 0 ? '…' : ''}${surroundings}`)}${cause}`
  }

  /** The end of a message that quotes the rejected text; empty for personal data, which is never repeated. */
  not(text: string): string {
    return this.#personal ? '' : `, not ${quote(text)}`
  }

  /** Describes a value of the wrong type for a message. */
  describe(value: unknown): string {
    if (value === null) return 'null'
    if (Array.isArray(value)) return 'a list'
    if (typeof value === 'object') return 'an object'
    if (this.#personal) return typeof value === 'string' ? 'a text' : `a ${typeof value}`
    return typeof value === 'string' ? `the text ${quote(value, 40)}` : `${value}`
  }

  fault(message: string): undefined {
    this.faults.push({ field: renderPath(this.path), message })
    return undefined
  }

  /**
   * Whether a field of the current object already has a fault.
   *
   * @param first the number of faults before the object: a list has any number of faulty items
   */
  isNamed(name: string, first: number): boolean {
    if (first === this.faults.length) return false
    const field = renderPath([...this.path, name])
    for (let index = first; index < this.faults.length; index++) {
      const { field: faulty = '' } = this.faults[index] ?? {}
      if (faulty === field || faulty.startsWith(`${field}.`) || faulty.startsWith(`${field}[`)) return true
    }
    return false
  }

  /** Reads a part of the current value. */
  within(
    step: string | number,
    value: unknown,
    read: (value: unknown, context: Context) => unknown,
  ): unknown {
    this.path.push(step)
    const result = read(value, this)
    this.path.pop()
    return result
  }
}

function renderPath(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (before, step) =>
      typeof step === 'number' ? `${before}[${step}]` : before === '' ? step : `${before}.${step}`,
    '',
  )
}
