import { compileText, defaultOf } from '../../foundation/schema/compile.ts'
import type { TObject, TSchema } from '../../foundation/schema/type.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { MOST_FAULTS, type ValueFault } from './problems.ts'

export interface QueryReading<T> {
  readonly values: T
  readonly faults: readonly ValueFault[]
  /** Each parameter as received; the values of a repeated one are comma-separated. */
  readonly received: Readonly<Record<string, string>>
}

/**
 * Creates a reader of query strings for an object schema. Names are case-insensitive. Values are never coerced or
 * clamped. An empty value counts as absent. Unknown and repeated parameters are faults. Checking stops after
 * MOST_FAULTS.
 *
 * @typeParam Values the parameters by name; those with a default are always present
 */
export function compileQuery<Values>(schema: TObject): (query: string) => QueryReading<Values> {
  const names = Object.keys(schema.properties)
  const parameters = new Map(
    Object.entries(schema.properties as Record<string, TSchema>).map(([name, parameter]) => [
      name.toLowerCase(),
      { name, read: compileText(parameter) },
    ]),
  )
  const defaults = Object.fromEntries(
    Object.entries(schema.properties as Record<string, TSchema>)
      .map(([name, parameter]) => [name, defaultOf(parameter)] as const)
      .filter(([, value]) => value !== undefined),
  )
  const required = requiredOf(schema)

  return (query) => {
    const values: Record<string, unknown> = { ...defaults }
    const faults: ValueFault[] = []
    const received: Record<string, string> = Object.create(null)
    for (const { name: given, value, raw } of splitQuery(query)) {
      const parameter = given === undefined ? undefined : parameters.get(given.toLowerCase())
      const name = parameter?.name ?? given ?? raw.name
      const before = received[name]
      received[name] = before === undefined ? (value ?? raw.value) : `${before},${value ?? raw.value}`
      if (faults.length === MOST_FAULTS) continue
      if (before !== undefined) {
        faults.push({
          name: showName(given, name),
          message: 'must be given only once',
        })
        continue
      }
      if (parameter === undefined) {
        const message =
          given === undefined
            ? 'has a name that is not percent-encoded UTF-8'
            : names.length === 0
              ? 'is not a parameter: this endpoint has none'
              : `is not a parameter of this endpoint${suggest(name, names)}. Supported parameters: ${names.join(', ')}`
        faults.push({ name: showName(given, name), message })
      } else if (value === undefined) {
        faults.push({ name, message: 'must be percent-encoded UTF-8' })
      } else if (value !== '') {
        const reading = parameter.read(value)
        if (reading.fault === undefined) values[name] = reading.value
        else faults.push({ name, message: reading.fault })
      }
    }
    for (const name of required) {
      if (values[name] === undefined && !faults.some((each) => each.name === name))
        faults.push({ name, message: 'is missing' })
    }
    return { values: values as Values, faults, received }
  }
}

function requiredOf(schema: TObject): readonly string[] {
  return (schema as { required?: readonly string[] }).required ?? []
}

/** Decoded values by name: path parameters or headers. */
export type NamedValues = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Creates a reader of path parameters or headers. Invalid values are passed on as received, so that an operation can
 * look them up before their faults are reported. Values that the schema does not name are not read.
 *
 * @param nameOf returns the name under which the value of a parameter arrives
 * @throws {TypeError} if no reader supports the schema of a parameter
 */
export function compileNamed<Values>(
  schema: TObject,
  nameOf: (parameter: string) => string = (parameter) => parameter,
): (given: NamedValues) => Omit<QueryReading<Values>, 'received'> {
  const required = new Set(requiredOf(schema))
  const parameters = Object.entries(schema.properties as Record<string, TSchema>).map(
    ([name, parameter]) => ({ name, key: nameOf(name), read: compileText(parameter) }),
  )
  return (given) => {
    const values: Record<string, unknown> = {}
    const faults: ValueFault[] = []
    for (const { name, key, read } of parameters) {
      const value = given[key]
      if (value === undefined || value === '') {
        if (required.has(name)) faults.push({ name, message: 'is missing' })
        continue
      }
      const text = String(value)
      const reading = read(text)
      values[name] = reading.fault === undefined ? reading.value : text
      if (reading.fault !== undefined) faults.push({ name, message: reading.fault })
    }
    return { values: values as Values, faults }
  }
}

/** The query string of a URL, without the question mark. */
export function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

function showName(given: string | undefined, name: string): string {
  if (given === undefined) return 'A parameter'
  return given === '' ? 'A parameter without a name' : name.slice(0, 100).toWellFormed()
}

interface Pair {
  /** The name and the value are `undefined` if they are not percent-encoded UTF-8. */
  readonly name: string | undefined
  readonly value: string | undefined
  /** As received, before decoding. */
  readonly raw: { readonly name: string; readonly value: string }
}

function* splitQuery(query: string): Generator<Pair> {
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const raw =
      equals === -1
        ? { name: pair, value: '' }
        : { name: pair.slice(0, equals), value: pair.slice(equals + 1) }
    yield { name: decode(raw.name), value: decode(raw.value), raw }
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text)
  } catch {
    return undefined
  }
}
