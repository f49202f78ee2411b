import { lookUp } from '../../../foundation/look-up.ts'
import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import { repairText } from '../../../foundation/text/mojibake.ts'
import { quote } from '../../../foundation/text/quote.ts'
import type { Field, Limits } from './definition.ts'
import {
  describeLength,
  describePattern,
  describePermitted,
  describeRange,
  describeType,
  unitOf,
} from './describe-field.ts'
import { countParts } from './documents.ts'
import { compilePattern } from './pattern.ts'
import { compileValues } from './values.ts'

type Test = (value: string) => boolean

/** What a descriptor states besides the properties of a field. */
interface StatedKinds {
  readonly items: boolean
  readonly characters: boolean
  readonly unique: boolean
}

/** All that a kind of check of a field is. */
interface FieldKind {
  /** Whether a field has this check. */
  readonly applies: (field: Field, stated: StatedKinds) => boolean
  /** What its values must be, as the end of a sentence that starts with the name of the field. */
  readonly expect: (field: Field) => string
  /** What is said of a value, unless that is "is V, but " and the expectation. */
  readonly describe?: (field: Field) => (value: string) => string
  /** Compiles the test of a value that is neither absent nor unreadable. */
  readonly test?: (field: Field, asOf: string) => Test | undefined
  /** What is said of one column, and of several, whose values do not say what is wrong with them. */
  readonly state?: { readonly one: string; readonly many?: string }
  /** Whether it says more about a value than the other checks that it fails. */
  readonly saysMost?: true
  /** Why it matters, and how to fix it, unless the definition says so. */
  readonly why?: string
  readonly fix: string
}

const IS_WRONG = 'Correct the value.'
const IN_FORM = 'Write the value in the expected form.'

