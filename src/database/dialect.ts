/** The few words in which the engines' SQL differs; every query is otherwise the same text. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Column type for text that is compared and sorted by code point. */
  readonly text: string
  /** Column type of a row number that the database hands out. */
  readonly identity: string
  /** Ends a `create table` whose rows are kept in the order of their primary key, where the engine can. */
  readonly clustered: string
  /** Lists the tables, as `name`. */
  readonly tables: string
  /** The bytes of a text in UTF-8; the driver hands them over as a Buffer, without decoding them. */
  utf8(expression: string): string
  /** A `from` item with one row, `value`, for each element of the JSON array in a text column. */
  elements(column: string, alias: string): string
}

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  text: 'text',
  identity: 'integer primary key',
  clustered: 'without rowid',
  tables: `select name from sqlite_master where type = 'table'`,
  utf8: (expression) => `cast(${expression} as blob)`,
  elements: (column, alias) => `json_each(${column}) ${alias}`,
}
