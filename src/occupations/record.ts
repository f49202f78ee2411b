import { hash } from 'node:crypto'
import { compileShape } from '../input/shape.ts'
import type { SourceRecord } from '../input/source-record.ts'
import { formatTimestamp } from '../text/timestamp.ts'
import type { Fault } from '../text/user-error.ts'
import { asPrimary } from './primary.ts'
import { OccupationRecord } from './schema.ts'

/** A record that has been checked and rendered, ready to be stored. */
export interface RenderedRecord {
  readonly code: string
  /** Milliseconds since 1970: the record's own date, where it carries one. */
  readonly ownDate: number | undefined
  /** Identifies the content: the record without its date. */
  readonly hash: string
  /** The filters that the record matches, as a JSON array of [major group code, minor group code]. */
  readonly filters: string
  /** The record's JSON text without its date. */
  readonly content: string
  readonly normalised: boolean
  /** Whether text had been decoded with the wrong character set, and was repaired. */
  readonly repaired: boolean
}

/** What is wrong with a record; its code, where that is right, for the code may come again. */
export interface FaultyRecord {
  readonly faults: readonly Fault[]
  readonly code?: string
  readonly ownDate: number | undefined
}

const readShape = compileShape(OccupationRecord, { repair: true })

/** Pairs of groups that one record may be found under: each is a row, and one megabyte could name 200 million. */
const MAX_FILTERS = 10_000

const TOO_MANY_FILTERS = {
  field: 'minorGroups',
  message: `has more than ${MAX_FILTERS} combinations of a major and a minor group. Give the record fewer groups`,
}
const NO_CODE = { field: 'occupationCode', message: 'is missing; every record needs one' }

/**
 * Checks a record and renders its final JSON text.
 *
 * @returns the rendered record, or all its faults
 */
export function renderRecord({
  file,
  line,
  value,
  faults: before = [],
  inexact = false,
}: SourceRecord): RenderedRecord | FaultyRecord {
  const reading = readShape(value)
  const { lastUpdatedDate, ...record } = (reading.value ?? {}) as OccupationRecord
  const code = record.occupationCode
  const ownDate = lastUpdatedDate === undefined ? undefined : Date.parse(lastUpdatedDate)
  const filters = listFilters(record)
  const faults = [...reading.faults, ...findFaults(record)]
  if (filters === undefined) faults.push(TOO_MANY_FILTERS)
  // A faulty code, or a value that is not an object, is one fault and not a missing code as well.
  const readable = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (code === undefined && readable && !reading.faults.some(({ field }) => field === 'occupationCode')) {
    faults.push(NO_CODE)
  }

  if (before.length + faults.length > 0 || code === undefined || filters === undefined) {
    const placed = faults.map(({ field, message }) => ({
      file,
      line,
      ...(field !== '' && { field }),
      message,
    }))
    return { faults: [...before, ...placed], ...(code !== undefined && { code }), ownDate }
  }
  const content = JSON.stringify(record)
  return {
    code,
    ownDate,
    // Tells changed content from unchanged and protects nothing: SHA-1 takes less than half the time of SHA-256.
    hash: hash('sha1', content, 'base64url'),
    filters: JSON.stringify(filters),
    content,
    normalised: reading.normalised || inexact,
    repaired: reading.repaired,
  }
}

/** The stored document: the content with its date as the last field, as section 2.2 of the interface orders them. */
export function renderDocument(content: string, updated: number): string {
  return `${content.slice(0, -1)},"lastUpdatedDate":"${formatTimestamp(updated)}"}`
}

function findFaults(record: OccupationRecord): { field: string; message: string }[] {
  const faults: { field: string; message: string }[] = []
  const minorGroups = record.minorGroups ?? []
  if (minorGroups.filter((group) => group.minorGroupRelationType === 'Primary').length > 1) {
    faults.push({
      field: 'minorGroups',
      message: 'has two Primary minor groups; at most one is allowed',
    })
  }
  for (const [index, { minorGroup }] of minorGroups.entries()) {
    const majorGroups = minorGroup?.majorGroups ?? []
    if (majorGroups.filter((group) => group.majorGroupRelationType === 'Primary').length > 1) {
      faults.push({
        field: `minorGroups[${index}].minorGroup.majorGroups`,
        message: 'has two Primary major groups; at most one is allowed',
      })
    }
  }

  const figures = Object.entries(record.renumeration ?? {})
  for (const [index, [name, figure]] of figures.entries()) {
    const before = figures[index - 1]
    if (before !== undefined && figure < before[1]) {
      faults.push({
        field: `renumeration.${name}`,
        message: `is ${figure}, below ${before[0]} (${before[1]}); pay must not decrease`,
      })
    }
  }
  return faults
}

/**
 * Each filter under which the record is found: everything (`['', '']`), each major group, each minor group, and each
 * pair of the two, so that every combination of group filters is one list of codes and one kept count; then the same of
 * the Primary groups alone. `undefined` where they are too many.
 */
function listFilters(record: OccupationRecord): [string, string][] | undefined {
  const minors = new Set<string>()
  const majors = new Set<string>()
  for (const { minorGroup } of record.minorGroups ?? []) {
    if (minorGroup?.code !== undefined) minors.add(minorGroup.code)
    for (const { majorGroup } of minorGroup?.majorGroups ?? []) {
      if (majorGroup?.code !== undefined) majors.add(majorGroup.code)
    }
  }
  if ((majors.size + 1) * (minors.size + 1) > MAX_FILTERS) return undefined
  const any = ['', ...majors].flatMap((major) =>
    ['', ...minors].map((minor): [string, string] => [major, minor]),
  )
  return [...any, ...listPrimaryFilters(record)]
}

/** Those of the Primary minor group, of its Primary major group, and of both. */
function listPrimaryFilters(record: OccupationRecord): [string, string][] {
  const primary = record.minorGroups?.find((each) => each.minorGroupRelationType === 'Primary')?.minorGroup
  const above = primary?.majorGroups?.find((each) => each.majorGroupRelationType === 'Primary')?.majorGroup
  const minors = primary?.code === undefined ? [''] : ['', asPrimary(primary.code)]
  const majors = above?.code === undefined ? [''] : ['', asPrimary(above.code)]
  return majors.flatMap((major) => minors.map((minor): [string, string] => [major, minor])).slice(1)
}
