import { lookUp } from '../../foundation/look-up.ts'
import { count } from '../../foundation/text/format-number.ts'
import { joinOr } from '../../foundation/text/join-or.ts'
import type { Check, Field, Limits, Resource } from './definition/definition.ts'
import { showMoment } from './engine/moments.ts'

/** A check for display and for the rule catalogue. */
export interface CheckDescription {
  readonly code: string
  readonly severity: Check['severity']
  readonly file: string
  readonly fileType: Resource['fileType']
  readonly fields: readonly string[]
  readonly kind: string
  /** The message, with unresolved placeholders. */
  readonly message: string
  readonly why?: string
  readonly fix?: string
  readonly source?: string
  readonly replaces?: string
  readonly basis?: string
  readonly since?: string
  readonly until?: string
  readonly status: Check['status']
  readonly needsExplanation?: true
}

/** Describes a check. */
export function describeCheck(resource: Resource, check: Check): CheckDescription {
  const { code, severity, fields, kind, why, fix, source, replaces, basis, since, until, status } = check
  const optional = {
    why: why ?? DEFAULT_WHY[kind],
    fix: fix ?? DEFAULT_FIX[kind],
    source,
    replaces,
    basis,
    since,
    until,
  }
  return {
    code,
    severity,
    file: resource.name,
    fileType: resource.fileType,
    fields,
    kind,
    message: check.message ?? describeKind(resource, check),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    status,
    ...(check.needsExplanation && { needsExplanation: true }),
  }
}

/** A message without the values of a record, as a heading for all its findings. */
export function summariseMessage(message: string): string {
  return message.replace(/"?\{[A-Za-z_]\w*\}"?(\.$)?/g, '…')
}

/** Why a derived check matters, unless the definition says so itself. */
const DEFAULT_WHY = lookUp<string>({
  file: 'Without the file, its records and the rules that need them are not checked.',
  header: 'The values of a column without its expected name are not checked.',
  record: 'The values of the record cannot be assigned to columns, so they are not checked.',
  spaces: 'A system that compares values exactly treats the value as a different one.',
  type: 'The value cannot be read as what the column contains.',
  characters: 'Letters such as those with macrons are lost where programs use different encodings.',
})

/** How to fix the findings of a derived check, unless the definition says so itself. */
const DEFAULT_FIX = lookUp<string>({
  file: 'Add the file, or export it again as CSV in UTF-8.',
  header: 'Give each column the name that the definition states, and delete the others.',
  record: 'Correct the record in the file, or export it again.',
  required: 'Enter the value.',
  empty: 'Remove the value.',
  spaces: 'Remove the spaces.',
  type: 'Write the value in the expected form.',
  length: 'Correct the value.',
  pattern: 'Write the value in the expected form.',
  range: 'Correct the value.',
  decimals: 'Round the value.',
  enum: 'Use one of the permitted values.',
  items: 'Correct the list.',
  characters: 'Export the data again as UTF-8, or enter the value again.',
  unique: 'Make the value unique.',
  key: 'Keep one record for each key.',
})

/** Describes the findings of a derived check in one sentence. */
export function describeKind(resource: Resource, check: Check): string {
  const { kind, fields } = check
  const [name = ''] = fields
  const field = resource.fields.find((each) => each.name === name)
  const listed = fields.join(', ')
  if (kind === 'file')
    return `The file ${resource.path} is missing, cannot be read, or is not in the expected form.`
  if (kind === 'header') return `The header of ${resource.path} has a missing, unknown or repeated column.`
  if (kind === 'record') return 'The record cannot be read.'
  if (kind.startsWith('key')) return `An earlier record has the same ${listed}.`
  if (kind.startsWith('reference')) {
    const key = resource.foreignKeys.find((each) => each.check === check)
    const verb = fields.length === 1 ? 'refers' : 'refer'
    return `${listed} ${verb} to no record of ${key?.resource ?? 'the other file'}.`
  }
  if (kind.startsWith('match')) return `${name} differs from the referenced record.`
  if (kind === 'order') return `${listed} must be in ascending order.`
  if (kind === 'sum') return `${name} must agree with the sum of its parts.`
  if (kind === 'spread') return `${name} must be spread evenly over the months of its period.`
  if (kind === 'oneOf') return `Values are required or excluded among ${listed}.`
  if (kind === 'equal') return `${listed} do not agree.`
  if (kind === 'referenced') return `No other record refers to this ${listed}.`
  return field === undefined ? `${name} is not valid.` : `${name} ${describeFieldKind(kind, field)}`
}

function describeFieldKind(kind: string, field: Field): string {
  const { limits } = field
  switch (kind) {
    case 'required':
      return field.requiredWhen === undefined ? 'must have a value.' : 'must have a value in this record.'
    case 'empty':
      return 'must be empty in this record.'
    case 'spaces':
      return 'must not have spaces at either end.'
    case 'type':
      return `must be ${describeType(field)}.`
    case 'length':
      return `must have ${describeLength(limits)} ${unitOf(field, limits.maxLength ?? limits.minLength)}.`
    case 'pattern':
      return `must ${describePattern(field)}.`
    case 'range':
      return `must be ${describeRange(limits)}.`
    case 'decimals':
      return `must have at most ${count(field.decimals ?? 0, 'decimal place')}.`
    case 'enum':
      return `must be ${describePermitted(field)}.`
    case 'characters':
      return 'must have the characters that its author meant.'
    case 'items':
      return `contains a ${field.itemType === 'string' ? 'code' : 'value'} that is not permitted.`
    default:
      return 'must be unique.'
  }
}

