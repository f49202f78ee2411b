import { Interner } from '../../../foundation/text/interner.ts'

/** What a column seems to hold. */
export interface Form {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'time'
  readonly format?: string
  readonly decimalChar?: string
}

interface Candidate {
  readonly form: Form
  readonly pattern: RegExp
  /** Matches a value that proves the form; without one, another form is possible as well. */
  readonly proof?: RegExp
}

const TEXT: Form = { type: 'string' }

/** From the strictest to the widest. Whole numbers with leading zeros are codes. */
const CANDIDATES: readonly Candidate[] = [
  { form: { type: 'boolean' }, pattern: /^(?:true|false)$/i },
  { form: { type: 'integer' }, pattern: /^[+-]?(?:0|[1-9]\d*)$/ },
  { form: { type: 'number' }, pattern: /^[+-]?(?:0|[1-9]\d*)(?:\.\d+)?$/ },
  {
    form: { type: 'number', decimalChar: ',' },
    pattern: /^[+-]?(?:0|[1-9]\d*)(?:,\d+)?$/,
    proof: /^[+-]?0,|,(?:\d{1,2}|\d{4,})$/,
  },
  { form: { type: 'date' }, pattern: /^\d{4}-\d{2}-\d{2}$/ },
  {
    form: { type: 'datetime' },
    pattern: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?$/,
  },
  { form: { type: 'time' }, pattern: /^\d{2}:\d{2}:\d{2}$/ },
  {
    form: { type: 'date', format: '%d/%m/%Y' },
    pattern: /^(?:0?[1-9]|[12]\d|3[01])\/(?:0?[1-9]|1[0-2])\/\d{4}$/,
    proof: /^(?:1[3-9]|[23]\d)\//,
  },
  {
    form: { type: 'date', format: '%m/%d/%Y' },
    pattern: /^(?:0?[1-9]|1[0-2])\/(?:0?[1-9]|[12]\d|3[01])\/\d{4}$/,
    proof: /\/(?:1[3-9]|[23]\d)\//,
  },
]

/** The distinct values that are counted; a column with more is no enumeration. */
const COUNTED = 50
/** An enumeration has at most this many values, each this many times on average. */
const MOST_OF_ENUMERATION = 20
const REPEATED = 5
/** The fewest values of an enumeration or of a column without repeated values. */
const LEAST = 50
/** The longest value of a key or an enumeration. */
const LONGEST = 64

/** The memory that all columns share to find out whether their values repeat. */
export class Room {
  #columns = 1000
  #bytes = 2 ** 28

  open(): Interner | undefined {
    return this.#columns-- > 0 ? new Interner() : undefined
  }

  /** Whether there is room for a text. */
  take({ length }: string): boolean {
    this.#bytes -= length
    return length <= LONGEST && this.#bytes >= 0
  }
}

/** The values of a column, each passed once. What is kept does not depend on their number, but for possible keys. */
export class Column {
  readonly name: string
  filled = 0
  readonly #room: Room
  #records = 0
  #candidates = CANDIDATES
  readonly #proven = new Set<Candidate>()
  /** Some of the values, and how often each occurs as long as these are all. */
  readonly #counts = new Map<string, number>()
  #hasMore = false
  /** All values, as long as none repeats and there is room for them. */
  #distinct: Interner | undefined

  constructor(name: string, room: Room) {
    this.name = name
    this.#room = room
    this.#distinct = room.open()
  }

  add(cell: string): void {
    this.#records++
    const value = cell.trim()
    if (value === '') return
    this.filled++
    if (this.#candidates.length > 0) this.#narrow(value)
    this.#count(value)
    const { size } = this.#distinct ?? { size: 0 }
    const isNew =
      this.#distinct !== undefined && this.#room.take(value) && this.#distinct.intern(value) >= size
    if (!isNew) this.#distinct = undefined
  }

  #narrow(value: string): void {
    // Most values leave all candidates that earlier ones left.
    if (!this.#candidates.every(({ pattern }) => pattern.test(value)))
      this.#candidates = this.#candidates.filter(({ pattern }) => pattern.test(value))
    for (const each of this.#candidates) if (each.proof?.test(value)) this.#proven.add(each)
  }

  #count(value: string): void {
    if (this.#hasMore) return
    const count = this.#counts.get(value)
    if (count !== undefined) this.#counts.set(value, count + 1)
    // A copy: the value would keep a whole block of the file in memory.
    else if (this.#counts.size < COUNTED && value.length <= LONGEST)
      this.#counts.set(Buffer.from(value).toString(), 1)
    else this.#hasMore = true
  }

  /** Some of the different values. */
  get sample(): readonly string[] {
    return [...this.#counts.keys()]
  }

  /** One of the values. */
  get example(): string {
    return this.sample[0] ?? ''
  }

  /** Whether a column without repeated values has one. */
  has(value: string): boolean {
    if (!this.#hasMore) return this.#counts.has(value)
    const { size } = this.#distinct ?? { size: 0 }
    return this.#distinct !== undefined && this.#distinct.intern(value) < size
  }

  /** Whether every record has a value. */
  get isComplete(): boolean {
    return this.filled > 0 && this.filled === this.#records
  }

  /** Whether no value repeats, as far as there was memory to find out. */
  get isUnique(): boolean {
    return this.filled > 0 && this.#distinct !== undefined
  }

  /** Whether no value repeats, in so many records that it is hardly by chance. */
  get isNotable(): boolean {
    return this.isUnique && this.filled >= LEAST
  }

  get form(): Form {
    const [first] = this.#candidates.filter((each) => each.proof === undefined || this.#proven.has(each))
    return this.filled === 0 ? TEXT : (first?.form ?? TEXT)
  }

  /** The forms that the values may have, but that none of them proves. */
  get possible(): readonly Form[] {
    if (this.filled === 0 || this.form !== TEXT) return []
    return this.#candidates.map(({ form }) => form)
  }

  /** The values of an enumeration, sorted; `undefined` if the column seems to be none. */
  get permitted(): readonly string[] | undefined {
    const values = this.#hasMore ? [] : [...this.#counts.keys()]
    const isEnumeration =
      this.form === TEXT &&
      this.possible.length === 0 &&
      this.filled >= LEAST &&
      values.length > 0 &&
      values.length <= MOST_OF_ENUMERATION &&
      values.length * REPEATED <= this.filled
    return isEnumeration ? values.sort() : undefined
  }
}
