import { createHash } from 'node:crypto'
import {
  type Database,
  DatabaseUnusable,
  type Reader,
  type Value,
  type Writer,
} from '../foundation/database/database.ts'
import { isMigrated } from '../foundation/database/migrate.ts'
import { connectDatabase, isSameDatabase, openDatabase } from '../foundation/database/open.ts'
import { isUntouched } from '../foundation/database/revisions.ts'
import { count as formatCount, formatNumber } from '../foundation/text/format-number.ts'
import { listTables, nameRow, readRows, type Table } from './tables.ts'

export interface CopiedTable {
  readonly name: string
  readonly rows: number
  /** SHA-256 of the rows in key order, in hexadecimal: the same in both databases. */
  readonly digest: string
}

/** Called after a table was copied and compared. */
type OnTable = (table: CopiedTable) => void

/**
 * Copies one database into an empty one, by their URLs. The source is only read.
 *
 * @throws {DatabaseUnusable}
 */
export async function copyBetween(from: string, to: string, onTable?: OnTable): Promise<CopiedTable[]> {
  if (isSameDatabase(from, to)) throw new DatabaseUnusable('--from and --to name the same database')
  // Without migrations, so that the source is not changed.
  const source = await connectDatabase(from, { existing: true, setting: '--from' })
  try {
    if (!(await isMigrated(source)))
      throw new DatabaseUnusable(
        `${source.address} is not up to date. Run "mahi migrate" on it with this version first`,
      )
    const target = await openDatabase(to, { setting: '--to' })
    try {
      return await copyDatabase(source, target, onTable)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/**
 * Copies a consistent state of a database into an empty one of the same version, in one transaction: a copy that fails
 * leaves it empty.
 *
 * @throws {DatabaseUnusable} if the target is not empty, or a copied table differs from its source
 */
export async function copyDatabase(
  source: Database,
  target: Database,
  onTable: OnTable = () => undefined,
): Promise<CopiedTable[]> {
  const tables = await matchTables(source, target)
  return await source.snapshot((reader) =>
    target.write('schema', async (writer) => {
      await assertEmpty(writer, target.address, tables)
      const copied: CopiedTable[] = []
      for (const table of tables) {
        const written = await copyTable(reader, writer, table)
        const found = await digest(writer, table)
        if (written.rows !== found.rows || written.digest !== found.digest)
          throw new DatabaseUnusable(
            `the table ${table.name} differs from its source after it was copied (${formatCount(found.rows, 'row')} instead of ${formatNumber(written.rows)}). Nothing was copied`,
          )
        copied.push(written)
        onTable(written)
      }
      await continueNumbers(writer, tables)
      return copied
    }),
  )
}

/** The tables of the source; the target must have each of them with the same columns. */
async function matchTables(source: Database, target: Database): Promise<Table[]> {
  const [tables, others] = [await listTables(source), await listTables(target)]
  const describe = ({ name, columns }: Table) => `${name} ${[...columns].sort().join(' ')}`
  const found = new Set(others.map(describe))
  const missing = tables.filter((table) => !found.has(describe(table)))
  if (missing.length > 0)
    throw new DatabaseUnusable(
      `the tables ${missing.map(({ name }) => name).join(', ')} differ between the two databases. Both must be migrated to this version`,
    )
  return tables
}

/** The tables into which the schema itself writes rows. */
const SEEDED: readonly string[] = ['revision', 'instance', 'occupation_filter', 'catalogue_revision']

async function assertEmpty(writer: Writer, address: string, tables: readonly Table[]): Promise<void> {
  let isEmpty = await isUntouched(writer)
  for (const { name } of tables)
    if (!SEEDED.includes(name))
      isEmpty &&= (await writer.get(`select 1 as found from ${name} limit 1`)) === undefined
  if (!isEmpty) throw new DatabaseUnusable(`${address} is not empty. Use an empty database`)
}

/** Replaces the rows of a table by those of its source; returns the digest of the source. */
async function copyTable(reader: Reader, writer: Writer, table: Table): Promise<CopiedTable> {
  await writer.run(`delete from ${table.name}`)
  return await digest(reader, table, (batch) => writer.load(table.name, table.columns, batch))
}

/**
 * The number of rows of a table, and their digest.
 *
 * @param onBatch called with each batch of rows in turn
 */
export async function digest(
  reader: Reader,
  table: Table,
  onBatch: (rows: readonly (readonly Value[])[]) => Promise<unknown> = async () => undefined,
): Promise<CopiedTable> {
  const hash = createHash('sha256')
  let rows = 0
  for await (const batch of readRows(reader, table)) {
    for (const row of batch) hash.update(nameRow(row))
    rows += batch.length
    await onBatch(batch)
  }
  return { name: table.name, rows, digest: hash.digest('hex') }
}

/** Sets the numbers of new rows to continue after the copied ones. */
async function continueNumbers(writer: Writer, tables: readonly Table[]): Promise<void> {
  if (writer.dialect.name !== 'postgres') return
  for (const { name } of tables) {
    const identities = await writer.all<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attidentity <> '' and not attisdropped`,
      [name],
    )
    for (const { name: column } of identities)
      await writer.get(
        `select setval(pg_get_serial_sequence('${name}', '${column}'), greatest((select max(${column}) from ${name}), 1))`,
      )
    await writer.analyze(name)
  }
}
