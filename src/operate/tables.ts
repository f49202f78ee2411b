import type { Reader, Value } from '../foundation/database/database.ts'

/** A table as the database describes it, so that new migrations need no change here. */
export interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of its primary key in order; all columns if it has none. */
  readonly key: readonly string[]
}

/** The table of applied migrations, which is not copied. */
const OWN = 'migration'

/** All tables, in the order of their creation. */
export async function listTables(reader: Reader): Promise<Table[]> {
  const { tables, columns } = STATEMENTS[reader.dialect.name]
  const names = await reader.all<{ name: string }>(tables)
  const described: Table[] = []
  for (const { name } of names) {
    if (name === OWN) continue
    const found = await reader.all<{ name: string; place: number | null }>(columns, [name])
    const key = found.filter(({ place }) => place !== null).sort((a, b) => Number(a.place) - Number(b.place))
    described.push({
      name,
      columns: found.map((column) => column.name),
      key: (key.length > 0 ? key : found).map((column) => column.name),
    })
  }
  return described
}

const STATEMENTS = {
  sqlite: {
    tables: `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid`,
    columns: 'select name, nullif(pk, 0) as place from pragma_table_info($1) order by cid',
  },
  postgres: {
    tables: `select relname as name from pg_class
      where relnamespace = (select oid from pg_namespace where nspname = current_schema())
        and relkind in ('r', 'p') and not relispartition
      order by oid`,
    columns: `select attname as name, array_position(indkey::int2[], attnum) as place
      from pg_class c join pg_attribute a on attrelid = c.oid and attnum > 0 and not attisdropped
        left join pg_index on indrelid = c.oid and indisprimary
      where relname = $1 and relnamespace = (select oid from pg_namespace where nspname = current_schema())
      order by attnum`,
  },
}

/** The target size of a batch in bytes, and its most rows. */
const BATCH_BYTES = 8 * 2 ** 20
const BATCH_ROWS = 5_000

/** Reads the rows of a table in key order, in batches of column values. */
export async function* readRows(reader: Reader, { name, columns, key }: Table): AsyncGenerator<Value[][]> {
  const keyList = key.join(', ')
  const positions = key.map((column) => columns.indexOf(column))
  const select = `select ${columns.join(', ')} from ${name}`
  let last: Value[] | undefined
  let limit = 500
  for (;;) {
    const marks = key.map((_, index) => `$${index + 1}`)
    const rest = last === undefined ? '' : `where (${keyList}) > (${marks.join(', ')})`
    const rows: Record<string, Value>[] = await reader.all(
      `${select} ${rest} order by ${keyList} limit ${limit}`,
      last ?? [],
    )
    if (rows.length === 0) return
    const batch = rows.map((row) => columns.map((column) => row[column] ?? null))
    yield batch
    const newest = batch.at(-1) ?? []
    last = positions.map((position) => newest[position] ?? null)
    const bytes = batch.reduce((sum, row) => sum + weigh(row), 0)
    limit = Math.max(1, Math.min(BATCH_ROWS, Math.floor((BATCH_BYTES / bytes) * rows.length)))
  }
}

function weigh(row: readonly Value[]): number {
  return row.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8),
    1,
  )
}

/** Renders a row as text that is the same for both engines. */
export function nameRow(row: readonly Value[]): string {
  return `${JSON.stringify(row.map((value) => (value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value)))}\n`
}
