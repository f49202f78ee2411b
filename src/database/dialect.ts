/** The few words in which the engines' SQL differs; every query is otherwise the same text. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Column type for text that is compared and sorted by code point. */
  readonly text: string
  /** Column type for bytes. */
  readonly bytes: string
  /** Ends a `select` whose rows other transactions are to pass over until this one ends, where they run at once. */
  readonly skipLocked: string
  /** Column type of a row number that the database hands out. */
  readonly identity: string
  /** Ends a `create table` whose rows are kept in the order of their primary key, where the engine can. */
  readonly clustered: string
  /** An expression for 128 random bits, in hexadecimal. */
  readonly randomId: string
  /** Lists the tables, as `name`. */
  readonly tables: string
  /** Whether many long texts are read faster as one value that the engine joins than in a row each. */
  readonly joinsDocuments: boolean
  /** Reads that can run at the same time: where the driver blocks its thread, they would all end before any result is used. */
  readonly mostReads: number
  /**
   * The first rows of a query.
   *
   * @param limit how many, as an expression
   * @param most what `limit` never goes beyond
   */
  first(select: string, limit: string, most: number): string
  /** A text as its bytes in UTF-8, which the driver hands over undecoded, where that is the faster way. */
  utf8(expression: string): string
  /** A `from` item with one row, `value`, for each element of the JSON array in a text column. */
  elements(column: string, alias: string): string
  /** The same for an array of texts, with `value` as text. */
  texts(expression: string, alias: string): string
  /** A JSON text, ready for `->` and `->>`. */
  json(expression: string): string
  /** A text as a JSON string; null stays null. */
  jsonText(expression: string): string
  /** Follows a table's name and makes a query use an index, where the planner knows too little to choose it. */
  useIndex(index: string): string
  /** Statements that give a column the compression that is fastest to read, where the engine compresses. */
  compress(table: string, column: string): readonly string[]
}

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  text: 'text',
  bytes: 'blob',
  skipLocked: '',
  identity: 'integer primary key',
  clustered: 'without rowid',
  randomId: 'lower(hex(randomblob(16)))',
  tables: `select name from sqlite_master where type = 'table'`,
  first: (select, limit) => `${select} limit ${limit}`,
  // Measured: a row each takes half as long again, most of it for handing over each value.
  joinsDocuments: true,
  mostReads: 1,
  utf8: (expression) => `cast(${expression} as blob)`,
  elements: (column, alias) => `json_each(${column}) ${alias}`,
  texts: (expression, alias) => `json_each(${expression}) ${alias}`,
  json: (expression) => expression,
  jsonText: (expression) => `nullif(json_quote(${expression}), 'null')`,
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
  randomId: `replace(gen_random_uuid()::text, '-', '')`,
  tables: 'select tablename as name from pg_tables where schemaname = current_schema()',
  // Not knowing a parameter, the planner takes it for a tenth of the table, and so keeps no plan but makes a new one
  // for each page. Measured: a page takes the server two fifths as long again.
  first: (select, limit, most) => `select * from (${select} limit ${most}) at_most limit ${limit}`,
  // Measured: joined they take the server twice as long.
  joinsDocuments: false,
  // The connection pool limits them.
  mostReads: Number.POSITIVE_INFINITY,
  // The driver only reads the text form of results, and that of bytea is twice as long and has to be decoded too.
  utf8: (expression) => expression,
  elements: (column, alias) => `lateral jsonb_array_elements(${column}::jsonb) as ${alias}(value)`,
  texts: (expression, alias) => `lateral jsonb_array_elements_text(${expression}::jsonb) as ${alias}(value)`,
  json: (expression) => `(${expression})::jsonb`,
  jsonText: (expression) => `to_json(${expression})::text`,
  useIndex: () => '',
  // Measured: a page takes 105 µs with lz4 and 186 µs with pglz. A server may have been built without it.
  compress: (table, column) => [
    `do $$ begin alter table ${table} alter column ${column} set compression lz4;
     exception when feature_not_supported then null; end $$`,
  ],
}
