import { repairText } from '../../../foundation/text/mojibake.ts'
import type { Field, Limits } from '../definition/definition.ts'
import { compilePattern } from '../definition/pattern.ts'
import { countParts } from './documents.ts'
import { EXACT_LENGTH, isSpecial } from './numbers.ts'
import { compileValues } from './values.ts'

/** Reports a finding of a check, given by its position, in the current record. */
export type Report = (check: number) => void

/** Checks a value, and returns its plain text for further use: without spaces, and empty if it is unknown. */
export type FieldCheck = (cell: string) => string

type Test = (value: string) => boolean

export interface FieldContext {
  /** The position of a check of this kind, or -1 if it does not apply. */
  readonly at: (kind: string) => number
  /** Whether a check of this kind is in force: then it decides whether the value is known, reported or not. */
  readonly isInForce: (kind: string) => boolean
  readonly report: Report
  /** Called if the value is unknown: it cannot be read, or fails one of these checks. */
  readonly conceal: () => void
  /** Called for each cell without a value. */
  readonly countEmpty?: () => void
  readonly asOf: string
}

/**
 * Compiles the checks of a field that need only its value. A value has at most one finding besides that of its spaces:
 * an error before a warning, then the check that says the most.
 */
export function compileField(
  field: Field,
  { at, isInForce, report, conceal, countEmpty = () => undefined, asOf }: FieldContext,
): FieldCheck {
  const { read } = compileValues(field)
  const required = field.required ? at('required') : -1
  const needsValue = field.required && isInForce('required')
  const [spaces, type] = [at('spaces'), at('type')]
  const trims = !field.keepSpaces
  const hasType = field.checks.type !== undefined
  const missing = new Set(field.missingValues.filter((value) => value !== ''))
  const hasMissing = missing.size > 0
  const emptyIsValue = !field.missingValues.includes('')
  const isError = (kind: string) => field.checks[kind]?.severity === 'Error'
  const tests = listTests(field, asOf)
    .filter(([kind]) => isInForce(kind))
    .sort(([one], [other]) => Number(isError(other)) - Number(isError(one)))
    .map(([kind, holds]) => ({ check: at(kind), holds }))
  const count = tests.length
  return (cell) => {
    let value = cell
    const { length } = value
    if (length !== 0 && trims) {
      const first = value.charCodeAt(0)
      const last = value.charCodeAt(length - 1)
      if (first <= 32 || last <= 32 || first >= 160 || last >= 160) {
        value = value.trim()
        // A value of only spaces is empty, which is the finding where there must be one.
        if (value.length !== length && spaces !== -1 && (value !== '' || required === -1)) report(spaces)
      }
    }
    if (value === '' ? !emptyIsValue : hasMissing && missing.has(value)) {
      countEmpty()
      if (required !== -1) report(required)
      if (needsValue) conceal()
      return ''
    }
    if (hasType) {
      const plain = read(value)
      if (plain === undefined) {
        if (type !== -1) report(type)
        conceal()
        return ''
      }
      value = plain
    }
    for (let index = 0; index < count; index++) {
      const test = tests[index] as (typeof tests)[number]
      if (test.holds(value)) continue
      if (test.check !== -1) report(test.check)
      conceal()
      return ''
    }
    return value
  }
}

function listTests(field: Field, asOf: string): [string, Test][] {
  const { limits, type } = field
  const isList = type === 'list'
  const tests: [string, Test | undefined][] = [
    ['enum', isList ? undefined : testPermitted(field, asOf)],
    ['length', testSize(field)],
    ['pattern', limits.pattern === undefined ? undefined : testPattern(limits.pattern)],
    ['range', testRange(field)],
    ['decimals', field.decimals === undefined ? undefined : testDecimals(field.decimals)],
    ['items', isList ? testItems(field, asOf) : undefined],
    ['characters', field.checks.characters === undefined ? undefined : isReadable],
  ]
  return tests.flatMap(([kind, test]): [string, Test][] => (test === undefined ? [] : [[kind, test]]))
}

/** A text with other characters may have lost some, or have been decoded wrongly. */
const SUSPECT = /[^\p{ASCII}]|\?/u

