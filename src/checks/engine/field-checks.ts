import type { Field, Limits } from '../definition/definition.ts'
import { compilePattern } from '../definition/node.ts'
import { SLOTS, slotOf } from './recent.ts'
import { compileValues } from './values.ts'

/** Reports a finding of a check, given by its position, in the current record. */
export type Report = (check: number) => void

/** Checks a value, and returns it for further use: without spaces, and empty if invalid. */
export type FieldCheck = (cell: string) => string

type Test = (value: string) => boolean

export interface FieldContext {
  /** The position of a check of this kind, or -1 if it does not apply. */
  readonly at: (kind: string) => number
  readonly report: Report
  readonly asOf: string
}

/** Compiles the checks of a field that need only its value. */
export function compileField(field: Field, { at, report, asOf }: FieldContext): FieldCheck {
  const { isValid } = compileValues(field)
  const required = field.required ? at('required') : -1
  const [spaces, type] = [at('spaces'), at('type')]
  const trims = !field.keepSpaces
  const hasType = !['string', 'any'].includes(field.type)
  const missing = new Set(field.missingValues.filter((value) => value !== ''))
  const hasMissing = missing.size > 0
  const tests = listTests(field, asOf)
    .map(([kind, holds]) => ({ check: at(kind), holds }))
    .filter(({ check }) => check !== -1)
  const count = tests.length
  // Codes, dates and amounts repeat: a cell equal to a valid one is not tested again.
  const remembers = hasType || field.permitted !== undefined
  const good: string[] = remembers ? new Array(SLOTS).fill('') : []
  return (cell) => {
    const slot = remembers ? slotOf(cell) : -1
    if (slot !== -1 && good[slot] === cell && cell !== '') return cell
    let value = cell
    const { length } = value
    if (length !== 0 && trims) {
      const first = value.charCodeAt(0)
      const last = value.charCodeAt(length - 1)
      if (first <= 32 || last <= 32 || first >= 160 || last >= 160) {
        value = value.trim()
        // A value of only spaces is empty.
        if (value.length !== length && value !== '' && spaces !== -1) report(spaces)
      }
    }
    if (hasMissing && missing.has(value)) value = ''
    if (value === '') {
      if (required !== -1) report(required)
      return ''
    }
    if (hasType && !isValid(value)) {
      if (type !== -1) report(type)
      return ''
    }
    let isGood = slot !== -1 && value === cell
    for (let index = 0; index < count; index++) {
      const test = tests[index] as (typeof tests)[number]
      if (test.holds(value)) continue
      isGood = false
      report(test.check)
    }
    if (isGood) good[slot] = cell
    return value
  }
}

function listTests(field: Field, asOf: string): [string, Test][] {
  const { limits, type } = field
  const isList = type === 'list'
  const tests: [string, Test | undefined][] = [
    ['length', isList ? testItemCount(field) : testLength(limits)],
    ['pattern', limits.pattern === undefined ? undefined : testPattern(limits.pattern)],
    ['range', testRange(field)],
    ['decimals', field.decimals === undefined ? undefined : testDecimals(field.decimals)],
    ['enum', isList ? undefined : testPermitted(field, asOf)],
    ['items', isList ? testItems(field, asOf) : undefined],
  ]
  return tests.flatMap(([kind, test]): [string, Test][] => (test === undefined ? [] : [[kind, test]]))
}

function testLength({ minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Limits): Test | undefined {
  if (minLength === 0 && maxLength === Number.POSITIVE_INFINITY) return undefined
  return (value) => {
    const { length } = value
    if (length >= minLength && length <= maxLength && (length < minLength * 2 || minLength < 2)) return true
    // Characters beyond U+FFFF have two UTF-16 code units.
    const characters = [...value].length
    return characters >= minLength && characters <= maxLength
  }
}

function testItemCount({ limits, delimiter }: Field): Test | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = limits
  if (minLength === 0 && maxLength === Number.POSITIVE_INFINITY) return undefined
  return (value) => {
    const count = value.split(delimiter).length
    return count >= minLength && count <= maxLength
  }
}