/** The expected format of a type, with an example. */
export function describeType(field: Field): string {
  const { type, format, trueValues, falseValues, decimalChar, itemType } = field
  switch (type) {
    case 'integer':
      return 'a whole number such as 2025'
    case 'number':
      return `a number such as 1250${decimalChar}50`
    case 'boolean':
      return joinOr([...trueValues, ...falseValues])
    case 'date':
    case 'time':
    case 'datetime':
      return describeMoment(type, format)
    case 'year':
      return 'a year such as 2025'
    case 'yearmonth':
      return 'a month such as 2025-02'
    case 'list':
      return `a list of ${ITEMS[itemType]}`
    case 'string':
      return TEXTS[format] ?? 'text'
    case 'geopoint':
      return `a point such as ${POINTS[format] ?? POINTS.default}`
    case 'geojson':
      return format === 'topojson' ? 'TopoJSON' : 'GeoJSON'
    default:
      return OTHERS[type] ?? 'text'
  }
}

function describeMoment(type: 'date' | 'time' | 'datetime', format: string): string {
  const isIso = format === 'default' || format === 'any'
  const example = isIso ? MOMENTS[type] : showMoment(format)
  return `a ${type === 'datetime' ? 'date and time' : type} such as ${example}`
}

const MOMENTS = { date: '2025-02-17', time: '09:30:00', datetime: '2025-02-17T09:30:00Z' } as const

const ITEMS: Readonly<Record<Field['itemType'], string>> = {
  string: 'texts',
  integer: 'whole numbers',
  number: 'numbers',
  boolean: 'truth values',
  date: 'dates',
  time: 'times',
  datetime: 'dates and times',
}

const TEXTS = lookUp<string>({
  email: 'an email address',
  uri: 'a URI such as https://example.org',
  uuid: 'a UUID',
  binary: 'text in Base64',
})

const POINTS = {
  default: '174.78,-41.29',
  array: '[174.78, -41.29]',
  object: '{"lon": 174.78, "lat": -41.29}',
} as Readonly<Record<string, string>>

const OTHERS = lookUp<string>({
  duration: 'a duration such as P1Y6M',
  object: 'a JSON object',
  array: 'a JSON array',
})

export function describeLength({ minLength, maxLength }: Limits): string {
  if (minLength !== undefined && minLength === maxLength) return `exactly ${maxLength}`
  if (minLength === undefined || minLength === 0) return `at most ${maxLength}`
  return maxLength === undefined ? `at least ${minLength}` : `${minLength} to ${maxLength}`
}

/** What a length counts: `character`, or `values` of a list. */
export function unitOf({ type }: Field, length: number | undefined): string {
  if (type === 'object') return length === 1 ? 'property' : 'properties'
  return `${type === 'list' || type === 'array' ? 'value' : 'character'}${length === 1 ? '' : 's'}`
}

/** A class of characters in a pattern, and how often it occurs. */
const PART =
  /(\[[^\]]+\]|\\d|\\[-./]|[A-Za-z0-9 _-]+(?![{+*?])|[A-Za-z0-9 _-])(?:\{(\d+)(?:,(\d*))?\}|([+*?]))?/y

const CLASSES = lookUp<string>({
  '\\d': 'digit',
  '[0-9]': 'digit',
  '[A-Z]': 'capital letter',
  '[a-z]': 'small letter',
  '[A-Za-z]': 'letter',
  '[a-zA-Z]': 'letter',
  '[A-Z0-9]': 'capital letter or digit',
  '[A-Za-z0-9]': 'letter or digit',
  '[a-zA-Z0-9]': 'letter or digit',
  '[0-9A-Fa-f]': 'hexadecimal digit',
})

/** The form of a field's values in words, as what they must be: never a regular expression, which few people read. */
export function describePattern({ limits: { pattern = '' }, example }: Field): string {
  const forms = pattern
    .replace(/^\^|\$$/g, '')
    .split('|')
    .map(describeForm)
  if (forms.every((form) => form !== undefined)) return `be ${forms.join(', or ')}`
  return example === undefined
    ? 'have the form that the definition describes'
    : `have a form such as ${example}`
}

/** The parts of a simple pattern, such as `2 digits`; `undefined` of any other. */
function describeForm(pattern: string): string | undefined {
  const parts: string[] = []
  for (let at = 0; at < pattern.length; at = PART.lastIndex) {
    PART.lastIndex = at
    const [match, characters = '', least = '1', most = match?.includes(',') ? '' : least, sign] =
      PART.exec(pattern) ?? []
    if (match === undefined) return undefined
    const noun = CLASSES[characters]
    if (noun === undefined && characters.startsWith('[')) return undefined
    const what = noun ?? JSON.stringify(characters.replace('\\', ''))
    const range = sign === '?' ? '0 or 1' : sign === '+' ? '1 or more' : sign === '*' ? '0 or more' : ''
    const times =
      range !== '' ? range : most === '' ? `${least} or more` : most === least ? least : `${least} to ${most}`
    const nouns = noun === undefined || times === '1' ? what : what.replace(/letter|digit/g, '$&s')
    parts.push(noun === undefined && times === '1' ? what : `${times} ${nouns}`)
  }
  return parts.length === 0 || parts.length > 6 ? undefined : parts.join(', then ')
}

export function describeRange({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Limits): string {
  const bounds = [
    minimum === undefined ? [] : [`at least ${minimum}`],
    exclusiveMinimum === undefined ? [] : [`more than ${exclusiveMinimum}`],
    maximum === undefined ? [] : [`at most ${maximum}`],
    exclusiveMaximum === undefined ? [] : [`less than ${exclusiveMaximum}`],
  ]
  return bounds.flat().join(' and ')
}

/** The permitted values, if they are few enough to list. */
export function describePermitted({ permitted = [] }: Field): string {
  const values = [...new Set(permitted.map(({ value }) => value))]
  return values.length <= 12 ? joinOr(values) : `one of the ${values.length} permitted values`
}
