import { createHash, type Hash } from 'node:crypto'
import { type Database, DatabaseUnusable, type Reader, type Value } from '../foundation/database/database.ts'
import { COPYING, markCopying, readCopied, readHashKey } from '../foundation/database/instance.ts'
import { isUntouched } from '../foundation/database/revisions.ts'
import { count as formatCount, formatNumber } from '../foundation/text/format-number.ts'
import { nameRow, type Range, readRows, type Table } from './tables.ts'

export interface CopiedTable {
  readonly name: string
  readonly rows: number
  /** SHA-256 of the rows in key order, in hexadecimal: the same in both databases. */
  readonly digest: string
}

export interface CopyOptions {
  /** The tables, in the order of copying. */
  readonly tables: readonly Table[]
  /** The number of rows of each table right after the migrations. */
  readonly pristine: ReadonlyMap<string, number>
  /** Called after a table was copied and compared. */
  readonly onTable?: (table: CopiedTable) => void
}

/** This table records the copy in progress and is completed last. */
const INSTANCE = 'instance'
const OWN_ROWS = `name <> '${COPYING}'`

/**
 * Copies a consistent state of a database into an empty one. An interrupted copy is continued: existing rows are
 * compared and kept.
 *
 * @throws {DatabaseUnusable} if the target has other data, or a copied table differs from its source
 */
export async function copyDatabase(
  source: Database,
  target: Database,
  { tables, pristine, onTable = () => undefined }: CopyOptions,
): Promise<CopiedTable[]> {
  return await source.snapshot(async (reader) => {
    await begin(reader, target, tables, pristine)
    const copied: CopiedTable[] = []
    const order = [...tables].sort((a, b) => Number(a.name === INSTANCE) - Number(b.name === INSTANCE))
    for (const table of order) {
      const written = await copyTable(reader, target, table)
      const found = await digest(target, table, { where: table.name === INSTANCE ? OWN_ROWS : 'true' })
      if (written.rows !== found.rows || written.digest !== found.digest) {
        throw new DatabaseUnusable(
          `the table ${table.name} differs from its source after it was copied (${formatCount(found.rows, 'row')} instead of ${formatNumber(written.rows)}). Nothing may write to the target during the copy. Run the command again`,
        )
      }
      copied.push(written)
      onTable(written)
    }
    await end(target, tables)
    return copied
  })
}

/** Marks an empty target as incomplete, and deletes the rows that the migrations inserted. */
async function begin(
  reader: Reader,
  target: Database,
  tables: readonly Table[],
  pristine: ReadonlyMap<string, number>,
): Promise<void> {
  const source = await identify(reader)
  const copied = await readCopied(target)
  if (copied === source) return
  if (copied !== undefined)
    throw new DatabaseUnusable(`${target.address} contains part of another database. Use an empty database`)
  await target.write('schema', async (writer) => {
    const untouched = await isUntouched(writer)
    for (const { name } of tables) {
      const rows = await count(writer, name)
      // A service that has only been started has stored check values of its encryption keys.
      const isEmpty = name === INSTANCE || rows === (pristine.get(name) ?? 0)
      if (!isEmpty || !untouched)
        throw new DatabaseUnusable(`${target.address} is not empty. Use an empty database`)
    }
    for (const { name } of tables) await writer.run(`delete from ${name}`)
    await markCopying(writer, source)
  })
}

/** Identifies the source without revealing anything about it. */
async function identify(reader: Reader): Promise<string> {
  return createHash('sha256')
    .update(`copy of ${await readHashKey(reader)}`)
    .digest('hex')
}

/** Copies the rows that the target lacks; returns the digest of the source. */
async function copyTable(reader: Reader, target: Database, table: Table): Promise<CopiedTable> {
  let state = { hash: createHash('sha256'), rows: 0 }
  let after: readonly Value[] | undefined
  const last = table.name === INSTANCE ? undefined : await findLast(target, table)
  if (last !== undefined) {
    // Rows from an interrupted copy are kept if they still match the source.
    const there = await digest(target, table, {})
    const here = await fold(reader, table, { upTo: last })
    if (there.rows === here.rows && there.digest === here.hash.copy().digest('hex')) {
      state = here
      after = last
    }
  }
  if (after === undefined) {
    const rest = table.name === INSTANCE ? ` where ${OWN_ROWS}` : ''
    await target.write('schema', (writer) => writer.run(`delete from ${table.name}${rest}`))
  }
  const range: Range = { ...(after && { after }), ...(table.name === INSTANCE && { where: OWN_ROWS }) }
  for await (const batch of readRows(reader, table, range)) {
    for (const row of batch) state.hash.update(nameRow(row))
    state.rows += batch.length
    await target.write('schema', (writer) => writer.load(table.name, table.columns, batch))
  }
  return { name: table.name, rows: state.rows, digest: state.hash.digest('hex') }
}

async function findLast(reader: Reader, { name, columns, key }: Table): Promise<Value[] | undefined> {
  const order = key.map((column) => `${column} desc`).join(', ')
  const row = await reader.get<Record<string, Value>>(
    `select ${columns.join(', ')} from ${name} order by ${order} limit 1`,
  )
  return row === undefined ? undefined : key.map((column) => row[column] ?? null)
}

async function fold(reader: Reader, table: Table, range: Range): Promise<{ hash: Hash; rows: number }> {
  const hash = createHash('sha256')
  let rows = 0
  for await (const batch of readRows(reader, table, range)) {
    for (const row of batch) hash.update(nameRow(row))
    rows += batch.length
  }
  return { hash, rows }
}

/** The number of rows of a table, and their digest. */
export async function digest(reader: Reader, table: Table, range: Range = {}): Promise<CopiedTable> {
  const { hash, rows } = await fold(reader, table, range)
  return { name: table.name, rows, digest: hash.digest('hex') }
}

export async function count(reader: Reader, table: string): Promise<number> {
  const row = await reader.get<{ count: number }>(`select count(*) as count from ${table}`)
  return row?.count ?? 0
}

/** Sets the target's row numbers to continue after the copied ones, and marks it as complete. */
async function end(target: Database, tables: readonly Table[]): Promise<void> {
  await target.write('schema', async (writer) => {
    if (writer.dialect.name === 'postgres') {
      for (const { name } of tables) {
        const identities = await writer.all<{ name: string }>(
          `select attname as name from pg_attribute where attrelid = $1::regclass and attidentity <> '' and not attisdropped`,
          [name],
        )
        for (const { name: column } of identities) {
          await writer.get(
            `select setval(pg_get_serial_sequence('${name}', '${column}'), greatest((select max(${column}) from ${name}), 1))`,
          )
        }
        await writer.analyze(name)
      }
    }
    await markCopying(writer, undefined)
  })
}
