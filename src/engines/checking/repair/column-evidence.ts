import type { Field } from '../definition/definition.ts'
import { CommaEvidence, DECIMAL_COMMA, isColumn, LEAST_VALUES, THOUSANDS_COMMA } from '../engine/natures.ts'
import type { FieldTester } from './field-tester.ts'
import { HABITS, type Habit } from './habits.ts'

const ISO_DATE = /^\d{4}-\d{2}-(\d{2})$/
const LOCAL_DATE = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})$/

/** Whether a comma in a number of a field may be that of other decimals or of thousands. */
const mayHaveCommas = ({ type, decimalChar, groupChar }: Field): boolean =>
  type === 'number' && decimalChar === '.' && groupChar === undefined

/** Collects what the values of a column, together, say about their form. */
export class ColumnEvidence {
  readonly #tester: FieldTester
  #values = 0
  #surrounded = 0
  #spaced = 0
  #right = 0
  readonly #commas = new CommaEvidence()
  readonly #dates = { count: 0, others: 0, dayFirst: 0, monthFirst: 0, iso: 0, late: 0 }
  readonly #separators = new Set<string>()
  readonly #padded = { first: false, second: false }
  readonly #unpadded = { first: false, second: false }
  /** The values to which each habit was done, and the fewest characters that it took from one. */
  readonly #habits = new Map(HABITS.map((habit) => [habit, { done: 0, fewest: Number.POSITIVE_INFINITY }]))
  /** The habits that a value denies. */
  readonly #denied = new Set<Habit>()

  constructor(tester: FieldTester) {
    this.#tester = tester
  }

  add(cell: string): void {
    const value = cell.trim()
    if (value === '') return
    this.#values++
    if (value !== cell) this.#surrounded++
    if (/\s/.test(value)) this.#spaced++
    this.#addHabits(value)
    const { field } = this.#tester
    if (mayHaveCommas(field)) this.#commas.add(value)
    else if (field.type === 'date' && field.format === 'default') this.#addDate(value)
  }

  #addHabits(value: string): void {
    const tester = this.#tester
    const isValid = tester.isValid(value)
    if (isValid) this.#right++
    for (const [habit, count] of this.#habits) {
      if (this.#denied.has(habit)) continue
      if (habit.denies?.(value, tester)) this.#denied.add(habit)
      const before = isValid || this.#denied.has(habit) ? undefined : undo(habit, value, tester)
      if (before === undefined) continue
      count.done++
      count.fewest = Math.min(count.fewest, before.length - value.length)
    }
  }

