import { takeTurn } from '../../../foundation/timed-turns.ts'
import {
  detectSeparator,
  FileSource,
  NdjsonReader,
  namesSeparator,
  type RecordReader,
  splitRecord,
  trimName,
} from '../../records/index.ts'
import { Node } from '../definition/node.ts'
import { readDialect } from '../definition/read-dialect.ts'
import { describeNoRecordOf, MARK_PREFIX } from '../engine/columns.ts'
import { splitStart } from '../engine/first-line.ts'
import { prepareFile } from '../engine/prepare-file.ts'
import { isNdjson, openTable, readStart } from '../engine/read-file.ts'
import { Column, type Room } from './column.ts'

/** A file, and what its columns seem to hold. */
export interface ReadColumns {
  readonly columns: readonly Column[]
  readonly records: number
  /** The line of the header, below a title. */
  readonly headerRow: number
  /** Between the values; `undefined` for NDJSON. */
  readonly separator: string | undefined
}

/** The dialect of a resource that states none. */
const NONE = new Node(undefined, '', [])
const PLAIN = readDialect(NONE, NONE)

/** The records that are read before others may do something. */
const TURN = 10_000

interface ReadOptions {
  /** For a copy in UTF-8, with its name and its largest size. */
  readonly folder: string
  readonly name: string
  readonly bytes: number
  readonly room: Room
  readonly signal: AbortSignal | undefined
}

/**
 * Reads a file to its end.
 *
 * @returns a full sentence if it has no columns
 */
export async function readColumns(
  path: string,
  { folder, name, room, bytes, signal }: ReadOptions,
): Promise<ReadColumns | string> {
  const resource = { dialect: PLAIN, fields: [] }
  const prepared = await prepareFile(path, { folder, name, room: { left: bytes }, resource })
  if (!prepared.readable) return prepared.faults[0]?.message ?? 'The file cannot be read.'
  const isJson = isNdjson(prepared.path, path)
  const names = isJson ? await listNames(prepared.path, signal) : []
  if (isJson) {
    if (names.length === 0) return 'The file has no records.'
    const columns = names.map((each) => new Column(each, room))
    const records = await readJson(prepared.path, names, (reader) => addAll(reader, columns, signal))
    return { columns, records, separator: undefined, headerRow: 1 }
  }
  const { line: headerRow, separator } = findHeader(readStart(prepared.path))
  const { reader, close } = openTable(prepared, { separator })
  try {
    do if (!reader.next()) return 'The file has no header.'
    while (reader.line < headerRow)
    if (reader.fault !== undefined) return `The header cannot be read. ${reader.fault.message}`
    const header = reader.cells.slice(0, reader.count).map(trimName)
    reader.emptyLines = header.length === 1
    const columns = header.map((each) => new Column(each, room))
    const records = await addAll(reader, columns, signal)
    return { columns: columns.filter(isNamed), records, separator: reader.separator, headerRow }
  } finally {
    close()
  }
}

/** Columns without a name, or with an earlier one, are faults of the file. */
function isNamed({ name }: Column, index: number, all: readonly Column[]): boolean {
  const isFirst = all.findIndex((each) => each.name === name) === index
  return name !== '' && isFirst && !name.startsWith(MARK_PREFIX)
}

/** @returns the number of records */
async function addAll(
  reader: RecordReader,
  columns: readonly Column[],
  signal: AbortSignal | undefined,
): Promise<number> {
  const header = columns.map(({ name }) => name)
  const width = header.length
  const marks = new Set([...header.keys()].filter((at) => header[at]?.startsWith(MARK_PREFIX)))
  let records = 0
  while (reader.next()) {
    if (++records % TURN === 0) await giveTurn(signal)
    const { cells, count, fault } = reader
    // A record that cannot be read says nothing about its columns, and a row of totals neither.
    if (fault !== undefined || count !== width) continue
    if (describeNoRecordOf({ header, width, marks }, cells, count) !== undefined) continue
    for (const [index, column] of columns.entries()) column.add(cells[index] ?? '')
  }
  return records
}

/**
 * The line of the header: the first one with most of the columns. A first line of several cells is a title only if names
 * and rows of the same width follow it.
 */
function findHeader(start: string): { line: number; separator: string | undefined } {
  const lines = splitStart(start).map((text) => {
    const separator = detectSeparator(text)
    const cells = namesSeparator(text) ? [] : (splitRecord(text, separator) ?? [])
    return { separator, cells, filled: cells.filter((cell) => cell.trim() !== '').length }
  })
  const most = Math.max(...lines.map(({ filled }) => filled))
  const first = lines.findIndex(({ filled }) => filled > 0)
  const index = lines.findIndex(({ filled }) => filled > 1 && filled >= most * LEAST_FILLED)
  const header = lines[index]?.cells ?? []
  const isTable = lines
    .slice(index)
    .every(({ cells, filled }) => filled === 0 || cells.length === header.length)
  const isTitle = lines[first]?.filled === 1
  return index <= first || !(isTitle || (isTable && header.every((name) => /\p{L}/u.test(name))))
    ? { line: 1, separator: undefined }
    : { line: index + 1, separator: lines[index]?.separator }
}

/** The part of the columns that a header names, at least. */
const LEAST_FILLED = 0.8

/** The names of all properties, in the order in which they occur. */
async function listNames(path: string, signal: AbortSignal | undefined): Promise<string[]> {
  return await readJson(path, [], async (reader) => {
    for (let records = 0; reader.next(); records++) if (records % TURN === TURN - 1) await giveTurn(signal)
    return [...reader.unknown].filter((name) => name !== '' && !name.startsWith(MARK_PREFIX))
  })
}

async function readJson<T>(
  path: string,
  names: readonly string[],
  work: (reader: NdjsonReader) => Promise<T>,
): Promise<T> {
  const source = new FileSource(path)
  try {
    return await work(new NdjsonReader(source.read, { names, delimiters: names.map(() => ';') }))
  } finally {
    source.close()
  }
}

/** Lets a signal of the user arrive. */
async function giveTurn(signal: AbortSignal | undefined): Promise<void> {
  await takeTurn()
  signal?.throwIfAborted()
}
