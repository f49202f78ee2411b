/** The differences between the engines' SQL; every query is otherwise the same text. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Column type of text that is compared and sorted by code point. */
  readonly text: string
  /** Column type of bytes. */
  readonly bytes: string
  /** Ends a `select` that locks its rows, so that concurrent transactions skip them. */
  readonly skipLocked: string
  /** Column type of a generated row number. */
  readonly identity: string
  /** Ends a `create table` to store its rows in primary-key order, if the engine can. */
  readonly clustered: string
  /** A query for the names of the tables, as `name`. */
  readonly tables: string
  /** Whether many long texts are read faster joined into one value than as one row each. */
  readonly joinsDocuments: boolean
  /**
   * The most reads that can run at once. A driver that blocks its thread would finish all of them before any result
   * is used.
   */
  readonly mostReads: number
  /**
   * Limits a query to its first rows.
   *
   * @param limit the number of rows, as an expression
   * @param most the upper bound of `limit`
   */
  first(select: string, limit: string, most: number): string
  /** A text as UTF-8 bytes, which the driver need not decode, if that is faster. */
  utf8(expression: string): string
  /** A `from` item with one row, `value`, for each element of the JSON array in a text column. */
  elements(column: string, alias: string): string
  /** The same for an array of strings, with `value` as text. */
  texts(expression: string, alias: string): string
  /** Follows a table name and forces the use of an index that the planner would not choose. */
  useIndex(index: string): string
  /** Statements that choose the compression of a column that is fastest to read, if the engine compresses. */
  compress(table: string, column: string): readonly string[]
}

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  text: 'text',
  bytes: 'blob',
  skipLocked: '',
  identity: 'integer primary key',
  clustered: 'without rowid',
  tables: `select name from sqlite_master where type = 'table'`,
  first: (select, limit) => `${select} limit ${limit}`,
  // Measured: one row each takes 1.5 times as long, mostly to return each value.
  joinsDocuments: true,
  mostReads: 1,
  utf8: (expression) => `cast(${expression} as blob)`,
  elements: (column, alias) => `json_each(${column}) ${alias}`,
  texts: (expression, alias) => `json_each(${expression}) ${alias}`,
  useIndex: (index) => `indexed by ${index}`,
  compress: () => [],
}

export const postgresDialect: Dialect = {
  name: 'postgres',
  text: 'text collate "C"',
  bytes: 'bytea',
  skipLocked: 'for update skip locked',
  identity: 'bigint generated always as identity primary key',
  clustered: '',
  tables: 'select tablename as name from pg_tables where schemaname = current_schema()',
  // With an unknown limit, the planner assumes a tenth of the table, and so plans every page again. Measured: a page
  // then takes the server 1.4 times as long.
  first: (select, limit, most) => `select * from (${select} limit ${most}) at_most limit ${limit}`,
  // Measured: joined texts take the server twice as long.
  joinsDocuments: false,
  // The connection pool limits them.
  mostReads: Number.POSITIVE_INFINITY,
  // The driver only reads text results, and bytea as text is twice as long and must be decoded as well.
  utf8: (expression) => expression,
  elements: (column, alias) => `lateral jsonb_array_elements(${column}::jsonb) as ${alias}(value)`,
  texts: (expression, alias) => `lateral jsonb_array_elements_text(${expression}::jsonb) as ${alias}(value)`,
  useIndex: () => '',
  // Measured: a page takes 105 µs with lz4 and 186 µs with pglz. Some servers are built without lz4.
  compress: (table, column) => [
    `do $$ begin alter table ${table} alter column ${column} set compression lz4;
     exception when feature_not_supported then null; end $$`,
  ],
}
