import type { Condition, Field, Operand, RecordCheck, Resource } from '../definition/definition.ts'
import type { Parameters } from '../parameters.ts'
import type { Report } from './field-checks.ts'
import { toMillionths } from './millionths.ts'
import { compileSpread } from './spread.ts'
import { compileValues } from './values.ts'

/** The valid values of a record by field position; invalid ones are empty. */
export type Values = readonly string[]
export type RecordTest = (values: Values) => void

/** Compiles a condition on a record. */
export function compileCondition(condition: Condition): (values: Values) => boolean {
  const alternatives = condition.map((tests) =>
    tests.map(({ field, is }) => {
      if (is === 'present') return (values: Values) => values[field] !== ''
      if (is === 'absent') return (values: Values) => values[field] === ''
      const permitted = new Set(is)
      return (values: Values) => permitted.has(values[field] ?? '')
    }),
  )
  return (values) => alternatives.some((tests) => tests.every((test) => test(values)))
}

/** Compiles a check across the fields of a record, except `referenced`, which needs other files. */
export function compileRecordCheck(
  check: RecordCheck,
  position: number,
  { fields }: Resource,
  parameters: Parameters,
  report: Report,
): RecordTest | undefined {
  const fails = compileFailure(check, fields, parameters)
  if (fails === undefined) return undefined
  if (check.when === undefined) {
    return (values) => {
      if (fails(values)) report(position)
    }
  }
  const applies = compileCondition(check.when)
  return (values) => {
    if (applies(values) && fails(values)) report(position)
  }
}

function compileFailure(
  check: RecordCheck,
  fields: readonly Field[],
  parameters: Parameters,
): ((values: Values) => boolean) | undefined {
  switch (check.kind) {
    case 'order':
      return compileOrder(check.operands, check.strict, fields, parameters)
    case 'equal': {
      const [first, second] = check.operands.map((operand) => compileOperand(operand, fields, parameters))
      if (first === undefined || second === undefined) return undefined
      return (values) => {
        const [one, other] = [first(values), second(values)]
        return one !== undefined && other !== undefined && (one === other) === check.not
      }
    }
    case 'oneOf':
      return (values) => {
        let present = 0
        for (const field of check.fields) if (values[field] !== '') present++
        if (check.count === 'atLeast') return present === 0
        return check.count === 'exactly' ? present !== 1 : present > 1
      }
    case 'sum': {
      const tolerance = toMillionths(check.tolerance)
      return (values) => {
        const total = toMillionths(values[check.total] ?? '')
        if (Number.isNaN(total) || values[check.total] === '') return false
        let sum = 0
        for (const part of check.parts) sum += toMillionths(values[part] ?? '')
        if (Number.isNaN(sum)) return false
        return check.compare === '=' ? Math.abs(sum - total) > tolerance : sum - total > tolerance
      }
    }
    case 'spread': {
      if (parameters.returnYear === null) return undefined
      const find = compileSpread(check, fields, parameters.returnYear)
      return (values) => find(values) !== undefined
    }
    case 'referenced':
      return undefined
  }
}

type Comparable = string | number

function compileOrder(
  operands: readonly Operand[],
  strict: boolean,
  fields: readonly Field[],
  parameters: Parameters,
): (values: Values) => boolean {
  const read = operands.map((operand) => compileOperand(operand, fields, parameters))
  return (values) => {
    let before: Comparable | undefined
    for (const each of read) {
      const value = each(values)
      if (value === undefined) continue
      if (before !== undefined && (before > value || (strict && before === value))) return true
      before = value
    }
    return false
  }
}

function compileOperand(
  operand: Operand,
  fields: readonly Field[],
  parameters: Parameters,
): (values: Values) => Comparable | undefined {
  if ('parameter' in operand) {
    const value = parameters[operand.parameter] ?? undefined
    return () => value
  }
  const { field } = operand
  const definition = fields[field]
  if (definition === undefined) return () => undefined
  const { toSql } = compileValues(definition)
  return (values) => {
    const value = values[field] ?? ''
    return value === '' ? undefined : toSql(value)
  }
}
