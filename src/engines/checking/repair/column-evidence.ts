import { CommaEvidence, DateEvidence, isColumn } from '../engine/column-forms.ts'
import type { FieldTester } from './field-tester.ts'
import { HABITS, type Habit, hasIsoDates, mayHaveCommas } from './habits.ts'

/** Collects what the values of a column, together, say about their form. */
export class ColumnEvidence {
  readonly #tester: FieldTester
  #values = 0
  #surrounded = 0
  #spaced = 0
  #right = 0
  readonly #commas = new CommaEvidence()
  readonly #dates = new DateEvidence()
  readonly #currencies = new Set<string>()
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
    for (const [sign] of value.matchAll(/[$€£]/g)) this.#currencies.add(sign)
    const { field } = this.#tester
    if (mayHaveCommas(field)) this.#commas.add(value)
    else if (hasIsoDates(field)) this.#dates.add(value)
  }

  #addHabits(value: string): void {
    const tester = this.#tester
    const isValid = tester.isValid(value)
    if (isValid) this.#right++
    for (const [habit, count] of this.#habits) {
      if (this.#denied.has(habit)) continue
      const isDenied = habit.denies?.(value, tester)
      if (isDenied) this.#denied.add(habit)
      const before = isValid || isDenied ? undefined : undo(habit, value, tester)
      if (before === undefined) continue
      count.done++
      count.fewest = Math.min(count.fewest, before.length - value.length)
    }
  }

  /** Whether the column alone shows that something was done to it that a program does to all columns of a file. */
  get showsFile(): boolean {
    return HABITS.some((habit) => habit.ofFile === true && this.#doubt(habit, false) === undefined)
  }

  /** Why it is not certain that something was done to the column, as a habit says. */
  #doubt(habit: Habit, elsewhere: boolean): string | undefined {
    const [values, right, commas, dates] = [this.#values, this.#right, this.#commas, this.#dates]
    const { fewest = 0 } = this.#habits.get(habit) ?? {}
    const of = (each: Habit) => {
      const isDenied = this.#denied.has(each)
      // Behind a value that denies it, no others are counted.
      return { isDenied, done: isDenied ? 0 : (this.#habits.get(each)?.done ?? 0) }
    }
    const { done, isDenied } = of(habit)
    const other = values - right - done
    const { size: currencies } = this.#currencies
    const column = { done, right, other, isDenied, elsewhere, fewest, commas, dates, currencies, of }
    return habit.doubt?.(column, this.#tester) ?? (isColumn(done, values) ? undefined : TOO_FEW)
  }

  /**
   * How values of the column are repaired.
   *
   * @param elsewhere whether another column of the file shows what was done to all of them
   */
  decide(elsewhere = false): ColumnRepair {
    // Where values contain spaces, one at an end may have moved there.
    const spaces = this.#spaced === 0 || isColumn(this.#surrounded, this.#values)
    const habits: Habit[] = []
    const doubted = new Map<Habit, string>()
    for (const habit of HABITS) {
      const doubt = this.#doubt(habit, elsewhere)
      if (doubt === undefined) habits.push(habit)
      else if (doubt !== '') doubted.set(habit, doubt)
    }
    return { spaces, habits, doubted }
  }
}

/** What is certain about a whole column. */
export interface ColumnRepair {
  /** Whether spaces around a value do not belong to it. */
  readonly spaces: boolean
  /** What is undone. */
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
  { spaces: trims, habits, doubted }: ColumnRepair,
): ValueRepair | undefined {
  const { field, reportsSpaces, isValid } = tester
  if (field.missingValues.includes(cell)) return undefined
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
  if (isValid(plain)) return { value: plain, why: before.join(' ') }
  for (const habit of habits) {
    const value = undo(habit, plain, tester)
    if (value !== undefined) return { value, why: [...before, habit.why].join(' ') }
  }
  for (const [habit, why] of doubted) if (undo(habit, plain, tester) !== undefined) return { why }
  return undefined
}
