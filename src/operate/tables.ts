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

export interface Range {
  /** The key to start after, and the last key. */
  readonly after?: readonly Value[]
  readonly upTo?: readonly Value[]
  /** A condition on the rows, without parameters. */
  readonly where?: string
}

/** Reads the rows of a table in key order, in batches of column values. */
export async function* readRows(
  reader: Reader,
  { name, columns, key }: Table,
  { after, upTo, where }: Range = {},
): AsyncGenerator<Value[][]> {
  const keyList = key.join(', ')
  const positions = key.map((column) => columns.indexOf(column))
  let last = after
  let limit = 500
  for (;;) {
    const parameters: Value[] = []
    const conditions = where === undefined ? [] : [where]
    const compare = (operator: string, values: readonly Value[] | undefined) => {
      if (values === undefined) return
      const marks = values.map((value) => `$${parameters.push(value)}`)
      conditions.push(`(${keyList}) ${operator} (${marks.join(', ')})`)
    }
    compare('>', last)
    compare('<=', upTo)
    const filter = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
    const rows = await reader.all<Record<string, Value>>(
      `select ${columns.join(', ')} from ${name} ${filter} order by ${keyList} limit $${parameters.push(limit)}`,
      parameters,
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
