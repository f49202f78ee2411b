import type { Field } from '../definition/definition.ts'
import { FIELD_KINDS } from '../definition/field-kinds.ts'
import { compileValues } from '../definition/values.ts'
import type { Extras } from './found.ts'

/** Reports a finding of a check, given by its position, in the current record. */
export type Report = (check: number, extras?: Extras) => void

/** Checks a value, and returns its plain text for further use: without spaces, and empty if it is unknown. */
export type FieldCheck = (cell: string) => string

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
  const tests = Object.entries(FIELD_KINDS)
    .filter(([kind]) => isInForce(kind))
    .sort(
      ([one, { saysMost: first = false }], [other, { saysMost: second = false }]) =>
        Number(isError(other)) - Number(isError(one)) || Number(second) - Number(first),
    )
    .flatMap(([kind, { test }]) => {
      const holds = test?.(field, asOf)
      return holds === undefined ? [] : [{ check: at(kind), holds }]
    })
  const count = tests.length
  return (cell) => {
    let value = cell
    const { length } = value
    if (length !== 0 && trims) {
      const first = value.charCodeAt(0)
      const last = value.charCodeAt(length - 1)
      const mayHaveSpaces = first <= 32 || last <= 32 || first >= 160 || last >= 160
      if (mayHaveSpaces && !missing.has(value)) {
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
