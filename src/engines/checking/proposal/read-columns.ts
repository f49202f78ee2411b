import { takeTurn } from '../../../foundation/timed-turns.ts'
import { CsvReader, FileSource, NdjsonReader, type RecordReader, trimName } from '../../records/index.ts'
import { Node } from '../definition/node.ts'
import { readDialect } from '../definition/read-dialect.ts'
import { MARK_PREFIX } from '../engine/columns.ts'
import { prepareFile } from '../engine/prepare-file.ts'
import { isNdjson } from '../engine/read-file.ts'
import { Column, type Room } from './column.ts'
import { KeySearch, listParts } from './key.ts'

/** A file, and what its columns seem to hold. */
export interface ReadColumns {
  readonly columns: readonly Column[]
  readonly records: number
  /** Columns that together never repeat, if none does so alone. */
  readonly jointKey: readonly Column[] | undefined
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
  if (!prepared.readable) return prepared.faults[0] ?? 'The file cannot be read.'
  const isJson = isNdjson(prepared.path, path)
  const names = isJson ? await listNames(prepared.path, signal) : []
  /** Reads it again, for keys of several columns. */
  const findJointKey = async (
    columns: readonly Column[],
    records: number,
    open: (source: FileSource) => RecordReader,
  ) => {
    const parts = listParts(columns, records)
    if (parts.length < 2) return undefined
    const source = new FileSource(prepared.path)
    try {
      const search = new KeySearch(parts, room)
      await readAll(open(source), columns.length, signal, (reader) => search.add(reader))
      return search.found?.map((part) => columns[part]).filter((column) => column !== undefined)
    } finally {
      source.close()
    }
  }
  const source = new FileSource(prepared.path)
  try {
    if (isJson) {
      if (names.length === 0) return 'The file has no records.'
      const open = ({ read }: FileSource) => new NdjsonReader(read, toJsonColumns(names))
      const columns = names.map((each) => new Column(each, room))
      const records = await addAll(open(source), columns, signal)
      return {
        columns,
        records,
        separator: undefined,
        jointKey: await findJointKey(columns, records, open),
      }
    }
    const reader = new CsvReader(source.read, { hasNul: prepared.hasNul })
    if (!reader.next()) return 'The file has no header.'
    if (reader.fault !== undefined) return `The header cannot be read. ${reader.fault}`
    const header = reader.cells.slice(0, reader.count).map(trimName)
    const { separator } = reader
    reader.emptyLines = header.length === 1
    const columns = header.map((each) => new Column(each, room))
    const records = await addAll(reader, columns, signal)
    const jointKey = await findJointKey(columns, records, ({ read }) => {
      const again = new CsvReader(read, { hasNul: prepared.hasNul })
      again.next()
      return again
    })
    return { columns: columns.filter(isNamed), records, separator, jointKey }
  } finally {
    source.close()
  }
}

/** Columns without a name, or with an earlier one, are faults of the file. */
function isNamed({ name }: Column, index: number, all: readonly Column[]): boolean {
  const isFirst = all.findIndex((each) => each.name === name) === index
  return name !== '' && isFirst && !name.startsWith(MARK_PREFIX)
}

async function addAll(
  reader: RecordReader,
  columns: readonly Column[],
  signal: AbortSignal | undefined,
): Promise<number> {
  return await readAll(reader, columns.length, signal, ({ cells }) => {
    for (const [index, column] of columns.entries()) column.add(cells[index] ?? '')
  })
}

/** @returns the number of records */
async function readAll(
  reader: RecordReader,
  width: number,
  signal: AbortSignal | undefined,
  add: (reader: RecordReader) => void,
): Promise<number> {
  let records = 0
  while (reader.next()) {
    if (++records % TURN === 0) await giveTurn(signal)
    // A record that cannot be read says nothing about its columns.
    if (reader.fault === undefined && reader.count === width) add(reader)
  }
  return records
}

/** The names of all properties, in the order in which they occur. */
async function listNames(path: string, signal: AbortSignal | undefined): Promise<string[]> {
  const source = new FileSource(path)
  try {
    const reader = new NdjsonReader(source.read, toJsonColumns([]))
    for (let records = 0; reader.next(); records++) if (records % TURN === TURN - 1) await giveTurn(signal)
    return [...reader.unknown.keys()].filter((name) => name !== '' && !name.startsWith(MARK_PREFIX))
  } finally {
    source.close()
  }
}

/** Lets a signal of the user arrive. */
async function giveTurn(signal: AbortSignal | undefined): Promise<void> {
  await takeTurn()
  signal?.throwIfAborted()
}

function toJsonColumns(names: readonly string[]) {
  return { names, delimiters: names.map(() => ';') }
}
