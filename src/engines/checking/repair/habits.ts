import { lookUp } from '../../../foundation/look-up.ts'
import { repairText } from '../../../foundation/text/mojibake.ts'
import { isNoValueWord } from '../../../foundation/text/no-value-word.ts'
import type { Field, PermittedValue } from '../definition/definition.ts'
import { trimNumber } from '../definition/numbers.ts'
import {
  type CommaEvidence,
  type DateEvidence,
  DECIMAL_COMMA,
  LEAST_VALUES,
  THOUSANDS_COMMA,
} from '../engine/column-forms.ts'
import { addZeros } from '../engine/natures.ts'
import type { FieldTester } from './field-tester.ts'

/** What the values of a column say together about something that may have been done to them. */
interface Column {
  /** How many were changed by it, how many are right, and how many are wrong otherwise. */
  readonly done: number
  readonly right: number
  readonly other: number
  /** Whether one of them shows that it was not done. */
  readonly isDenied: boolean
  /** Whether the same was certainly done to another column of the file. */
  readonly elsewhere: boolean
  /** The fewest characters that it took from a value. */
  readonly fewest: number
  readonly commas: CommaEvidence
  readonly dates: DateEvidence
  /** How many signs of currencies its values have. */
  readonly currencies: number
  /** The same of another habit: how many were changed by it, and whether one shows that it was not done. */
  readonly of: (habit: Habit) => { readonly done: number; readonly isDenied: boolean }
}

/** What programs and people do to all values of a column, and how it is undone. */
export interface Habit {
  readonly why: string
  /** Whether a program that does it to a column does it to all columns of a file. */
  readonly ofFile?: true
  /** The value as it was meant, if this was done to it; it still has to be valid. */
  readonly undo: (value: string, tester: FieldTester) => string | undefined
  /** Why it is not certain that this was done, if so many values of the column as it needs have it; empty if it surely was not. */
  readonly doubt?: (column: Column, tester: FieldTester) => string | undefined
  /** Whether a value shows that this was not done to the column. */
  readonly denies?: (value: string, tester: FieldTester) => boolean
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const LOCAL_DATE = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})$/
const DAY_MONTH = /^(\d{1,2})[ ./-]?([a-z]{3})[a-z]*\.?[ ,./-]{1,2}(\d{4})$/i
const MONTH_DAY = /^([a-z]{3})[a-z]*\.? ?(\d{1,2}),? (\d{4})$/i
const MIDNIGHT = /^(.+?)(?:T|,? )0?0:00(?::00(?:\.0+)?)?Z?$/i
const AMOUNT = /^(-?)[$€£] ?(\d+(?:\.\d+)?|\d{1,3}(?:,\d{3})+\.\d+)$/
/** What a spreadsheet or a form shows for these codes. */
const ANSWERS = lookUp({ Y: 'yes', N: 'no' })
const OTHER_TIME = /[T ]\d{1,2}:\d{2}/

function toIso(value: string): string | undefined {
  const [, day, name, year] = DAY_MONTH.exec(value) ?? []
  const [, otherName, otherDay, otherYear] = MONTH_DAY.exec(value) ?? []
  const month = MONTHS.indexOf((name ?? otherName ?? '').toLowerCase()) + 1
  if (month === 0) return undefined
  return `${year ?? otherYear}-${String(month).padStart(2, '0')}-${(day ?? otherDay ?? '').padStart(2, '0')}`
}

/** Whether a field holds codes of one length, which says how many zeros are missing. */
function isFixed({ field, isValid }: FieldTester, value: string): boolean {
  const { type, permitted, limits } = field
  if (type !== 'string' || permitted !== undefined) return false
  if (limits.pattern === undefined && limits.minLength !== limits.maxLength) return false
  const code = addZeros(value, isValid)
  return code !== undefined && !isValid(`0${code}`)
}

/** Whether a comma in a number of a field may be that of other decimals or of thousands. */
export const mayHaveCommas = ({ type, decimalChar, groupChar }: Field): boolean =>
  type === 'number' && decimalChar === '.' && groupChar === undefined

const COMMAS_IN_DOUBT = {
  decimals: undefined,
  thousands: 'The commas of the column seem to separate thousands.',
  unknown: 'Nothing shows whether the commas of the column separate decimals or thousands.',
} as const

