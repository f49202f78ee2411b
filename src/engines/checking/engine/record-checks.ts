import type { Condition, Field, Operand, RecordCheck, Resource } from '../definition/definition.ts'
import { compareNumbers, compareTexts, isSpecial } from '../definition/numbers.ts'
import type { Parameters } from '../definition/parameters.ts'
import { familyOf } from '../definition/read-record-check.ts'
import { compileValues } from '../definition/values.ts'
import type { Report } from './field-checks.ts'
import type { Extras } from './found.ts'
import { sumExactly, toMillionths } from './millionths.ts'
import { compileSpread } from './spread.ts'

/** The values of a record by field position; absent and unknown ones are empty. */
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
  const applies = check.when === undefined ? () => true : compileCondition(check.when)
  return (values) => {
    const fault = applies(values) && fails(values)
    if (fault !== false && fault !== undefined) report(position, fault === true ? undefined : fault)
  }
}

/** Compiles whether a record fails a check, or what its message says about it. */
function compileFailure(
  check: RecordCheck,
  fields: readonly Field[],
  parameters: Parameters,
): ((values: Values) => boolean | Extras | undefined) | undefined {
  switch (check.kind) {
    case 'order':
      return compileOrder(check.operands, check.strict, fields, parameters)
    case 'equal': {
      const [first, second] = check.operands.map((operand) => compileOperand(operand, fields, parameters))
      if (first === undefined || second === undefined) return undefined
      const compare = chooseComparison(check.operands, fields)
      return (values) => {
        const [one, other] = [first(values), second(values)]
        return one !== undefined && other !== undefined && (compare(one, other) === 0) === check.not
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
        const whole = values[check.total] ?? ''
        if (whole === '') return false
        const total = toMillionths(whole)
        let sum = 0
        let size = Math.abs(total) + tolerance
        for (const part of check.parts) {
          const number = toMillionths(values[part] ?? '')
          sum += number
          size += Math.abs(number)
        }
        // Binary floating-point numbers are exact up to here; NaN has more decimal places.
        if (size <= Number.MAX_SAFE_INTEGER)
          return check.compare === '=' ? Math.abs(sum - total) > tolerance : sum - total > tolerance
        // What is infinite or no number has no sum.
        if ([whole, ...check.parts.map((part) => values[part] ?? '')].some(isSpecial)) return false
        const excess = sumExactly([...check.parts.map((part) => values[part] ?? ''), `-${whole}`])
        const least = check.compare === '=' && excess.startsWith('-') ? excess.slice(1) : excess
        return compareNumbers(least, check.tolerance) > 0
      }
    }
    case 'spread':
      return parameters.returnYear === null ? undefined : compileSpread(check, fields, parameters.returnYear)
    case 'referenced':
      return undefined
  }
}

/** How the operands of a check compare; the definition ensures that all have one type. */
function chooseComparison(operands: readonly Operand[], fields: readonly Field[]) {
  const [first] = operands
  if (first === undefined) return compareTexts
  if ('parameter' in first) return first.parameter === 'returnYear' ? compareNumbers : compareTexts
  const field = fields[first.field]
  return field !== undefined && familyOf(field) === 'number' ? compareNumbers : compareTexts
}

function compileOrder(
  operands: readonly Operand[],
  strict: boolean,
  fields: readonly Field[],
  parameters: Parameters,
): (values: Values) => boolean {
  const read = operands.map((operand) => compileOperand(operand, fields, parameters))
  const compare = chooseComparison(operands, fields)
  return (values) => {
    let before: string | undefined
    for (const each of read) {
      const value = each(values)
      if (value === undefined) continue
      const order = before === undefined ? -1 : compare(before, value)
      if (order > 0 || (strict && order === 0)) return true
      before = value
    }
    return false
  }
}

function compileOperand(
  operand: Operand,
  fields: readonly Field[],
  parameters: Parameters,
): (values: Values) => string | undefined {
  if ('parameter' in operand) {
    const value = parameters[operand.parameter]
    const constant = value === null ? undefined : String(value)
    return () => constant
  }
  const { field } = operand
  const definition = fields[field]
  if (definition === undefined) return () => undefined
  const { toKey } = compileValues(definition)
  return (values) => {
    const value = values[field] ?? ''
    return value === '' ? undefined : toKey(value)
  }
}

/** The fields that a condition reads. */
export function listConditionFields(condition: Condition = []): number[] {
  return condition.flatMap((tests) => tests.map(({ field }) => field))
}

/** The fields that a record check reads, including those of its condition. */
export function listFields(check: RecordCheck): number[] {
  const ofCondition = listConditionFields(check.when)
  const ofOperands = (operands: readonly Operand[]) =>
    operands.flatMap((operand) => ('field' in operand ? [operand.field] : []))
  switch (check.kind) {
    case 'order':
    case 'equal':
      return [...ofCondition, ...ofOperands(check.operands)]
    case 'sum':
      return [...ofCondition, check.total, ...check.parts]
    case 'spread':
      return [...ofCondition, check.total, ...check.parts, check.from, check.to]
    default:
      return [...ofCondition, ...check.fields]
  }
}
