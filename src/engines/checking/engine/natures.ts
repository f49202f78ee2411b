import { isSpreadsheetError } from '../../records/index.ts'
import type { Field, PermittedValue } from '../definition/definition.ts'
import { toPlainForm } from './plain-form.ts'

/** What programs and habits do to the values of a whole column. */
export interface Nature {
  readonly name: string
  /** The end of a sentence that starts with values, such as `are written day/month/year`. */
  readonly phrase: string
  readonly fix: string
}

const DATES: readonly [RegExp, Nature][] = [
  [
    /^\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}$/,
    {
      name: 'day-month-year',
      phrase: 'are not written year-month-day',
      fix: 'Write dates as year-month-day, such as 2025-02-17.',
    },
  ],
  [
    /^\d{4}-\d{2}-\d{2}[T ]/,
    { name: 'time', phrase: 'have a time behind the date', fix: 'Leave out the time.' },
  ],
  [
    /^\d{5}$/,
    {
      name: 'serial-number',
      phrase: 'are numbers of days, as a spreadsheet stores dates',
      fix: 'Format the column as a date such as 2025-02-17, and export the file again.',
    },
  ],
]

const NUMBERS: readonly [RegExp, Nature][] = [
  [
    /^-?\d{1,3}(,\d{3})+(\.\d+)?$/,
    {
      name: 'thousands',
      phrase: 'have thousands separators',
      fix: 'Leave out thousands separators.',
    },
  ],
  [
    /^-?\d+,\d+$/,
    {
      name: 'decimal-comma',
      phrase: 'have a decimal comma',
      fix: 'Use a point as the decimal separator.',
    },
  ],
  [/^-?[$€£] ?\d/, { name: 'currency', phrase: 'have a sign of a currency', fix: 'Leave out the currency.' }],
  [
    /^-?\d+(\.\d+)?[eE][+-]?\d+$/,
    {
      name: 'exponent',
      phrase: 'have an exponent',
      fix: 'Format the column as numbers with all digits, and export the file again.',
    },
  ],
  [
    /^-?\d+\.0+$/,
    { name: 'decimal-places', phrase: 'have decimal places', fix: 'Leave out the decimal places.' },
  ],
]

const SPREADSHEET_ERROR: Nature = {
  name: 'spreadsheet-error',
  phrase: 'are errors of a spreadsheet',
  fix: 'Correct the formula in the spreadsheet, or enter the value.',
}
const ZEROS: Nature = {
  name: 'leading-zeros',
  phrase: 'lack leading zeros',
  fix: 'Write the code with its leading zeros: spreadsheets remove them.',
}
const CASE: Nature = {
  name: 'case',
  phrase: 'are in the wrong case',
  fix: 'Write capital and small letters as in the permitted values.',
}
const INVISIBLE: Nature = {
  name: 'invisible',
  phrase: 'have an invisible character',
  fix: 'Remove the invisible characters.',
}

/** Finds what happened to a value that fails a check of its field; `undefined` if it is simply another value. */
export function findNature(
  { type, limits, permitted }: Field,
  value: string,
  matches: (value: string) => boolean,
): Nature | undefined {
  const text = value.trim()
  if (isSpreadsheetError(text)) return SPREADSHEET_ERROR
  if (/[\p{Cf}\u00a0]/u.test(text)) return INVISIBLE
  if (type === 'date') return DATES.find(([form]) => form.test(text))?.[1]
  if (type === 'number' || type === 'integer') return NUMBERS.find(([form]) => form.test(text))?.[1]
  if (permitted !== undefined && permitted.length > 0) return compareWith(permitted, text)
  if (limits.pattern === undefined && limits.minLength === undefined) return undefined
  for (let zeros = 1; /^\d+$/.test(text) && zeros <= 9; zeros++)
    if (matches('0'.repeat(zeros) + text)) return ZEROS
  return text !== text.toUpperCase() && matches(text.toUpperCase()) ? CASE : undefined
}

function compareWith(permitted: readonly PermittedValue[], text: string): Nature | undefined {
  const upper = text.toUpperCase()
  const form = toPlainForm(text)
  for (const { value } of permitted) {
    if (typeof value !== 'string' || value === text) continue
    if (value.toUpperCase() === upper) return CASE
    if (/^\d+$/.test(text) && value.endsWith(text) && toPlainForm(value) === form) return ZEROS
  }
  return undefined
}