/** Whether a text has the characters that its author meant, as far as that can be seen. */
function isReadable(text: string): boolean {
  if (!SUSPECT.test(text)) return true
  const repaired = repairText(text)
  return repaired.text === text && repaired.fault === undefined
}

function testLength({ minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Limits): Test | undefined {
  if (minLength === 0 && maxLength === Number.POSITIVE_INFINITY) return undefined
  return (value) => {
    const { length } = value
    // Characters beyond U+FFFF have two UTF-16 code units, so there are at least half as many characters.
    if (length <= maxLength && length >= minLength * 2 - 1) return true
    let characters = 0
    for (const _ of value) characters++
    return characters >= minLength && characters <= maxLength
  }
}

/** What the length of a value counts: the characters of a text, or the parts of a list, array or object. */
export function compileSize({ type, delimiter }: Field): (value: string) => number {
  if (type === 'string') return (value) => [...value].length
  return type === 'list' ? (value) => value.split(delimiter).length : countParts
}

function testSize(field: Field): Test | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = field.limits
  if (minLength === 0 && maxLength === Number.POSITIVE_INFINITY) return undefined
  if (field.type === 'string') return testLength(field.limits)
  const sizeOf = compileSize(field)
  return (value) => {
    const size = sizeOf(value)
    return size >= minLength && size <= maxLength
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
  const { compare } = compileValues(field)
  const isWithin: Test = (value) =>
    (minimum === undefined || compare(value, minimum) >= 0) &&
    (maximum === undefined || compare(value, maximum) <= 0) &&
    (exclusiveMinimum === undefined || compare(value, exclusiveMinimum) > 0) &&
    (exclusiveMaximum === undefined || compare(value, exclusiveMaximum) < 0)
  if (!['integer', 'number', 'year'].includes(field.type)) return isWithin
  // Most numbers are short enough for binary floating point, which takes a third of the time.
  const [least, above] = [Number(minimum ?? -Infinity), Number(exclusiveMinimum ?? -Infinity)]
  const [most, below] = [Number(maximum ?? Infinity), Number(exclusiveMaximum ?? Infinity)]
  const isShort = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].every(
    (bound = '') => bound.length <= EXACT_LENGTH,
  )
  return (value) => {
    if (!isShort || value.length > EXACT_LENGTH || isSpecial(value)) return isWithin(value)
    const number = Number(value)
    return number >= least && number <= most && number > above && number < below
  }
}

function testDecimals(most: number): Test {
  return (value) => {
    const point = value.indexOf('.')
    return point === -1 || value.length - point - 1 <= most
  }
}

/** The keys of the values that are permitted on a date; of a list, those of its items. */
export function permittedOn(field: Field, asOf: string): Set<string> | undefined {
  const { permitted } = field
  if (permitted === undefined) return undefined
  const { toItemKey } = compileValues(field)
  const current = permitted.filter(
    ({ from, until }) => (from === undefined || from <= asOf) && (until === undefined || until >= asOf),
  )
  return new Set(current.map(({ value }) => toItemKey(value)))
}

function testPermitted(field: Field, asOf: string): Test | undefined {
  const permitted = permittedOn(field, asOf)
  const { toKey } = compileValues(field)
  return permitted === undefined ? undefined : (value) => permitted.has(toKey(value))
}

function testItems(field: Field, asOf: string): Test | undefined {
  const permitted = permittedOn(field, asOf)
  const fits = testLength(field.items)
  const matches = field.items.pattern === undefined ? undefined : testPattern(field.items.pattern)
  const { unique } = field.items
  const { toItemKey } = compileValues(field)
  if (permitted === undefined && fits === undefined && matches === undefined && !unique) return undefined
  const one: Test = (item) =>
    (permitted?.has(toItemKey(item)) ?? true) && (fits?.(item) ?? true) && (matches?.(item) ?? true)
  return (value) => {
    if (!value.includes(field.delimiter)) return one(value)
    const items = value.split(field.delimiter)
    return items.every(one) && (!unique || new Set(items.map(toItemKey)).size === items.length)
  }
}