export const hasIsoDates = ({ type, format }: Field): boolean => type === 'date' && format === 'default'

function toOrderedIso(value: string, order: 'day first' | 'month first'): string | undefined {
  const [isDate, first = '', , second = '', year] = LOCAL_DATE.exec(value) ?? []
  if (isDate === undefined) return undefined
  const [day, month] = order === 'day first' ? [first, second] : [second, first]
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}

/** The code of a list that alone is meant. */
function findOnly(
  { type, permitted = [] }: Field,
  isMeant: (each: PermittedValue) => boolean,
): string | undefined {
  if (type !== 'string') return undefined
  const codes = new Set(permitted.filter(isMeant).map(({ value }) => value))
  return codes.size === 1 ? [...codes][0] : undefined
}

const ZEROS_IN_DOUBT =
  'Neither the other values of the column nor another column show that it has lost its leading zeros.'

/** Where every value lacks two zeros or more, codes may be something shorter, such as years without the century. */
const areShown = ({ other, elsewhere, fewest }: Column): boolean => elsewhere && other === 0 && fewest === 1

const WHOLE_NUMBER = /^(-?\d+)\.0$/

const DECIMAL_PLACE: Habit = {
  why: 'The whole numbers of the column were written with a decimal place, as programs do where a column has gaps.',
  undo: (value, { field: { type } }) =>
    ['integer', 'string', 'year', 'list'].includes(type) ? WHOLE_NUMBER.exec(value)?.[1] : undefined,
  doubt: ({ other, of }) =>
    other > of(DECIMAL_WITHOUT_ZEROS).done
      ? 'Other values of the column are wrong in another way.'
      : undefined,
}

/** What reads codes as decimal numbers also removes their leading zeros: the others are then as long as they must be. */
const DECIMAL_WITHOUT_ZEROS: Habit = {
  why: 'The codes of the column were written as decimal numbers, without their leading zeros.',
  undo: (value, tester) => {
    const [, whole = ''] = WHOLE_NUMBER.exec(value) ?? []
    return tester.codes.get(whole) ?? (isFixed(tester, whole) ? addZeros(whole, tester.isValid) : undefined)
  },
  doubt: ({ isDenied, other, right, of }) => {
    const { done } = of(DECIMAL_PLACE)
    return !isDenied && other === done && right + done >= LEAST_VALUES ? undefined : ZEROS_IN_DOUBT
  },
  denies: (value) => /^0\d/.test(value),
}

const PERCENTAGE = /^(-?)(\d+)(\.\d+)? ?%$/

/** A percentage as its number, and as its share of 1, as far as a field has plain numbers. */
function readPercentage(
  { type, decimalChar }: Field,
  value: string,
): [number: string, share: string] | undefined {
  const [isOne, sign = '', whole = '', fraction = ''] = PERCENTAGE.exec(value) ?? []
  if (isOne === undefined || !['number', 'integer'].includes(type) || decimalChar !== '.') return undefined
  const digits = whole.padStart(3, '0')
  const share = `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}${fraction.slice(1)}`
  return [`${sign}${whole}${fraction}`, trimNumber(share)]
}

/** One of the two is certain if the checks of the field refuse a value of the column in the other form. */
function makePercentages(form: 0 | 1, what: string): Habit {
  return {
    why: `The numbers of the column had a percent sign, and are ${what}.`,
    undo: (value, { field }) => readPercentage(field, value)?.[form],
    doubt: ({ isDenied, of }) => {
      if (!isDenied && of(PERCENTAGES[1 - form] as Habit).isDenied) return undefined
      return 'Nothing shows whether 50% in the column is 50 or 0.5.'
    },
    denies: (value, { field, isValid }) => {
      const number = readPercentage(field, value)?.[form]
      return number !== undefined && !isValid(number)
    },
  }
}

const PERCENTAGES: readonly Habit[] = [
  makePercentages(0, 'written without it'),
  makePercentages(1, 'written as shares of 1'),
]

