import { lookUp } from '../../../foundation/look-up.ts'
import { dropEnd } from '../../../foundation/text/drop-end.ts'

/** How the numbers of a field are written. */
export interface NumberForm {
  readonly decimalChar: string
  readonly groupChar: string | undefined
  /** Whether nothing may surround the number, such as a currency or `%`. */
  readonly bareNumber: boolean
}

/** The largest exponent of a number: the digits of `1E999999999` would fill the memory. */
const MOST_EXPONENT = 400

const PLAIN_INTEGER = /^-?\d+$/
const PLAIN_NUMBER = /^-?\d+(?:\.\d+)?$/

/**
 * Compiles the reader of numbers: their plain text, which has an optional `-`, digits, and a point only between digits.
 * The standard's special values become `NaN`, `Infinity` and `-Infinity`, which JavaScript reads.
 */
export function compileNumber(form: NumberForm): (value: string) => string | undefined {
  const read = compileForms(form, true)
  // A point is the sign of decimals: most numbers are plain.
  return form.decimalChar === '.' ? (value) => (PLAIN_NUMBER.test(value) ? value : read(value)) : read
}

/** Compiles the reader of integers: their plain text, which has an optional `-` and digits. */
export function compileInteger(form: NumberForm): (value: string) => string | undefined {
  const read = compileForms(form, false)
  return (value) => (PLAIN_INTEGER.test(value) ? value : read(value))
}

function compileForms(
  { decimalChar, groupChar, bareNumber }: NumberForm,
  isReal: boolean,
): (value: string) => string | undefined {
  const point = RegExp.escape(decimalChar)
  const group = groupChar && RegExp.escape(groupChar)
  // The last group has three digits, so that a decimal comma is not taken for a separator: 10,00 is not 1000.
  const whole = group === undefined ? '\\d*' : `(?:\\d{1,3}(?:${group}\\d{2,3})*${group}\\d{3}|\\d*)`
  const rest = isReal ? `(?:${point}(\\d*))?(?:[eE]([+-]?\\d{1,9}))?` : '()()'
  const pattern = new RegExp(`^([+-]?)(${whole})${rest}$`)
  // What surrounds a number must not decide about its sign: -€12, 12- and (12) are not read as 12.
  const before = new RegExp(`^[^\\d+\\-()]*?(?=[+-]?${isReal ? `(?:${point})?` : ''}\\d)`)
  const isAfter = (character: string) => !/[\d+\-()]/.test(character)
  return (value) => {
    const text = bareNumber ? value : dropEnd(value.replace(before, ''), isAfter)
    const special = isReal ? SPECIAL[text.toLowerCase()] : undefined
    if (special !== undefined) return special
    const [, sign = '', digits = '', fraction = '', exponent = ''] = pattern.exec(text) ?? []
    if (digits === '' && fraction === '') return undefined
    const plain = groupChar === undefined ? digits : digits.replaceAll(groupChar, '')
    const shifted = shift(plain, fraction, Number(exponent))
    if (shifted === undefined) return undefined
    return sign === '-' ? `-${shifted}` : shifted
  }
}

const SPECIAL = lookUp<string>({
  nan: 'NaN',
  inf: 'Infinity',
  '-inf': '-Infinity',
})

/** The digits of a number with its point moved by an exponent. */
function shift(whole: string, fraction: string, exponent: number): string | undefined {
  if (Math.abs(exponent) > MOST_EXPONENT) return undefined
  const digits = whole + fraction
  const point = whole.length + exponent
  const full = digits.padStart(digits.length - Math.min(point, 0), '0').padEnd(point, '0')
  const at = Math.max(point, 0)
  const decimals = full.slice(at)
  return `${full.slice(0, at) || '0'}${decimals === '' ? '' : `.${decimals}`}`
}

/** The text that equal integers share. */
export function trimInteger(value: string): string {
  const first = value.charCodeAt(0)
  if (first !== 48 && first !== 45) return value
  const negative = first === 45
  const digits = (negative ? value.slice(1) : value).replace(/^0+(?=\d)/, '')
  return negative && digits !== '0' ? `-${digits}` : digits
}

/** The text that equal numbers share. */
export function trimNumber(value: string): string {
  if (!value.includes('.')) return trimInteger(value)
  const negative = value.charCodeAt(0) === 45
  const digits = trimFraction(negative ? value.slice(1) : value).replace(/^0+(?=\d)/, '')
  return negative && digits !== '0' ? `-${digits}` : digits
}

/** `09:30:00.50` is `09:30:00.5`. */
export function trimFraction(value: string): string {
  return value.includes('.') ? dropEnd(value, (digit) => digit === '0').replace(/\.$/, '') : value
}

/** Different numbers of up to this length have different binary floating-point numbers in the same order. */
const EXACT_LENGTH = 15

/** Orders plain numbers exactly; `NaN` is in no order with others. */
export function compareNumbers(one: string, other: string): number {
  if ((one.length <= EXACT_LENGTH && other.length <= EXACT_LENGTH) || isSpecial(one) || isSpecial(other)) {
    const [first, second] = [Number(one), Number(other)]
    return first === second ? 0 : first - second
  }
  const [first, second] = [trimNumber(one), trimNumber(other)]
  const [negative, otherNegative] = [first.startsWith('-'), second.startsWith('-')]
  if (negative !== otherNegative) return negative ? -1 : 1
  return negative ? compareMagnitudes(second.slice(1), first.slice(1)) : compareMagnitudes(first, second)
}

/** Whether a plain number is `NaN` or infinite. */
export function isSpecial(number: string): boolean {
  return number.charCodeAt(number.length - 1) > 57
}

function compareMagnitudes(one: string, other: string): number {
  const [whole = '', fraction = ''] = one.split('.')
  const [otherWhole = '', otherFraction = ''] = other.split('.')
  return (
    whole.length - otherWhole.length ||
    compareTexts(whole, otherWhole) ||
    compareTexts(fraction, otherFraction)
  )
}

export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
