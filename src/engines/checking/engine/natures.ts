import { lookUp } from '../../../foundation/look-up.ts'
import { repairText } from '../../../foundation/text/mojibake.ts'
import { isNoValueWord } from '../../../foundation/text/no-value-word.ts'
import { quote } from '../../../foundation/text/quote.ts'
import { isSpreadsheetError } from '../../records/index.ts'
import type { Field } from '../definition/definition.ts'
import { describeType } from '../definition/describe-field.ts'
import { compileMoment, showMoment } from '../definition/moments.ts'
import { isDate } from '../definition/parameters.ts'
import {
  BOTH_MARKS,
  CommaEvidence,
  DateEvidence,
  isColumn,
  LEAST_VALUES,
  SHORT_YEAR,
  SURELY_DECIMAL,
  YEAR_LAST,
} from './column-forms.ts'
import { compileField } from './field-checks.ts'

/** What programs and habits do to the values of a whole column. */
interface Nature {
  readonly name: string
  /** The end of a sentence that starts with several values, such as `have a decimal comma`. */
  readonly many: string
  /** The same for one value. */
  readonly one: string
  readonly fix: string
  /** The advice for a single value, where it differs from that for a column. */
  readonly hint?: string
}

/** What is said of values that have something. */
function has(what: string): Pick<Nature, 'many' | 'one'> {
  return { many: `have ${what}`, one: `has ${what}` }
}

/** Compiles whether a value passes those checks of a field that are in force. */
export function compileTest(
  field: Field,
  isInForce: (kind: string) => boolean,
  asOf: string,
): (value: string) => boolean {
  let failed = false
  const check = compileField(field, {
    at: () => -1,
    isInForce,
    report: () => undefined,
    conceal: () => {
      failed = true
    },
    asOf,
  })
  return (value) => {
    failed = false
    check(value)
    return !failed
  }
}

/** The code that a number is without its leading zeros, if there is one. */
export function addZeros(value: string, isCode: (value: string) => boolean): string | undefined {
  if (!/^\d+$/.test(value)) return undefined
  for (let zeros = 1; zeros <= 9; zeros++) {
    const code = '0'.repeat(zeros) + value
    if (isCode(code)) return code
  }
  return undefined
}

/** What is said of natures that are the same for all fields, and the advice where a field may be empty. */
interface KnownNature extends Omit<Nature, 'name'> {
  readonly optional?: string
}

const NATURES = {
  'spreadsheet-error': {
    many: 'are errors of a spreadsheet',
    one: 'is an error of a spreadsheet',
    fix: 'Correct the formula in the spreadsheet, or enter the value.',
    optional:
      'Correct the formula in the spreadsheet, or enter the value. Leave the cell empty if there is none.',
  },
  'narrow-column': {
    many: 'are lost, because a column of a spreadsheet was too narrow for them',
    one: 'is lost, because a column of a spreadsheet was too narrow for it',
    fix: 'Widen the column in the spreadsheet, and export the file again.',
  },
  'no-value': {
    many: 'are words or signs for no value',
    one: 'is a word or a sign for no value',
    fix: 'Enter the value.',
    optional: 'Leave the cell empty.',
  },
  'no-date': {
    many: 'are zeros, which programs write for no date',
    one: 'is zero, which programs write for no date',
    fix: 'Enter the date.',
    optional: 'Leave the cell empty.',
  },
  'no-such-day': {
    many: 'are days that the calendar does not have',
    one: 'is a day that the calendar does not have',
    fix: 'Correct the date.',
    hint: 'The calendar has no such day.',
  },
  formula: {
    many: 'are formulas of a spreadsheet',
    one: 'is a formula of a spreadsheet',
    fix: 'Write only the value, without =" and ".',
  },
  quoted: {
    many: 'are in quotation marks',
    one: 'is in quotation marks',
    fix: 'Write only the value, without quotation marks.',
  },
  apostrophe: {
    many: 'begin with an apostrophe, with which a spreadsheet marks text',
    one: 'begins with an apostrophe, with which a spreadsheet marks text',
    fix: 'Remove the apostrophe.',
  },
  'leading-zeros': {
    many: 'lack leading zeros',
    one: 'lacks leading zeros',
    fix: 'Write the code with its leading zeros: spreadsheets remove them.',
  },
  case: {
    many: 'are in the wrong case',
    one: 'is in the wrong case',
    fix: 'Write capital and small letters as in the permitted values.',
  },
  invisible: { ...has('an invisible character'), fix: 'Remove the invisible characters.' },
  'no-break-space': { ...has('a no-break space'), fix: 'Replace it with an ordinary space.' },
  thousands: { ...has('thousands separators'), fix: 'Leave out thousands separators.' },
  'decimal-places': { ...has('decimal places'), fix: 'Leave out the decimal places.' },
  time: { ...has('a time behind the date'), fix: 'Leave out the time.' },
  percentage: {
    ...has('a percent sign'),
    fix: 'Write numbers without a percent sign: 50% is 50 or 0.5, as the column expects it.',
  },
  exponent: {
    ...has('an exponent'),
    fix: 'Format the column as numbers with all digits, and export the file again.',
    hint: 'Write all digits, without an exponent.',
  },
  misread: { ...has('characters that were decoded wrongly'), fix: 'Export the data again as UTF-8.' },
  'lost-letters': {
    ...has('probably lost letters, such as those with macrons'),
    fix: 'Export the data again as UTF-8, or enter the values again.',
  },
  'time-zone': {
    ...has('a time zone without a colon'),
    fix: 'Write time zones with a colon, such as +00:00.',
  },
} satisfies Record<string, KnownNature>