/** In the order in which they are tried. */
export const HABITS: readonly Habit[] = [
  {
    why: 'The dates of the column had the time of midnight behind them.',
    undo: (value, { field }) => (field.type === 'date' ? MIDNIGHT.exec(value)?.[1] : undefined),
    doubt: ({ isDenied }) =>
      isDenied ? 'Other dates of the column have a time that is not midnight.' : undefined,
    denies: (value) => OTHER_TIME.test(value) && !MIDNIGHT.test(value),
  },
  {
    why: 'The months of the column were written as names.',
    undo: (value, { field }) => (hasIsoDates(field) ? toIso(value) : undefined),
  },
  {
    why: 'The codes of the column were in the other case.',
    undo: (value, { field }) => findOnly(field, (each) => each.value.toUpperCase() === value.toUpperCase()),
  },
  {
    why: 'The amounts of the column had the sign of a currency.',
    undo: (value, { field }) => {
      if (!['number', 'integer'].includes(field.type) || field.decimalChar !== '.') return undefined
      const [, sign = '', amount] = AMOUNT.exec(value) ?? []
      return amount === undefined ? undefined : `${sign}${amount.replaceAll(',', '')}`
    },
    doubt: ({ currencies }) =>
      currencies > 1 ? 'The amounts of the column have the signs of several currencies.' : undefined,
  },
  {
    why: 'The codes of the column were written as words.',
    undo: (value, { field }) => {
      const word = value.toLowerCase()
      return findOnly(field, (each) => each.label?.toLowerCase() === word || ANSWERS[each.value] === word)
    },
  },
  {
    why: 'The values of the column were marked as text for a spreadsheet.',
    undo: (value) => (value.startsWith("'") ? value.slice(1) : /^="(.*)"$/.exec(value)?.[1]),
  },
  DECIMAL_PLACE,
  DECIMAL_WITHOUT_ZEROS,
  ...PERCENTAGES,
  {
    why: 'The characters of the column were decoded wrongly.',
    undo: (value, { field }) => (field.checks.characters === undefined ? undefined : repairText(value).text),
  },
  {
    why: 'The column has words or signs for no value, and may be empty.',
    undo: (value, { field }) => (!field.required && isNoValueWord(value) ? '' : undefined),
  },
  {
    why: 'The codes of the column, which have one length, have lost their leading zeros.',
    ofFile: true,
    undo: (value, tester) => (isFixed(tester, value) ? addZeros(value, tester.isValid) : undefined),
    doubt: (column) =>
      !column.isDenied && (column.right >= LEAST_VALUES || areShown(column)) ? undefined : ZEROS_IN_DOUBT,
    denies: (value) => /^0\d/.test(value),
  },
  {
    why: 'The codes of the column have lost their leading zeros.',
    ofFile: true,
    undo: (value, { codes }) => codes.get(value),
    doubt: (column, { field: { permitted = [] } }) => {
      const { isDenied, done, right, other } = column
      // Codes that never had zeros are right as they are.
      const isCertain = permitted.some(({ value }) => !value.startsWith('0'))
        ? right >= LEAST_VALUES && other < done
        : other === 0
      return !isDenied && (isCertain || areShown(column)) ? undefined : ZEROS_IN_DOUBT
    },
    denies: (value, { codes, isValid }) => codes.size > 0 && /^0\d/.test(value) && isValid(value),
  },
  {
    why: 'The column has decimal commas.',
    undo: (value, { field }) =>
      mayHaveCommas(field) && DECIMAL_COMMA.test(value) ? value.replace(',', '.') : undefined,
    doubt: ({ commas }) => COMMAS_IN_DOUBT[commas.decide() ?? 'unknown'],
  },
  {
    why: 'The column has commas between thousands.',
    undo: (value, { field }) =>
      mayHaveCommas(field) && THOUSANDS_COMMA.test(value) ? value.replaceAll(',', '') : undefined,
    doubt: ({ commas }) =>
      commas.hasThousands ? undefined : (COMMAS_IN_DOUBT[commas.decide() ?? 'unknown'] ?? ''),
  },
  ...(['day first', 'month first'] as const).map(
    (order): Habit => ({
      why: `The dates of the column have the ${order}.`,
      undo: (value, { field }) => (hasIsoDates(field) ? toOrderedIso(value, order) : undefined),
      doubt: ({ dates }) => dates.doubt(order),
    }),
  ),
]
