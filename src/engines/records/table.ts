import { InputRefused, MAX_FAULTS, refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { isExact } from '../../foundation/text/exact-number.ts'
import { count } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import { type CsvColumn, closeGaps, type FieldPath, pick, put } from './csv-columns.ts'
import { describeDoubt, describeNoValue } from './no-record.ts'
import type { Locate, SourceRecord } from './source-record.ts'
import type { Cell } from './xlsx-values.ts'

/** The field that a column's cells are read into. */
export interface Target {
  readonly field: string
  readonly path: FieldPath
  readonly read: CsvColumn['read']
  /** Whether each cell adds items to a list: one, or several split at the separator. */
  readonly list: boolean
  readonly separator?: ListSeparator
}

/** What separates the items in a cell: one text, or any of several. */
export type ListSeparator = string | readonly string[]

/** Maps the columns of an unfamiliar table to fields. */
export interface Mapping {
  /** The file that contains the mapping. */
  readonly file: string
  /** By column name; columns mapped to `null` are ignored. */
  readonly columns: ReadonlyMap<string, Target | null>
  readonly constants: readonly { readonly path: FieldPath; readonly value: unknown }[]
  /** Cells that stand for no value, as `NA` does in R. */
  readonly noValue: ReadonlySet<string>
  /** Between cells; a comma by default. */
  readonly separator?: string
  /** Whether quotes are ordinary text. */
  readonly unquoted: boolean
  readonly sheet?: string
  /** The row that names the columns, from 1, below a title of the sheet; the first one by default. */
  readonly headerRow?: number
  /** Adds what follows from the columns of a record. */
  readonly complete: (record: Record<string, unknown>) => void
}

export interface TableOptions {
  /** The possible columns. */
  readonly columns: readonly CsvColumn[]
  /** Finds further columns, such as those of a list's items. */
  readonly findColumn?: ((name: string) => CsvColumn | undefined) | undefined
  readonly mapping?: Mapping | undefined
  readonly ignoreUnknown?: boolean | undefined
  /** Called with the name of each ignored column. */
  readonly onIgnored?: ((name: string) => void) | undefined
  /** Called with each number that is read as its cell shows it rather than as it is stored. */
  readonly onShown?: ((shown: ShownNumber & { readonly cell: string }) => void) | undefined
}

/** A number of a spreadsheet whose cell shows other digits: 110 with the format `0000` shows `0110`. */
interface ShownNumber {
  readonly stored: string
  readonly shown: string
}

export interface Place {
  readonly file: string
  readonly line: number
}

/** A column of a table and its name there; without a target if ignored. */
export interface HeaderColumn {
  readonly name: string
  readonly target: Target | undefined
}

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
  const mapped = [...(mapping?.columns.keys() ?? [])]
  if (mapped.length > 0 && !mapped.some((name) => names.includes(name))) {
    refuse({
      ...place,
      message: `has none of the columns of the mapping, such as ${quote(mapped[0] ?? '')}. If another row names the columns, give its number as headerRow`,
    })
  }
  if (mapping === undefined && !names.some(isNear)) {
    // It may be a data row, and messages are logged, so none of it is repeated.
    refuse({
      ...place,
      message: `The header row has no known column. Expected names such as ${knownNames[0]}${findColumn === undefined ? '' : ', or a mapping of columns to fields (--map), which can also say that another row names them (headerRow)'}`,
    })
  }
  const faults: Fault[] = []
  const seen = new Set<string>()
  const findTarget = (name: string): Target | undefined => {
    if (seen.has(name) && name !== '') {
      faults.push({ ...place, message: `names the column ${quote(name)} twice` })
      return undefined
    }
    seen.add(name)
    const target = mapping?.columns.get(name)
    if (target !== undefined) return target ?? undefined
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
  }
  const header = names.map((name) => ({ name, target: findTarget(name) }))
  for (const name of mapped) {
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
  given: readonly Cell[],
  header: readonly HeaderColumn[],
  options: Pick<TableOptions, 'mapping' | 'onShown'> & { readonly isSheet?: boolean },
): Generator<SourceRecord | Fault> {
  const { mapping, onShown, isSheet = false } = options
  const isNoValue = (cell: Cell) => typeof cell === 'string' && mapping?.noValue.has(cell.trim()) === true
  const cells = given.map((cell) => (isNoValue(cell) ? '' : cell))
  const split = (text: string, { separator }: Target) =>
    splitItems(text, separator).map((item) => (isNoValue(item) ? '' : item))
  if (cells.length !== header.length) {
    yield {
      ...place,
      message: `has ${count(cells.length, 'cell')}, and the header row has ${count(header.length, 'column')}`,
    }
    return
  }
  const value: Record<string, unknown> = {}
  for (const { path, value: constant } of mapping?.constants ?? []) put(value, path, constant)
  const faults: Fault[] = []
  let inexact = false
  for (const [index, { name, target }] of header.entries()) {
    const cell = cells[index]
    if (target === undefined || cell === undefined || cell === '') continue
    try {
      const text = readText(cell, target)
      if (typeof cell === 'object' && cell.kind === 'code' && text === cell.shown)
        onShown?.({ stored: cell.stored, shown: cell.shown, cell: nameCell(index, place.line) })
      const field = target.list
        ? [...asList(pick(value, target.path)), ...split(text, target)]
        : target.read(text)
      if (typeof field === 'number' && !isExact(text, field)) inexact = true
      put(value, target.path, field)
    } catch (error) {
      const at = describeColumn(name, index, { field: target.field, line: place.line, isSheet })
      faults.push({ ...place, ...at, field: target.field, message: (error as Error).message })
    }
  }
  mapping?.complete(value)
  const texts = cells.map((cell) => (typeof cell === 'string' ? cell : ''))
  const names = header.map(({ name }) => name)
  const read = header.map(({ target }, index) =>
    target === undefined ? [] : split(texts[index] ?? '', target),
  )
  const doubt = describeDoubt(texts, names) ?? describeNoValue(read, names)
  const table = { header, isSheet }
  yield {
    ...place,
    value: closeGaps(value),
    ...(inexact && { inexact }),
    ...(faults.length > 0 && { faults }),
    ...(doubt !== undefined && { doubt }),
    locate: (field) => locate(field, place.line, listFilled(cells, header), table),
    locateLater: (field, line) => locate(field, line, listHeader(header), table),
  }
}

interface Table {
  readonly header: readonly HeaderColumn[]
  readonly isSheet: boolean
}

function splitItems(text: string, separator: ListSeparator | undefined): string[] {
  if (separator === undefined) return [text]
  if (typeof separator === 'string') return text.split(separator)
  const [first = '', ...others] = separator
  // Of several separators, two can follow each other.
  const items = others.reduce((parts, each) => parts.flatMap((part) => part.split(each)), text.split(first))
  return items.map((item) => item.trim()).filter((item) => item !== '')
}

/** Finds the column and the cell of a field; `places` has the index of the column at the place of each field. */
function locate(
  field: string,
  line: number,
  places: unknown,
  { header, isSheet }: Table,
): ReturnType<Locate> {
  let at = places
  for (const step of field.split(/[.[\]]+/)) {
    if (typeof at !== 'object' || at === null || step === '') break
    at = (at as Record<string, unknown>)[step]
  }
  if (typeof at !== 'number') return {}
  return describeColumn(header[at]?.name ?? '', at, { field, line, isSheet })
}

/** The columns of a row's filled cells. */
function listFilled(cells: readonly Cell[], header: readonly HeaderColumn[]): unknown {
  const filled: Record<string, unknown> = {}
  for (const [index, { target }] of header.entries()) {
    const cell = cells[index]
    if (target === undefined || cell === undefined || cell === '') continue
    if (target.list) {
      const items = splitItems(typeof cell === 'string' ? cell : '', target.separator).map(() => index)
      put(filled, target.path, [...asList(pick(filled, target.path)), ...items])
    } else put(filled, target.path, index)
  }
  return closeGaps(filled)
}

/** The columns of a table, without those of a list that several columns fill. */
function listHeader(header: readonly HeaderColumn[]): unknown {
  const columns: Record<string, unknown> = {}
  for (const [index, { target }] of header.entries()) {
    if (target === undefined) continue
    const name = target.path.join('.')
    const isShared = header.filter((other) => other.target?.path.join('.') === name).length > 1
    if (!isShared) put(columns, target.path, index)
  }
  return columns
}

/** The column and the field of a cell of a row that cannot be read; `undefined` if its header has none. */
export function describeCell(
  header: readonly HeaderColumn[] | undefined,
  index: number | undefined,
): Pick<Fault, 'column' | 'field'> | undefined {
  const found = index === undefined ? undefined : header?.[index]
  if (found === undefined) return undefined
  const { name, target } = found
  if (target === undefined) return { column: name }
  return { ...describeColumn(name, 0, { field: target.field, line: 0, isSheet: false }), field: target.field }
}

function describeColumn(
  column: string,
  index: number,
  { field, line, isSheet }: { field: string; line: number; isSheet: boolean },
): Pick<Fault, 'column' | 'cell'> {
  return { ...(column !== field && { column }), ...(isSheet && { cell: nameCell(index, line) }) }
}

/** The name of a cell in a spreadsheet, such as `F17`. */
export function nameCell(index: number, line: number): string {
  let letters = ''
  for (let rest = index; rest >= 0; rest = Math.floor(rest / 26) - 1) {
    letters = String.fromCharCode(65 + (rest % 26)) + letters
  }
  return `${letters}${line}`
}

/**
 * @throws {Error} for a formula without a result, and for a date instead of text, which a spreadsheet has probably
 * converted from a code
 */
function readText(cell: Cell, { path, read, list }: Target): string {
  if (typeof cell === 'string') return cell
  const { kind, stored, shown } = cell
  if (kind === 'formula')
    throw new Error(
      'has a formula without a stored result: open the workbook in a spreadsheet program, which recalculates it, and save it',
    )
  // The format of a number belongs to a text such as a code; an amount is the number itself.
  if (kind !== 'moment') return read === String || list ? shown : stored
  if (path.at(-1) === 'lastUpdatedDate') return `${stored}Z`
  throw new Error(
    `is the date ${shown} in the spreadsheet: format the column as text and enter the value again`,
  )
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
