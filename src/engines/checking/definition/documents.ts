import { isObject, isTooDeep } from '../../records/index.ts'
import { trimNumber } from './numbers.ts'

/** Parses a value that is JSON; `undefined` if it is not, or is nested too deeply. */
export function parseValue(text: string): unknown {
  try {
    return isTooDeep(text) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The number of items of a list, or of properties of an object, as JSON. */
export function countParts(text: string): number {
  const value = parseValue(text)
  return isObject(value) ? Object.keys(value).length : Array.isArray(value) ? value.length : 0
}

/** The text that equal JSON values share: without spaces, and with the properties of objects in one order. */
export function toJsonKey(text: string): string {
  return JSON.stringify(sortNames(parseValue(text))) ?? text
}

function sortNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortNames)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sortNames(value[name])]),
  )
}

const GEOMETRIES = ['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon']

/** Whether a value is an object of RFC 7946. */
export function isGeoJson(value: unknown): boolean {
  if (!isObject(value)) return false
  const { type } = value
  if (type === 'FeatureCollection') return Array.isArray(value.features) && value.features.every(isFeature)
  return type === 'Feature' ? isFeature(value) : isGeometry(value)
}

function isFeature(value: unknown): boolean {
  if (!isObject(value) || value.type !== 'Feature') return false
  const { geometry, properties } = value
  return (geometry === null || isGeometry(geometry)) && (properties === null || isObject(properties))
}

function isGeometry(value: unknown): boolean {
  if (!isObject(value)) return false
  const { type, coordinates, geometries } = value
  if (type === 'GeometryCollection') return Array.isArray(geometries) && geometries.every(isGeometry)
  return GEOMETRIES.includes(String(type)) && Array.isArray(coordinates)
}

/** Whether a value is an object of the TopoJSON format: a topology, or a geometry that refers to arcs. */
export function isTopoJson(value: unknown): boolean {
  if (!isObject(value)) return false
  const { type, arcs, objects, coordinates } = value
  if (type === 'Topology') return Array.isArray(arcs) && isObject(objects)
  if (type === 'GeometryCollection') return Array.isArray(value.geometries)
  return GEOMETRIES.includes(String(type)) && (Array.isArray(arcs) || Array.isArray(coordinates))
}

/** The longitude and latitude of a point, as its key; `undefined` if it is none. */
export function readPoint(text: string, format: string): string | undefined {
  const [longitude, latitude, ...more] = splitPoint(text, format)
  if (longitude === undefined || latitude === undefined || more.length > 0) return undefined
  if (!NUMBER.test(longitude) || !NUMBER.test(latitude)) return undefined
  if (Math.abs(Number(longitude)) > 180 || Math.abs(Number(latitude)) > 90) return undefined
  return `${trimNumber(longitude)},${trimNumber(latitude)}`
}

const NUMBER = /^-?\d+(?:\.\d+)?$/

function splitPoint(text: string, format: string): string[] {
  if (format === 'default') return text.split(',').map((part) => part.trim())
  const value = parseValue(text)
  const parts = format === 'array' && Array.isArray(value) ? value : []
  if (format === 'object' && isObject(value)) parts.push(value.lon, value.lat)
  return parts.map((part) => (typeof part === 'number' || typeof part === 'string' ? String(part) : ''))
}

/** Whether a text has a format of the type `string`. */
export const TEXT_FORMATS: Readonly<Record<string, (value: string) => boolean>> = {
  email: (value) => /^[^\s@<>()[\],;:"\\]+@[^\s@.]+(?:\.[^\s@.]+)+$/.test(value),
  uri: (value) => /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+$/.test(value),
  uuid: (value) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value),
  binary: (value) => value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value),
}
