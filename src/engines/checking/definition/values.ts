import { isObject } from '../../records/index.ts'
import type { Field } from './definition.ts'
import { isGeoJson, isTopoJson, parseValue, readPoint, TEXT_FORMATS, toJsonKey } from './documents.ts'
import { compareDurations, compileMoment, isDuration, toDurationKey, toInstant } from './moments.ts'
import {
  compareNumbers,
  compareTexts,
  compileInteger,
  compileNumber,
  trimFraction,
  trimInteger,
  trimNumber,
} from './numbers.ts'
import { isDate } from './parameters.ts'

/**
 * How the values of a field are read. Everything after the first step uses the plain text of a value: of a number,
 * that which has only digits, a sign and a point; of others, the text in the file.
 */
export interface ValueReader {
  /** The plain text of a value, or `undefined` if it is not one of the field. */
  readonly read: (value: string) => string | undefined
  readonly toSql: (value: string) => string | number
  /** The text that equal values share: `007` and `7` are one integer. */
  readonly toKey: (value: string) => string
  /** The key of an item of a list, as it is in the file; otherwise the same as `toKey`. */
  readonly toItemKey: (value: string) => string
  /** Orders values exactly: less than 0 if the first one comes before the second. */
  readonly compare: (one: string, other: string) => number
}

/** What most types have: the order of their keys is that of their values. */
type OwnReader = Pick<ValueReader, 'read' | 'toSql' | 'toKey'> & Partial<ValueReader>

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?$/
const DATETIME =
  /^(\d{4}-\d{2}-\d{2})T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?|24:00:00(?:\.0+)?)(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?$/

const same = (value: string) => value

/** Makes the reader of a field's values. Missing values never reach it. */
export function compileValues(field: Field): ValueReader {
  const own = compileType(field)
  const { toKey } = own
  return {
    toItemKey: toKey,
    compare: toKey === same ? compareTexts : (one, other) => compareTexts(toKey(one), toKey(other)),
    ...own,
  }
}

/** A reader of texts that are their own plain text, SQL value and key, unless they are given. */
function accept(isValid: (value: string) => boolean, own: Partial<OwnReader> = {}): OwnReader {
  return { read: (value) => (isValid(value) ? value : undefined), toSql: same, toKey: same, ...own }
}

function compileType(field: Field): OwnReader {
  const { format } = field
  switch (field.type) {
    case 'string': {
      const hasFormat = TEXT_FORMATS[format]
      return hasFormat === undefined ? { read: same, toSql: same, toKey: same } : accept(hasFormat)
    }
    case 'any':
      return { read: same, toSql: same, toKey: same }
    case 'integer':
      return { read: compileInteger(field), toSql: Number, toKey: trimInteger, compare: compareNumbers }
    case 'number':
      return { read: compileNumber(field), toSql: Number, toKey: trimNumber, compare: compareNumbers }
    case 'year':
      return accept((value) => /^\d{4}$/.test(value), { toSql: Number })
    case 'yearmonth':
      return accept((value) => /^\d{4}-(?:0[1-9]|1[0-2])$/.test(value))
    case 'date':
    case 'time':
    case 'datetime':
      return format === 'default' ? compileIso(field.type) : compileFormatted(field.type, format)
    case 'duration':
      return accept(isDuration, { toKey: toDurationKey, compare: compareDurations })
    case 'boolean':
      return compileBoolean(field)
    case 'list':
      return compileList(field)
    case 'object':
      return accept((value) => isObject(parseValue(value)), { toKey: toJsonKey })
    case 'array':
      return accept((value) => Array.isArray(parseValue(value)), { toKey: toJsonKey })
    case 'geojson': {
      const isValid = format === 'topojson' ? isTopoJson : isGeoJson
      return accept((value) => isValid(parseValue(value)), { toKey: toJsonKey })
    }
    case 'geopoint':
      return accept((value) => readPoint(value, format) !== undefined, {
        toKey: (value) => readPoint(value, format) ?? value,
      })
  }
}

function compileIso(type: 'date' | 'time' | 'datetime'): OwnReader {
  if (type === 'date') return accept(isDate)
  if (type === 'time') return accept((value) => TIME.test(value), { toKey: trimFraction })
  return accept((value) => isDate(DATETIME.exec(value)?.[1] ?? ''), { toKey: toInstant })
}

function compileFormatted(type: 'date' | 'time' | 'datetime', format: string): OwnReader {
  const read = compileMoment(type, format)
  const toIso = (value: string) => read(value) ?? value
  return accept((value) => read(value) !== undefined, {
    toSql: toIso,
    toKey: type === 'datetime' ? (value) => toInstant(toIso(value)) : toIso,
  })
}

function compileBoolean({ trueValues, falseValues }: Field): OwnReader {
  const values = new Map([
    ...falseValues.map((value) => [value, 0] as const),
    ...trueValues.map((value) => [value, 1] as const),
  ])
  return accept((value) => values.has(value), {
    toSql: (value) => values.get(value) ?? 0,
    toKey: (value) => String(values.get(value)),
  })
}

function compileList(field: Field): OwnReader {
  const { delimiter, itemType } = field
  const items = (value: string) => value.split(delimiter)
  if (itemType === 'string')
    return { read: same, toSql: (value) => JSON.stringify(items(value)), toKey: same, toItemKey: same }
  const item = compileValues({ ...field, type: itemType, format: 'default' })
  const plain = (value: string) => item.read(value) ?? value
  const toItemKey = (value: string) => item.toKey(plain(value))
  return accept((value) => items(value).every((each) => item.read(each) !== undefined), {
    toSql: (value) => JSON.stringify(items(value).map((each) => item.toSql(plain(each)))),
    toKey: (value) => items(value).map(toItemKey).join('\n'),
    toItemKey,
  })
}

/** How a field is declared in SQL. */
export function sqlType({ type }: Field): 'integer' | 'real' | 'text' {
  if (type === 'integer' || type === 'year' || type === 'boolean') return 'integer'
  return type === 'number' ? 'real' : 'text'
}
