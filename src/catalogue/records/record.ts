import { hash } from 'node:crypto'
import type { SourceRecord } from '../../engines/records/index.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { compileSchema } from '../../foundation/schema/compile.ts'
import { quote } from '../../foundation/text/quote.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { asPrimary } from './primary.ts'
import { OccupationRecord } from './schema.ts'

/** A checked and rendered record, ready to be stored. */
export interface RenderedRecord {
  readonly code: string
  /** The record's own date in milliseconds since 1970, if it has one. */
  readonly ownDate: number | undefined
  /** Identifies the content: the record without its date. */
  readonly hash: string
  /** The filters that the record matches: a JSON array of [major group code, minor group code]. */
  readonly filters: string
  /** The record's JSON text without its date. */
  readonly content: string
  readonly normalised: boolean
  /** Whether text was repaired that had been decoded with the wrong character set. */
  readonly repaired: boolean
  /** Texts that lost characters or were decoded with the wrong character set, beyond repair. */
  readonly damage: readonly Fault[]
  /** Texts that may have been decoded with the wrong character set, or be correct. */
  readonly doubts: readonly Fault[]
  /** The names of groups without a code, which no filter and no list of groups can show. */
  readonly groupsWithoutCode: readonly string[]
  /** Whether it has a title in either language. */
  readonly titled: boolean
}

/** The faults of a record, and its code if that is valid, to detect its repetition. */
export interface FaultyRecord {
  readonly faults: readonly Fault[]
  readonly damage: readonly Fault[]
  readonly code?: string
  readonly ownDate: number | undefined
}

const readShape = compileSchema(OccupationRecord, { repair: true })

/** The most filters of one record. Each is a row, and one megabyte could name 200 million pairs of groups. */
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
export function renderRecord(source: SourceRecord): RenderedRecord | FaultyRecord {
  const { file, line, value, faults: before = [], inexact = false } = source
  const reading = readShape(value)
  const { lastUpdatedDate, ...record } = (reading.value ?? {}) as OccupationRecord
  const code = record.occupationCode
  const ownDate = lastUpdatedDate === undefined ? undefined : Date.parse(lastUpdatedDate)
  const filters = listFilters(record)
  const faults = [...reading.faults, ...findFaults(record)]
  if (filters === undefined) faults.push(TOO_MANY_FILTERS)
  // A faulty code, or a value that is not an object, must not also be reported as a missing code.
  const readable = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (code === undefined && readable && !reading.faults.some(({ field }) => field === 'occupationCode')) {
    faults.push(NO_CODE)
  }

  const place = ({ field, message }: { field: string; message: string }): Fault => ({
    file,
    line,
    ...(field !== '' && { field, ...source.locate?.(field) }),
    message,
  })
  const damage = reading.damage.map(place)
  if (before.length + faults.length > 0 || code === undefined || filters === undefined) {
    return { faults: [...before, ...faults.map(place)], damage, ...(code !== undefined && { code }), ownDate }
  }
  const content = JSON.stringify(record)
  return {
    code,
    ownDate,
    // Only detects changes and protects nothing: SHA-1 takes less than half the time of SHA-256.
    hash: hash('sha1', content, 'base64url'),
    filters: JSON.stringify(filters),
    content,
    normalised: reading.normalised || inexact,
    repaired: reading.repaired,
    damage,
    doubts: reading.doubts.map(place),
    groupsWithoutCode: listGroupsWithoutCode(record),
    titled: record.titleEnglish !== undefined || record.titleMaori !== undefined,
  }
}

/** The stored document: the content with its date as the last field, as in section 2.2 of the interface. */
export function renderDocument(content: string, updated: number): string {
  return `${content.slice(0, -1)},"lastUpdatedDate":"${formatTimestamp(updated)}"}`
}

const TITLES = ['titleEnglish', 'titleMaori', 'titlePluralEnglish', 'titlePluralMaori'] as const
const ALTERNATIVE_TITLES = ['altJobTitlesEnglish', 'altJobTitlesMaori'] as const

const LINE_END = /[\n\r\u2028\u2029]/

/** A cell with several names on lines of their own would otherwise become one name of several lines. */
function findLineEnds(record: OccupationRecord): { field: string; message: string }[] {
  const names: (readonly [string, string | undefined])[] = TITLES.map((field) => [field, record[field]])
  for (const field of ALTERNATIVE_TITLES) {
    for (const [index, text] of (record[field] ?? []).entries()) names.push([`${field}[${index}]`, text])
  }
  for (const [index, { minorGroup }] of (record.minorGroups ?? []).entries()) {
    const place = `minorGroups[${index}].minorGroup`
    names.push(
      [`${place}.nameEnglish`, minorGroup?.nameEnglish],
      [`${place}.nameMaori`, minorGroup?.nameMaori],
    )
    for (const [number, { majorGroup }] of (minorGroup?.majorGroups ?? []).entries()) {
      const above = `${place}.majorGroups[${number}].majorGroup`
      names.push(
        [`${above}.nameEnglish`, majorGroup?.nameEnglish],
        [`${above}.nameMaori`, majorGroup?.nameMaori],
      )
    }
  }
  return names.flatMap(([field, text]) =>
    text !== undefined && LINE_END.test(text)
      ? [
          {
            field,
            message: `has a line end in ${quote(text, 40)}; a name is one line. A mapping can split a cell at line ends (separator)`,
          },
        ]
      : [],
  )
}

function listGroupsWithoutCode(record: OccupationRecord): string[] {
  return (record.minorGroups ?? []).flatMap(({ minorGroup }) => {
    const major = (minorGroup?.majorGroups ?? []).map(({ majorGroup }) => majorGroup)
    return [minorGroup, ...major].flatMap((group) =>
      group !== undefined && group.code === undefined
        ? [group.nameEnglish ?? group.nameMaori ?? group.descriptionEnglish ?? '']
        : [],
    )
  })
}

function findFaults(record: OccupationRecord): { field: string; message: string }[] {
  const faults = findLineEnds(record)
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
 * All filters that match the record: everything (`['', '']`), each major group, each minor group, and each pair of
 * them, so that every combination of group filters has one list of codes and one stored count. The same follows for
 * the Primary groups only. Returns `undefined` if there are too many.
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

/** The filters for the Primary minor group, its Primary major group, and both. */
function listPrimaryFilters(record: OccupationRecord): [string, string][] {
  const primary = record.minorGroups?.find((each) => each.minorGroupRelationType === 'Primary')?.minorGroup
  const above = primary?.majorGroups?.find((each) => each.majorGroupRelationType === 'Primary')?.majorGroup
  const minors = primary?.code === undefined ? [''] : ['', asPrimary(primary.code)]
  const majors = above?.code === undefined ? [''] : ['', asPrimary(above.code)]
  return majors.flatMap((major) => minors.map((minor): [string, string] => [major, minor])).slice(1)
}