function testPattern(source: string): Test {
  return compileRepeatedClass(source) ?? testRegularExpression(compilePattern(source))
}

function testRegularExpression(pattern: RegExp): Test {
  return (value) => pattern.test(value)
}

/**
 * Compiles a pattern that repeats one class of ASCII characters, such as `[A-Za-z0-9]+` or `[0-9]{8,9}`, to a table.
 * Most patterns of identifiers have this form, and the table takes a third of the time of the regular expression.
 */
function compileRepeatedClass(source: string): Test | undefined {
  const match = /^(\[(?:[A-Za-z0-9_ ](?:-[A-Za-z0-9])?)+\])(?:([+*])|\{(\d+)(?:,(\d+))?\})$/.exec(source)
  if (match === null) return undefined
  const [, characters = '', sign, least, most = least] = match
  const one = compilePattern(characters)
  const table = Uint8Array.from({ length: 128 }, (_, code) => Number(one.test(String.fromCharCode(code))))
  const minimum = sign === '*' ? 0 : sign === '+' ? 1 : Number(least)
  const maximum = sign === undefined ? Number(most) : Number.POSITIVE_INFINITY
  return (value) => {
    const { length } = value
    if (length < minimum || length > maximum) return false
    for (let at = 0; at < length; at++) if (table[value.charCodeAt(at)] !== 1) return false
    return true
  }
}

function testRange(field: Field): Test | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = field.limits
  if ([minimum, maximum, exclusiveMinimum, exclusiveMaximum].every((bound) => bound === undefined))
    return undefined
  if (['integer', 'number', 'year'].includes(field.type)) {
    const bound = (text: string | undefined, fallback: number) =>
      text === undefined ? fallback : Number(text)
    const [least, most] = [bound(minimum, -Infinity), bound(maximum, Infinity)]
    const [above, below] = [bound(exclusiveMinimum, -Infinity), bound(exclusiveMaximum, Infinity)]
    return (value) => {
      const number = Number(value)
      return number >= least && number <= most && number > above && number < below
    }
  }
  const { toKey } = compileValues(field)
  return (value) => {
    const text = toKey(value)
    return (
      (minimum === undefined || text >= minimum) &&
      (maximum === undefined || text <= maximum) &&
      (exclusiveMinimum === undefined || text > exclusiveMinimum) &&
      (exclusiveMaximum === undefined || text < exclusiveMaximum)
    )
  }
}

function testDecimals(most: number): Test {
  return (value) => {
    const point = value.indexOf('.')
    return point === -1 || value.length - point - 1 <= most
  }
}

/** The values that are permitted on a date. */
export function permittedOn({ permitted }: Field, asOf: string): Set<string> | undefined {
  if (permitted === undefined) return undefined
  const current = permitted.filter(
    ({ from, until }) => (from === undefined || from <= asOf) && (until === undefined || until >= asOf),
  )
  return new Set(current.map(({ value }) => value))
}

function testPermitted(field: Field, asOf: string): Test | undefined {
  const permitted = permittedOn(field, asOf)
  return permitted === undefined ? undefined : (value) => permitted.has(value)
}

function testItems(field: Field, asOf: string): Test | undefined {
  const permitted = permittedOn(field, asOf)
  const fits = testLength(field.items)
  const matches = field.items.pattern === undefined ? undefined : testPattern(field.items.pattern)
  const { unique } = field.items
  if (permitted === undefined && fits === undefined && matches === undefined && !unique) return undefined
  const one: Test = (item) =>
    (permitted?.has(item) ?? true) && (fits?.(item) ?? true) && (matches?.(item) ?? true)
  return (value) => {
    if (!value.includes(field.delimiter)) return one(value)
    const items = value.split(field.delimiter)
    return items.every(one) && (!unique || new Set(items).size === items.length)
  }
}