  #addDate(value: string): void {
    const [, first = '', separator = '', second = ''] = LOCAL_DATE.exec(value) ?? []
    if (first === '') {
      // Two digits of a year, or a time: the column was written by something else.
      if (/^\d{1,2}[/.-]\d{1,2}[/.-]/.test(value)) this.#dates.others++
      const [, day = ''] = ISO_DATE.exec(value) ?? []
      if (day !== '') this.#dates.iso++
      if (Number(day) > 12) this.#dates.late++
      return
    }
    this.#dates.count++
    this.#separators.add(separator)
    if (Number(first) > 12) this.#dates.dayFirst++
    if (Number(second) > 12) this.#dates.monthFirst++
    this.#addPadding('first', first)
    this.#addPadding('second', second)
  }

  #addPadding(part: 'first' | 'second', digits: string): void {
    if (digits.startsWith('0')) this.#padded[part] = true
    else if (digits.length === 1) this.#unpadded[part] = true
  }

  #isColumn(count: number): boolean {
    return isColumn(count, this.#values)
  }

  /** Whether the column alone shows that something was done to it that a program does to all columns of a file. */
  get showsFile(): boolean {
    return HABITS.some((habit) => habit.ofFile === true && this.#findDoubt(habit, false) === undefined)
  }

  /** Why something was not surely done to the column. */
  #findDoubt(habit: Habit, elsewhere: boolean): string | undefined {
    const right = this.#right
    const { done = 0, fewest = 0 } = this.#habits.get(habit) ?? {}
    const count = { done, right, other: this.#values - right - done, elsewhere, fewest }
    if (this.#denied.has(habit) || habit.isCertain?.(count, this.#tester) === false)
      return habit.doubt ?? TOO_FEW
    return this.#isColumn(done) ? undefined : TOO_FEW
  }

  /**
   * How values of the column are repaired: one repair, or none.
   *
   * @param elsewhere whether another column of the file shows what was done to all of them
   */
  decide(elsewhere = false): ColumnRepair {
    // Where values contain spaces, one at an end may have moved there.
    const spaces = this.#spaced === 0 || this.#isColumn(this.#surrounded)
    const commas = this.#commas.decide()
    const habits: Habit[] = []
    const doubted = new Map<Habit, string>()
    for (const habit of HABITS) {
      const doubt = this.#findDoubt(habit, elsewhere)
      if (doubt === undefined) habits.push(habit)
      else doubted.set(habit, doubt)
    }
    const hasThousands = this.#commas.hasThousands
    return { spaces, commas, hasThousands, habits, doubted, ...this.#decideDates() }
  }

  #decideDates(): Pick<ColumnRepair, 'dates' | 'datesLeft'> {
    const { count, others, dayFirst, monthFirst, iso, late } = this.#dates
    if (count === 0) return {}
    // A spreadsheet has turned the dates around that it could read, and left the others: the column contradicts itself.
    const isTurned = iso >= LEAST_VALUES && late === 0 && dayFirst + monthFirst === count
    if (isTurned)
      return {
        datesLeft: 'A spreadsheet has probably turned day and month around in other dates of the column.',
      }
    if (dayFirst > 0 && monthFirst > 0)
      return { datesLeft: 'Some dates of the column have the day first, and others the month.' }
    if (dayFirst + monthFirst === 0)
      return { datesLeft: 'No date of the column shows whether the day or the month is first.' }
    const isMixed =
      others > 0 ||
      this.#separators.size !== 1 ||
      (this.#padded.first && this.#unpadded.first) ||
      (this.#padded.second && this.#unpadded.second)
    if (isMixed) return { datesLeft: 'The dates of the column are written in several ways.' }
    if (!this.#isColumn(count)) return { datesLeft: TOO_FEW }
    return { dates: dayFirst > 0 ? 'day first' : 'month first' }
  }
}

/** What is certain about a whole column. */
export interface ColumnRepair {
  /** Whether spaces around a value do not belong to it. */
  readonly spaces: boolean
  /** What the commas of its numbers separate, if one of them shows it. */
  readonly commas: 'decimals' | 'thousands' | undefined
  /** Whether they surely separate thousands. */
  readonly hasThousands: boolean
  readonly dates?: 'day first' | 'month first'
  /** Why dates with slashes or points are left as they are. */
  readonly datesLeft?: string
  readonly habits: readonly Habit[]
  /** Why what was done to some values is not undone. */
  readonly doubted: ReadonlyMap<Habit, string>
}

const TOO_FEW = 'Too few values of the column are written so.'

/** A repair of a value; without a value, why it is left as it is although it looks like one that has a repair. */
export interface ValueRepair {
  readonly value?: string
  readonly why: string
}

/** The value as it was before a habit, if that is valid. */
function undo(habit: Habit, value: string, tester: FieldTester): string | undefined {
  const before = habit.undo(value, tester)
  return before === '' || (before !== undefined && tester.isValid(before)) ? before : undefined
}

const INVISIBLE = /\p{Cf}/gu

/** Text without characters that nobody sees. */
export function stripInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, '')
}

/** The repair of a cell; `undefined` if it needs none, or none is known. */
export function repairValue(
  cell: string,
  tester: FieldTester,
  repair: ColumnRepair,
): ValueRepair | undefined {
  const { spaces: trims, commas, dates, habits } = repair
  const { field, reportsSpaces, isValid } = tester
  const trimmed = field.keepSpaces ? cell : cell.trim()
  if (trimmed === '' && cell !== '' && reportsSpaces) return { value: '', why: 'It had only spaces.' }
  if (trimmed === '' || field.missingValues.includes(trimmed)) return undefined
  if (trimmed !== cell && !trims) return undefined
  const spaces = trimmed === cell ? [] : ['It had spaces around it.']
  if (isValid(trimmed))
    return spaces.length > 0 && reportsSpaces ? { value: trimmed, why: spaces.join(' ') } : undefined
  const visible = stripInvisible(trimmed)
  const plain = field.keepSpaces ? visible : visible.trim()
  if (plain === '') return undefined
  const before = plain === trimmed ? spaces : [...spaces, 'It contained invisible characters.']
  const sure = (value: string | undefined, why: readonly string[]) =>
    value !== undefined && value !== cell && isValid(value) ? { value, why: why.join(' ') } : undefined
  if (isValid(plain)) return sure(plain, before)
  for (const habit of habits) {
    const value = undo(habit, plain, tester)
    if (value !== undefined) return { value, why: [...before, habit.why].join(' ') }
  }
  if (commas === 'decimals' && DECIMAL_COMMA.test(plain))
    return sure(plain.replace(',', '.'), [...before, 'The column has decimal commas.'])
  if (repair.hasThousands && THOUSANDS_COMMA.test(plain))
    return sure(plain.replaceAll(',', ''), [...before, 'The column has commas between thousands.'])
  if (dates !== undefined)
    return sure(toIso(plain, dates), [...before, `The dates of the column have the ${dates}.`])
  const why = explainLeft(plain, tester, repair)
  return why === undefined ? undefined : { why }
}

/** Why a value stays as it is that looks like one of the known faults. */
function explainLeft(
  value: string,
  tester: FieldTester,
  { commas, datesLeft, doubted }: ColumnRepair,
): string | undefined {
  for (const [habit, doubt] of doubted) if (undo(habit, value, tester) !== undefined) return doubt
  if (LOCAL_DATE.test(value)) return datesLeft
  if (!mayHaveCommas(tester.field) || !DECIMAL_COMMA.test(value)) return undefined
  return commas === 'thousands'
    ? 'The commas of the column seem to separate thousands.'
    : 'Nothing shows whether the commas of the column separate decimals or thousands.'
}

function toIso(value: string, order: 'day first' | 'month first'): string | undefined {
  const [, first, , second, year] = LOCAL_DATE.exec(value) ?? []
  if (first === undefined || second === undefined) return undefined
  const [day, month] = order === 'day first' ? [first, second] : [second, first]
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}