/** What programs and people write for true and false. */
const TRUTH = /^(?:t|f|y|n|j|yes|no|ja|nein|on|off|true|false|0|1|x)$/i

const EXPONENT_FORM = /^-?\d+(\.\d+)?[eE][+-]?\d+$/
const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?'
const NAMED_MONTH = new RegExp(
  `^(?:\\d{1,2}[ ./-]?${MONTH}[ ,./-]{0,2}|${MONTH} ?\\d{1,2}[ ,] ?)(?:\\d{4}|\\d{2})$`,
  'i',
)
/** What databases write for no date, and spreadsheets for a zero that is shown as a date; a time may follow. */
const ZERO_DATE =
  /^(?:0000[/.-]00[/.-]00|1900[/.-]0?1[/.-]00?|00?[/.-]00?[/.-](?:0000|00)|(?:00?[/.-]0?1|0?1[/.-]00?)[/.-](?:1900|00))(?:[T ][0:.]+Z?)?$/
const YEAR_FIRST = /^(?:\d{4}([/.-])\d{1,2}\1\d{1,2}|(?:19|20)\d{6})$/
const WITH_TIME =
  /^(.{5,20}\d)(?:T|,? )\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[ap]m)?(?:Z|[+-]\d{2}:?\d{2})?$/i
const DAY_NUMBER = /^\d{5}$/
/** The days from 1954 to 2064, as a spreadsheet counts them. */
const LIKELY_DAYS = { from: 20_000, to: 60_000 }

/** A spreadsheet has read the dates that have a month at the place where it expects one, and left the others as text. */
export const TURNED = {
  name: 'turned',
  many: 'have a day after the 12th and are left as they were, while none of the others has one: there, a spreadsheet has turned day and month around',
  one: 'has a day after the 12th',
  fix: 'Export the file again from its source, with dates as year-month-day: in this file, nobody can tell which dates are right.',
  hint: 'A spreadsheet has turned day and month around in other dates of the column.',
} as const satisfies Nature

/** Any other value that fails another check than that of its type reads well. */
const TEXTS: readonly Field['type'][] = ['string', 'list', 'any']

/**
 * Finds what happened to values that fail a check of a field. A nature explains why the check fails: wherever what
 * happened can be undone, the check then accepts the value.
 */
export class FieldNatures {
  readonly #field: Field
  readonly #tests = new Map<string, (value: string) => boolean>()
  readonly #hasForm: (value: string) => boolean
  readonly #commas = new CommaEvidence()
  #values = 0
  #dayNumbers = 0
  readonly #dates = new DateEvidence()
  /** Whether a spreadsheet has turned day and month around, as all dates of the column show. */
  isTurned = false
  #whole: ((value: string) => boolean) | undefined

  constructor(field: Field) {
    this.#field = field
    this.#hasForm = field.type === 'date' ? compileForm(field) : () => false
  }

