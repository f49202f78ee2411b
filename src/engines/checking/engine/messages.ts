import { lookUp } from '../../../foundation/look-up.ts'
import { quote } from '../../../foundation/text/quote.ts'
import { PLACEHOLDER } from '../definition/check-info.ts'
import type { Check, Field, Resource } from '../definition/definition.ts'
import { compilePattern } from '../definition/pattern.ts'
import type { Parameters } from '../parameters.ts'
import { kindOfCheck } from './check-kinds.ts'
import { FIELD_KINDS, permittedOn } from './field-kinds.ts'
import type { Extras } from './found.ts'
import { addZeros, FieldNatures } from './natures.ts'
import { shorten } from './shown-text.ts'
import { compileValues } from './values.ts'

/** Describes the fault of a record in full sentences. */
export type MessageWriter = (cells: (field: number) => string, extras: Extras | undefined) => string

/** Compiles the message of a check's findings. */
export function compileMessage(check: Check, resource: Resource, parameters: Parameters): MessageWriter {
  const describe = compileDescription(check, resource, parameters)
  // Of a repeated key.
  return (cells, extras) =>
    extras?.earlierLine === undefined
      ? describe(cells, extras)
      : `${describe(cells, extras)} See line ${extras.earlierLine}.`
}

function compileDescription(check: Check, resource: Resource, parameters: Parameters): MessageWriter {
  if (check.message !== undefined) return compileTemplate(check.message, resource, parameters)
  const position = resource.fields.findIndex(({ name }) => name === check.fields[0])
  const field = resource.fields[position]
  if (field?.checks[check.kind] === check) {
    const describe = compileFieldMessage(check.kind, field, parameters)
    return (cells) => `${field.name} ${describe(cells(position))}`
  }
  const positions = check.fields.map((name) => resource.fields.findIndex((each) => each.name === name))
  const showValues = (cells: (field: number) => string) =>
    check.fields.map((name, index) => `${name} ${quote(cells(positions[index] ?? -1))}`).join(', ')
  const { describe, blame } = kindOfCheck(check, resource)
  const beginning = (blame ?? describe)(check, resource)
  return blame === undefined ? () => beginning : (cells) => `${beginning}${showValues(cells)}.`
}

function compileTemplate(template: string, resource: Resource, parameters: Parameters): MessageWriter {
  const parts = template.split(PLACEHOLDER)
  const names = resource.fields.map(({ name }) => name)
  const known = parameters as unknown as Record<string, string | number | null>
  return (cells, extras) =>
    parts
      .map((part, index) => {
        if (index % 2 === 0) return part
        const extra = extras?.[part]
        if (extra !== undefined) return extra
        const field = names.indexOf(part)
        return shorten(field === -1 ? String(known[part] ?? '') : cells(field))
      })
      .join('')
}

/** Compiles the end of a sentence that starts with the name of the field. */
function compileFieldMessage(kind: string, field: Field, parameters: Parameters): (value: string) => string {
  const { describe, expect = () => 'is wrong' } = FIELD_KINDS[kind] ?? {}
  if (describe !== undefined) return describe(field)
  const hint = HINTS[kind]?.(field, parameters) ?? (() => '')
  const expected = expect(field)
  return (value) => `is ${quote(value)}, but ${expected}.${hint(value)}`
}

/** What probably happened to a value, by the kind of the check that it fails. */
const HINTS = lookUp<(field: Field, parameters: Parameters) => (value: string) => string>({
  type: (field) => {
    const natures = new FieldNatures(field)
    return (value) => {
      const { fix = '', hint = fix } = natures.find('type', value) ?? {}
      return hint === '' ? '' : ` ${hint}`
    }
  },
  pattern: ({ limits: { pattern = '' } }) => {
    const form = compilePattern(pattern)
    return (value) => hintZeros(value, (each) => form.test(each))
  },
  enum: (field, { asOf }) => {
    const permitted = permittedOn(field, asOf) ?? new Set<string>()
    const { read, toKey } = compileValues(field)
    return (value) => {
      const key = toKey(read(value) ?? value)
      return field.permitted?.some((each) => toKey(each.value) === key)
        ? ` The code is not valid on ${asOf}.`
        : hintZeros(value, (each) => permitted.has(each)) || hintCase(value, permitted)
    }
  },
})

function hintZeros(value: string, fits: (value: string) => boolean): string {
  const code = addZeros(value, fits)
  return code === undefined ? '' : ` Write ${code}: spreadsheets remove leading zeros.`
}

function hintCase(value: string, permitted: ReadonlySet<string>): string {
  const other = [value.toUpperCase(), value.toLowerCase()].find((each) => permitted.has(each))
  return other === undefined ? '' : ` Write ${other}.`
}
