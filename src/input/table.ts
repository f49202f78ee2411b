import { isExact } from '../text/exact-number.ts'
import { quote } from '../text/quote.ts'
import { suggest } from '../text/suggest.ts'
import type { Fault } from '../text/user-error.ts'
import { type CsvColumn, closeGaps, type FieldPath, pick, put } from './csv-columns.ts'
import { InputRefused, MAX_FAULTS, refuse } from './faults.ts'
import type { Mapping, Target } from './mapping.ts'
import type { SourceRecord } from './source-record.ts'

export interface TableOptions {
  /** The possible columns. */
  readonly columns: readonly CsvColumn[]
  /** Finds further columns, such as those of a list's items. */
  readonly findColumn?: ((name: string) => CsvColumn | undefined) | undefined
  readonly mapping?: Mapping | undefined
  readonly ignoreUnknown?: boolean | undefined
  /** Called with the name of each ignored column. */
  readonly onIgnored?: ((name: string) => void) | undefined
}

export interface Place {
  readonly file: string
  readonly line: number
}

/** A column of a table; `undefined` if ignored. */
export type HeaderColumn = Target | undefined

/** A cell of a table; a date if the spreadsheet stores it as one. */
export type Cell = string | Date

/**
 * Finds the target of each column of a table.
 *
 * @throws {InputRefused} with every unknown, repeated or missing column
 */
export function readHeader(place: Place, names: readonly string[], options: TableOptions): HeaderColumn[] {
  const { columns, findColumn, mapping, ignoreUnknown = false, onIgnored } = options
  const known = new Map(columns.map((column) => [column.name, column]))
  const knownNames = [...known.keys()]
  const find = (name: string) => known.get(name) ?? findColumn?.(name)
  const isNear = (name: string) => find(name) !== undefined || suggest(name, knownNames) !== ''
  if (mapping === undefined && !names.some(isNear)) {
    // It may be a data row, and messages are logged, so none of it is repeated.
    refuse({
      ...place,
      message: `The header row has no known column. Expected names such as ${knownNames[0]}${findColumn === undefined ? '' : ', or a mapping of columns to fields (--map)'}`,
    })
  }
  const faults: Fault[] = []
  const seen = new Set<string>()
  const header = names.map((name): HeaderColumn => {
    if (seen.has(name) && name !== '') {
      faults.push({ ...place, message: `names the column ${quote(name)} twice` })
      return undefined
    }
    seen.add(name)
    const mapped = mapping?.columns.get(name)
    if (mapped !== undefined) return mapped ?? undefined
    const column = find(name)
    if (column !== undefined) return { field: column.name, path: column.path, read: column.read, list: false }
    if (ignoreUnknown) onIgnored?.(name)
    else {
      const advice =
        mapping === undefined
          ? suggest(name, knownNames)
          : ', which the mapping does not name: map it to a field or to null, or give --ignore-unknown'
      faults.push({ ...place, message: `names the unknown column ${quote(name)}${advice}` })
    }
    return undefined
  })
  for (const name of mapping?.columns.keys() ?? []) {
    if (seen.has(name)) continue
    const message = `maps the column ${quote(name)}, which ${place.file} does not have${suggest(name, names)}`
    faults.push({ file: mapping?.file ?? '', field: 'columns', message })
  }
  if (faults.length > 0) throw new InputRefused(faults.slice(0, MAX_FAULTS + 1))
  return header
}

/** Reads a row into a record, with all faults of its cells. */
export function* readRow(
  place: Place,
  cells: readonly Cell[],
  header: readonly HeaderColumn[],
  mapping?: Mapping,
): Generator<SourceRecord | Fault> {
  if (cells.length !== header.length) {
    yield {
      ...place,
      message: `has ${cells.length} cells, and the header row has ${header.length} columns`,
    }
    return
  }
  const value: Record<string, unknown> = {}
  for (const { path, value: constant } of mapping?.constants ?? []) put(value, path, constant)
  const faults: Fault[] = []
  let inexact = false
  for (const [index, target] of header.entries()) {
    const cell = cells[index]
    if (target === undefined || cell === undefined || cell === '') continue
    try {
      const text = readText(cell, target)
      if (target.list) {
        const items = target.separator === undefined ? [text] : text.split(target.separator)
        put(value, target.path, [...asList(pick(value, target.path)), ...items])
        continue
      }
      const field = target.read(text)
      if (typeof field === 'number' && !isExact(text, field)) inexact = true
      put(value, target.path, field)
    } catch (error) {
      faults.push({ ...place, field: target.field, message: (error as Error).message })
    }
  }
  if (mapping !== undefined) relateGroups(value)
  yield {
    ...place,
    value: closeGaps(value),
    ...(inexact && { inexact }),
    ...(faults.length > 0 && { faults }),
  }
}

/** @throws {Error} for a date instead of text, which a spreadsheet has probably converted from a code */
function readText(cell: Cell, { path }: Target): string {
  if (typeof cell === 'string') return cell
  const date = cell.toISOString()
  if (path.at(-1) === 'lastUpdatedDate') return date
  throw new Error(
    `is the date ${date.slice(0, 10)} in the spreadsheet: format the column as text and enter the value again`,
  )
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

const GROUP: FieldPath = ['minorGroups', 0]
const ABOVE: FieldPath = [...GROUP, 'minorGroup', 'majorGroups', 0]

/** The group columns of a spreadsheet contain the Primary group, unless the mapping says otherwise. */
function relateGroups(value: Record<string, unknown>): void {
  for (const [path, name] of [
    [GROUP, 'minorGroupRelationType'],
    [ABOVE, 'majorGroupRelationType'],
  ] as const) {
    if (pick(value, path) !== undefined && pick(value, [...path, name]) === undefined) {
      put(value, [...path, name], 'Primary')
    }
  }
}
