import { getOrMake } from '../../../foundation/get-or-make.ts'
import { stripInvisible } from './column-evidence.ts'

/** The least share of letters in one case that makes it the style of a column. */
const STYLE = 0.95
/** The least share of references that must match exactly, in this column or in another one. */
const OWN_SHARE = 0.5
const OTHER_SHARE = 0.9
const LEAST_VALUES = 3

/** Two texts that differ only in case and invisible characters have the same fold. */
function fold(value: string): string {
  return stripInvisible(value).toLowerCase()
}

/** The values of a column that others refer to. */
export class ReferencedValues {
  readonly #values = new Set<string>()
  readonly #byFold = new Map<string, string | undefined>()
  #upper = 0
  #lower = 0
  #letters = 0
  /** How many references match exactly, by the column that refers. */
  readonly #columns = new Map<object, { exact: number; all: number }>()
  /** The records that refer to a value exactly, for values whose case says nothing. */
  readonly #referred = new Set<string>()

  add(value: string): void {
    if (value === '' || this.#values.has(value)) return
    this.#values.add(value)
    const key = fold(value)
    this.#byFold.set(key, this.#byFold.has(key) ? undefined : value)
    if (!hasLetters(value)) return
    this.#letters++
    if (isUpper(value)) this.#upper++
    if (isLower(value)) this.#lower++
  }

  /** Notes a reference before anything is decided. */
  refer(column: object, value: string): void {
    const counts = getOrMake(this.#columns, column, () => ({ exact: 0, all: 0 }))
    counts.all++
    if (!this.#values.has(value)) return
    counts.exact++
    if (hasLetters(value) && !isUpper(value) && !isLower(value)) this.#referred.add(value)
  }

  /** The value that a reference surely means although its case differs. */
  find(column: object, value: string): string | undefined {
    if (this.#values.has(value)) return undefined
    const meant = this.#byFold.get(fold(value))
    if (meant === undefined || !this.#isTrusted(column)) return undefined
    const isSameCase = stripInvisible(value) === meant
    return isSameCase || this.#hasOwnCase(meant, value) ? meant : undefined
  }

  /** Otherwise the case of the column that is referred to may be the wrong one. */
  #isTrusted(column: object): boolean {
    return [...this.#columns].some(([each, { exact, all }]) =>
      each === column
        ? exact >= all * OWN_SHARE && exact > 0
        : all >= LEAST_VALUES && exact >= all * OTHER_SHARE,
    )
  }

  #hasOwnCase(meant: string, value: string): boolean {
    if (this.#letters < LEAST_VALUES) return false
    if (this.#upper >= this.#letters * STYLE) return isUpper(meant) && !isUpper(value)
    if (this.#lower >= this.#letters * STYLE) return isLower(meant) && !isLower(value)
    return this.#referred.has(meant)
  }
}

function hasLetters(value: string): boolean {
  return value.toLowerCase() !== value.toUpperCase()
}

function isUpper(value: string): boolean {
  return value === value.toUpperCase()
}

function isLower(value: string): boolean {
  return value === value.toLowerCase()
}
