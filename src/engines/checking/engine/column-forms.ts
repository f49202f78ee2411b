/** Fewer values prove nothing about a column: they may be slips. */
export const LEAST_VALUES = 3
/** The least share of a column's values, for the same reason. */
const LEAST_SHARE = 0.1

/** Whether enough values of a column have a form to say that the column has it. */
export function isColumn(count: number, values: number): boolean {
  return count >= LEAST_VALUES && count >= values * LEAST_SHARE
}

export const DECIMAL_COMMA = /^-?\d+,\d+$/
export const THOUSANDS_COMMA = /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/
/** A comma that can be no separator of thousands. */
export const SURELY_DECIMAL = /^-?(?:0\d*,\d+|\d{4,},\d+|\d+,(?:\d{1,2}|\d{4,}))$/
/** A number with a comma before its decimals and points between its thousands. */
export const BOTH_MARKS = /^-?\d{1,3}(?:\.\d{3})+,\d+$/

/** Collects what the values of a column, together, say about their commas. */
export class CommaEvidence {
  #values = 0
  #points = 0
  #decimals = 0
  #others = 0
  #grouped = 0
  /** Whether a number has both marks, such as `1.234,50`. */
  hasBoth = false

  add(value: string): void {
    this.#values++
    if (value.includes('.')) this.#points++
    if (BOTH_MARKS.test(value)) this.hasBoth = true
    if (THOUSANDS_COMMA.test(value)) this.#grouped++
    if (SURELY_DECIMAL.test(value)) this.#decimals++
    else if (value.includes(',') && !DECIMAL_COMMA.test(value)) this.#others++
  }

  /** Whether the column has commas between thousands, as a number such as `1,234.50` shows, and none denies. */
  get hasThousands(): boolean {
    return this.#others > 0 && this.#decimals === 0 && isColumn(this.#grouped, this.#values)
  }

  /** What the commas separate; `undefined` if that is not certain. */
  decide(): 'decimals' | 'thousands' | undefined {
    if (this.#points + this.#others > 0) return this.#decimals === 0 ? 'thousands' : undefined
    return isColumn(this.#decimals, this.#values) ? 'decimals' : undefined
  }
}

const ISO_DATE = /^\d{4}-\d{2}-(\d{2})$/
/** A date with the year last, by its numbers and separators. */
export const YEAR_LAST = /^(\d{1,2})([/.-])(\d{1,2})([/.-])(\d{4}|\d{2})$/
/** With hyphens, two digits of a year may be the first ones, too: `25-02-17`. */
export const SHORT_YEAR = /^\d{1,2}-\d{1,2}-\d{2}$/

/** How a day or a month that needs one digit is written; empty if it needs two. */
function paddingOf(digits: string): string {
  if (digits.startsWith('0')) return 'with zero'
  return digits.length === 1 ? 'without zero' : ''
}

/** Collects what the values of a column, together, say about the order of days and months. */
export class DateEvidence {
  /** Dates as year-month-day, and those of them with a day after the 12th. */
  iso = 0
  #isoLate = 0
  /** Dates with the year last, and those of them whose first or second number can only be the day. */
  #yearLast = 0
  #dayFirst = 0
  #monthFirst = 0
  /** Dates with two separators, two digits of a year or a time: the column was written by something else. */
  #others = 0
  /** Their separators, and how those of their first and second numbers are written that need one digit. */
  readonly #forms = [new Set<string>(), new Set<string>(), new Set<string>()]

  add(value: string): void {
    const [, day = ''] = ISO_DATE.exec(value) ?? []
    if (day !== '') this.iso++
    if (Number(day) > 12) this.#isoLate++
    const [isLast, first = '', separator = '', second = '', next, year] = YEAR_LAST.exec(value) ?? []
    if (isLast === undefined || SHORT_YEAR.test(value)) {
      if (/^\d{1,2}[/.-]\d{1,2}[/.-]/.test(value)) this.#others++
      return
    }
    if (separator !== next || year?.length === 2) this.#others++
    this.#yearLast++
    if (Number(first) > 12) this.#dayFirst++
    if (Number(second) > 12) this.#monthFirst++
    for (const [part, form] of [separator, paddingOf(first), paddingOf(second)].entries())
      if (form !== '') this.#forms[part]?.add(form)
  }

  /** How many dates can have the day at one place only, if all with the year last do; otherwise 0. */
  get late(): number {
    const late = this.#dayFirst + this.#monthFirst
    return late === this.#yearLast ? late : 0
  }

  /** Whether a spreadsheet has turned the dates around that it could read, and left the others. */
  get isTurned(): boolean {
    return this.late > 0 && this.iso >= LEAST_VALUES && this.mayBeTurned
  }

  /** Whether no date so far shows that they are not. */
  get mayBeTurned(): boolean {
    return this.#isoLate === 0
  }

  /** Why dates may not have an order: empty if they surely have the other one, `undefined` if they surely have it. */
  doubt(order: 'day first' | 'month first'): string | undefined {
    if (this.isTurned)
      return 'A spreadsheet has probably turned day and month around in other dates of the column.'
    if (this.#dayFirst > 0 && this.#monthFirst > 0)
      return 'Some dates of the column have the day first, and others the month.'
    if (this.#dayFirst + this.#monthFirst === 0)
      return 'No date of the column shows whether the day or the month is first.'
    if (this.#others > 0 || this.#forms.some(({ size }) => size > 1))
      return 'The dates of the column are written in several ways.'
    return this.#dayFirst > 0 === (order === 'day first') ? undefined : ''
  }
}
