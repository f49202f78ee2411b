import { quote } from '../../../foundation/text/quote.ts'
import { PLACEHOLDER } from '../definition/check-info.ts'
import type { Check, Field, Resource } from '../definition/definition.ts'
import { FIELD_KINDS } from '../definition/field-kinds.ts'
import type { Parameters } from '../definition/parameters.ts'
import { compileValues } from '../definition/values.ts'
import { kindOfCheck } from './check-kinds.ts'
import type { Extras } from './found.ts'
import { FieldNatures } from './natures.ts'
import { shorten } from './shown-text.ts'

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
  const expected = expect(field)
  const hint = KINDS_OF_FORM.has(kind) ? compileHint(kind, field, parameters) : () => ''
  return (value) => `is ${quote(value)}, but ${expected}.${hint(value)}`
}

/** The kinds of checks of which one says what probably happened to the value. */
const KINDS_OF_FORM = new Set(['type', 'pattern', 'enum'])

function compileHint(kind: string, field: Field, { asOf }: Parameters): (value: string) => string {
  const natures = new FieldNatures(field)
  const { read, toKey } = compileValues(field)
  const known = new Set(kind === 'enum' ? field.permitted?.map((each) => toKey(each.value)) : [])
  return (value) => {
    if (known.size > 0 && known.has(toKey(read(value) ?? value))) return ` The code is not valid on ${asOf}.`
    const { fix = '', hint = fix } = natures.find(kind, value) ?? {}
    return hint === '' ? '' : ` ${hint}`
  }
}
