import { lookUp } from '../../../foundation/look-up.ts'
import { joinOr } from '../../../foundation/text/join-or.ts'
import type { Field, Limits } from './definition.ts'
import { showMoment } from './moments.ts'

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