/** The kinds of checks of a field, in the order of findings. */
export const FIELD_KINDS = lookUp<FieldKind>({
  required: {
    applies: ({ required, requiredWhen }) => required || requiredWhen !== undefined,
    expect: ({ requiredWhen }) => `must have a value${requiredWhen === undefined ? '' : ' in this record'}`,
    describe: ({ required }) => {
      const message = required ? 'is empty.' : 'is empty, but this record needs it.'
      return () => message
    },
    state: { one: 'is empty', many: 'are empty' },
    fix: 'Enter the value.',
  },
  empty: {
    applies: ({ emptyWhen }) => emptyWhen !== undefined,
    expect: () => 'must be empty in this record',
    state: { one: 'has a value where it must be empty' },
    fix: 'Remove the value.',
  },
  spaces: {
    // The spaces around a number that is not bare belong to what surrounds it.
    applies: ({ keepSpaces, bareNumber }) => !keepSpaces && bareNumber,
    expect: () => 'must not have spaces at either end',
    describe: () => (value) => `is ${quote(value)}, ${describeSpaces(value)}.`,
    state: { one: 'has spaces at its ends', many: 'have spaces at their ends' },
    why: 'A system that compares values exactly treats the value as a different one.',
    fix: 'Remove the spaces.',
  },
  type: {
    applies: ({ type, format, itemType }) =>
      (type !== 'string' || format !== 'default') &&
      type !== 'any' &&
      !(type === 'list' && itemType === 'string'),
    expect: (field) => `must be ${describeType(field)}`,
    why: 'The value cannot be read as what the column contains.',
    fix: IN_FORM,
  },
  length: {
    applies: ({ limits: { minLength, maxLength } }) => minLength !== undefined || maxLength !== undefined,
    expect: (field) => {
      const { limits } = field
      return `must have ${describeLength(limits)} ${unitOf(field, limits.maxLength ?? limits.minLength)}`
    },
    describe: (field) => {
      const sizeOf = compileSize(field)
      return (value) => {
        const size = sizeOf(field.keepSpaces ? value : value.trim())
        return `has ${formatNumber(size)} ${unitOf(field, size)}, but must have ${describeLength(field.limits)}.`
      }
    },
    test: testSize,
    fix: IS_WRONG,
  },
  pattern: {
    applies: ({ limits }) => limits.pattern !== undefined,
    expect: (field) => `must ${describePattern(field)}`,
    test: ({ limits: { pattern } }) => (pattern === undefined ? undefined : testPattern(pattern)),
    fix: IN_FORM,
  },
  range: {
    applies: ({ limits }) => BOUNDS.some((bound) => limits[bound] !== undefined),
    expect: ({ limits }) => `must be ${describeRange(limits)}`,
    test: testRange,
    fix: IS_WRONG,
  },
  decimals: {
    applies: ({ decimals }) => decimals !== undefined,
    expect: ({ decimals = 0 }) => `must have at most ${count(decimals, 'decimal place')}`,
    test: ({ decimals }) => (decimals === undefined ? undefined : testDecimals(decimals)),
    fix: 'Round the value.',
  },
  enum: {
    applies: ({ permitted, type }) => permitted !== undefined && type !== 'list',
    expect: (field) => `must be ${describePermitted(field)}`,
    test: (field, asOf) => (field.type === 'list' ? undefined : testPermitted(field, asOf)),
    saysMost: true,
    fix: 'Use one of the permitted values.',
  },
  items: {
    applies: ({ type, permitted }, { items }) => type === 'list' && (items || permitted !== undefined),
    expect: ({ itemType }) => `contains a ${itemType === 'string' ? 'code' : 'value'} that is not permitted`,
    describe: ({ permitted, delimiter }) => {
      const list = `a list separated by ${quote(delimiter)}`
      const expected =
        permitted === undefined
          ? `${list} whose values have the permitted form`
          : `${list} of permitted values`
      return (value) => `is ${quote(value)}, but must be ${expected}.`
    },
    test: (field, asOf) => (field.type === 'list' ? testItems(field, asOf) : undefined),
    fix: 'Correct the list.',
  },
  characters: {
    applies: (_, { characters }) => characters,
    expect: () => 'must have the characters that its author meant',
    describe: () => (value) => {
      const { text, fault } = repairText(value)
      return fault === undefined
        ? `is ${quote(value)}, which was probably ${quote(text)}: its characters were decoded wrongly. Export the data again as UTF-8.`
        : `${fault}.`
    },
    test: ({ checks }) => (checks.characters === undefined ? undefined : isReadable),
    why: 'Letters such as those with macrons are lost where programs use different encodings.',
    fix: 'Export the data again as UTF-8, or enter the value again.',
  },
  unique: {
    applies: (_, { unique }) => unique,
    expect: () => 'must be unique',
    describe: () => (value) => `is ${quote(value)}, which an earlier record has too.`,
    fix: 'Make the value unique.',
  },
})

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const

function describeSpaces(value: string): string {
  if (value.trim() === '') return 'which has only spaces'
  if (value.startsWith('\ufeff'))
    return 'with a byte order mark at its start, as if two files had been joined'
  const [start, end] = [value !== value.trimStart(), value !== value.trimEnd()]
  return `with spaces at ${start && end ? 'both ends' : start ? 'its start' : 'its end'}`
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
function compileSize({ type, delimiter }: Field): (value: string) => number {
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
  const pattern = compilePattern(source)
  return (value) => pattern.test(value)
}

function testRange(field: Field): Test | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = field.limits
  if (BOUNDS.every((bound) => field.limits[bound] === undefined)) return undefined
  const { compare } = compileValues(field)
  return (value) =>
    (minimum === undefined || compare(value, minimum) >= 0) &&
    (maximum === undefined || compare(value, maximum) <= 0) &&
    (exclusiveMinimum === undefined || compare(value, exclusiveMinimum) > 0) &&
    (exclusiveMaximum === undefined || compare(value, exclusiveMaximum) < 0)
}

function testDecimals(most: number): Test {
  return (value) => {
    const point = value.indexOf('.')
    return point === -1 || value.length - point - 1 <= most
  }
}

/** The keys of the values that are permitted on a date; of a list, those of its items. */
function permittedOn(field: Field, asOf: string): Set<string> | undefined {
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