  /** Adds a value of the column, which decides between natures that look the same. */
  add(value: string): void {
    this.#values++
    if (DAY_NUMBER.test(value)) this.#dayNumbers++
    this.#commas.add(this.#toPointForm(value))
    if (this.#field.type === 'date') this.#dates.add(value)
  }

  /** Whether a spreadsheet may have turned day and month around wherever both are at most 12. */
  get mayBeTurned(): boolean {
    return hasIsoForm(this.#field) && this.#dates.late >= LEAST_VALUES
  }

  /** Whether something typical happened to a value, whichever check it fails. */
  isTypical(value: string): boolean {
    return ['type', 'enum', 'pattern', 'length'].some((kind) => this.find(kind, value) !== undefined)
  }

  /** Whether a value passes all checks of the field. */
  isValid(value: string): boolean {
    this.#whole ??= compileTest(this.#field, (kind) => kind !== 'required' && kind !== 'unique', '9999-12-31')
    return this.#whole(value)
  }

  /** Whether a value passes a check of this kind; of a code, the other checks too. */
  passes(kind: string, value: string): boolean {
    let test = this.#tests.get(kind)
    if (test === undefined) {
      const isOne = kind === 'type' || !TEXTS.includes(this.#field.type)
      // The natures of a code are those on any date.
      const permitted = this.#field.permitted?.map((each) => ({ ...each, from: undefined, until: undefined }))
      const isInForce = (each: string) => (isOne ? each === kind : each !== 'required')
      test = compileTest({ ...this.#field, permitted }, isInForce, '')
      this.#tests.set(kind, test)
    }
    return test(value)
  }

  /**
   * @param kind that of the check which the value fails
   * @returns `undefined` if the value is simply another one
   */
  find(kind: string, value: string): Nature | undefined {
    const { type } = this.#field
    if (kind === 'characters')
      return this.#known(repairText(value).text === value ? 'lost-letters' : 'misread')
    const isText = TEXTS.includes(type)
    const passes = (text: string) => text !== '' && this.passes(kind, text)
    if (kind !== 'type' && !isText)
      return kind === 'decimals' && passes(dropZeros(value)) ? this.#known('decimal-places') : undefined
    const trimmed = value.trim()
    const visible = trimmed.replace(/\p{Cf}/gu, '')
    const text = visible.replace(/[\u00a0\u202f]/g, ' ').trim()
    if (text !== trimmed && passes(text))
      return this.#known(visible === trimmed ? 'no-break-space' : 'invisible')
    const [, equals, marked = ''] = /^(=?)"(.*)"$/.exec(text) ?? []
    if (passes(marked)) return this.#known(equals === '' ? 'quoted' : 'formula')
    if (isSpreadsheetError(text)) return this.#known('spreadsheet-error')
    if (/^#{3,}$/.test(text)) return this.#known('narrow-column')
    return (
      (text.startsWith("'") && this.#isCode(kind) && passes(text.slice(1))
        ? this.#known('apostrophe')
        : undefined) ??
      (type === 'number' || type === 'integer'
        ? this.#findOfNumber(text, passes)
        : type === 'date'
          ? this.#findOfDate(text)
          : type === 'boolean' && TRUTH.test(text)
            ? this.#describeTruth()
            : /[+-]\d{4}$/.test(text) && passes(text.replace(/\d\d$/, ':$&'))
              ? this.#known('time-zone')
              : this.#findOfCode(kind, text, passes)) ??
      (isNoValueWord(text) ? this.#known('no-value') : undefined)
    )
  }

  #known(name: keyof typeof NATURES): Nature {
    const { optional, ...said }: KnownNature = NATURES[name]
    return { name, ...said, ...(optional !== undefined && !this.#field.required && { fix: optional }) }
  }

  /** Whether a check says which values there are: a length that varies does not. */
  #isCode(kind: string): boolean {
    const { minLength, maxLength } = this.#field.limits
    return kind !== 'length' || minLength === maxLength
  }

  #findOfNumber(text: string, passes: (text: string) => boolean): Nature | undefined {
    const { decimalChar, type } = this.#field
    const mark = decimalChar === ',' ? '.' : ','
    const decimal = text.replace(mark, decimalChar)
    const whole = dropGroups(text, mark)
    const isDecimal = decimal !== text && passes(decimal)
    const isWhole = whole !== text && !SURELY_DECIMAL.test(this.#toPointForm(text)) && passes(whole)
    // Its decimals are surely those, and may also say what other values have.
    const isBoth = BOTH_MARKS.test(this.#toPointForm(text)) && passes(swapMarks(text, mark, decimalChar))
    if (isBoth) return this.#describeMark(mark)
    if (isDecimal && isWhole) {
      const meant = this.#commas.decide()
      if (meant === undefined) return describeEither(mark, decimal, whole)
      return meant === 'decimals' ? this.#describeMark(mark) : this.#known('thousands')
    }
    if (isDecimal) return this.#describeMark(mark)
    if (isWhole) return this.#known('thousands')
    if (/[$€£]/.test(text) && passes(dropGroups(text.replace(/ ?[$€£] ?/, ''), mark)))
      return {
        name: 'currency',
        ...has('a sign of a currency'),
        fix: `Leave out the currency: write ${describeType(this.#field)}.`,
      }
    if (/\d ?%$/.test(text) && passes(text.replace(/ ?%$/, ''))) return this.#known('percentage')
    if (type !== 'integer') return undefined
    if (EXPONENT_FORM.test(text) && Number.isInteger(Number(text))) return this.#known('exponent')
    return passes(dropZeros(text)) ? this.#known('decimal-places') : undefined
  }

  #findOfDate(text: string): Nature | undefined {
    const { format } = this.#field
    const isIso = hasIsoForm(this.#field)
    if (ZERO_DATE.test(text)) return this.#known('no-date')
    if (this.#hasForm(text)) return this.#known('no-such-day')
    const form = isIso ? 'year-month-day' : format.replace(/^fmt:/, '')
    const fix = `Write dates as ${form}, such as ${isIso ? '2025-02-17' : showMoment(format)}.`
    const make = (name: string, rest: string, hint = ''): Nature => {
      return { name, many: `are ${rest}`, one: `is ${rest}`, fix, hint }
    }
    const unlike = `in a form other than ${form}`
    const [isLast, day = '', , month = '', , year = ''] = YEAR_LAST.exec(text) ?? []
    if (SHORT_YEAR.test(text) && !format.includes('%y'))
      return make('two-digit-year', 'written with two digits of the year')
    if (isLast !== undefined) {
      if (this.isTurned) return TURNED
      const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
      const hint = isIso && isDate(iso) ? `Write ${iso} if the day comes first.` : ''
      return make('day-month-year', unlike, hint)
    }
    if (YEAR_FIRST.test(text))
      return make('year-first', isIso ? `${unlike} with hyphens and two-digit months and days` : unlike)
    if (NAMED_MONTH.test(text)) return make('month-name', 'written with the name of a month')
    const [, date] = WITH_TIME.exec(text) ?? []
    if (date !== undefined) {
      const time = this.#known('time')
      if (this.passes('type', date)) return time
      const other = this.#findOfDate(date)
      return other && { ...time, fix: `${time.fix} ${other.fix}`, hint: other.hint || time.fix }
    }
    const isDay = Number(text) >= LIKELY_DAYS.from && Number(text) <= LIKELY_DAYS.to
    if (!DAY_NUMBER.test(text) || !(isDay || isColumn(this.#dayNumbers, this.#values))) return undefined
    return {
      name: 'serial-number',
      many: 'are numbers of days, as a spreadsheet stores dates',
      one: 'is a number of days, as a spreadsheet stores dates',
      fix: `Format the column as ${describeType(this.#field)}, and export the file again.`,
    }
  }

  #findOfCode(kind: string, text: string, passes: (text: string) => boolean): Nature | undefined {
    const { type, permitted = [] } = this.#field
    if (/^-?\d+[.,]0+$/.test(text)) {
      const whole = dropZeros(text)
      const code = passes(whole) ? whole : addZeros(whole, passes)
      if (code !== undefined) return describePoint(text, code)
    }
    if (type === 'list') {
      const { delimiter } = this.#field
      const other = LIST_SEPARATORS.find((each) => each !== delimiter && text.includes(each))
      if (other !== undefined && passes(text.replaceAll(other, delimiter)))
        return describeSeparator(other, delimiter)
    }
    if (!TEXTS.includes(type) || !this.#isCode(kind)) return undefined
    const code = addZeros(text, passes)
    if (code !== undefined)
      return { ...this.#known('leading-zeros'), hint: `Write ${code}: spreadsheets remove leading zeros.` }
    const upper = text.toUpperCase()
    const other = permitted.find(({ value }) => value !== text && value.toUpperCase() === upper)
    if (other !== undefined) return { ...this.#known('case'), hint: `Write ${other.value}.` }
    // Where the form of the values is stated, not the values.
    if (text !== upper && passes(upper) && permitted.length === 0)
      return { ...this.#known('case'), fix: 'Use capital letters.' }
    if (text !== upper && passes(upper)) return this.#known('case')
    return /^\d(\.\d+)?E\+\d{2}$/i.test(text) ? this.#known('exponent') : undefined
  }

  #describeTruth(): Nature {
    const { trueValues, falseValues } = this.#field
    return {
      name: 'truth-values',
      many: 'are other words for true and false',
      one: 'is another word for true or false',
      fix: `Write ${trueValues[0]} and ${falseValues[0]} instead.`,
    }
  }

  #describeMark(mark: string): Nature {
    const { decimalChar } = this.#field
    const own = MARKS[decimalChar]
    const use = `Use ${own === undefined ? quote(decimalChar) : `a ${own}`} as the decimal separator`
    return {
      name: `decimal-${MARKS[mark]}`,
      ...has(`a decimal ${MARKS[mark]}`),
      fix: this.#commas.hasBoth ? `${use}, and leave out thousands separators.` : `${use}.`,
    }
  }

  /** A number as if a point were the sign of its decimals. */
  #toPointForm(value: string): string {
    return this.#field.decimalChar === ','
      ? value.replace(/[.,]/g, (mark) => (mark === ',' ? '.' : ','))
      : value
  }
}

function hasIsoForm({ format }: Field): boolean {
  return format === 'default' || format === 'any'
}

/** Compiles whether a text has the form of a date, even if the calendar does not have the day. */
function compileForm(field: Field): (value: string) => boolean {
  if (hasIsoForm(field)) return (value) => /^\d{4}-\d{2}-\d{2}$/.test(value)
  // Only a time is read without the calendar.
  const read = compileMoment('time', `${field.format} %H:%M`)
  return (value) => read(`${value} 00:00`) !== undefined
}

/** A number without what separates its thousands: a mark or spaces. */
function dropGroups(text: string, mark: string): string {
  return text.replace(new RegExp(`(?<=\\d)[${mark} ](?=\\d{3}(?!\\d))`, 'g'), '')
}

/** A number in which another mark separates decimals, and the field's own one thousands, in the field's form. */
function swapMarks(text: string, mark: string, decimalChar: string): string {
  return text.replaceAll(decimalChar, '').replace(mark, decimalChar)
}

function dropZeros(text: string): string {
  return text.replace(/[.,]0+$/, '')
}

const MARKS = lookUp<string>({ '.': 'point', ',': 'comma' })

/** Of a mark that may separate decimals or thousands. */
function describeEither(mark: string, decimal: string, whole: string): Nature {
  const sign = MARKS[mark]
  return {
    name: 'decimals-or-thousands',
    ...has(`a ${sign}, which may separate decimals or thousands`),
    fix: `Write numbers such as ${decimal} if the ${sign} separates decimals, and such as ${whole} if it separates thousands.`,
    hint: `Write ${decimal} if the ${sign} separates decimals, or ${whole} if it separates thousands.`,
  }
}

/** What else people write between the values of a list; a longer one includes a shorter one. */
const LIST_SEPARATORS = ['; ', ', ', ' | ', ' / ', ';', ',', '|', '/', '\n', '\t', ' ']

/** Of a list with another separator than that of its field. */
function describeSeparator(other: string, delimiter: string): Nature {
  return {
    name: 'list-separator',
    many: `have ${quote(other)} between their items`,
    one: `has ${quote(other)} between its items`,
    fix: `Write ${quote(delimiter)} between them.`,
  }
}

/** Of a year or code that became a decimal number. */
function describePoint(text: string, code: string): Nature {
  return {
    name: 'decimal-number',
    many: 'are written as decimal numbers',
    one: 'is written as a decimal number',
    fix: `Write ${code}, not ${text}: programs write whole numbers like this where a column has gaps.`,
  }
}
