import type Database from 'better-sqlite3'
import type { SqlRule } from '../definition/definition.ts'
import type { Parameters } from '../parameters.ts'

/** A rule's query, ready to run. */
export interface Query {
  readonly statement: Database.Statement
  /** The names of its columns; the first is the number of the record. */
  readonly columns: readonly string[]
}

/** A query cannot be run; the message says why. */
export class QueryRefused extends Error {}

/**
 * Prepares the query of a rule on a database that only it may read.
 *
 * @throws {QueryRefused} if it is not one query that only reads and whose first column is `row`
 */
export function prepareQuery(database: Database.Database, { sql }: Pick<SqlRule, 'sql'>): Query {
  const statement = prepare(database, sql)
  // SQLite counts attach and some pragmas as reading; they are not queries, so the text must start like one.
  if (!statement.reader || !statement.readonly || !startsLikeQuery(sql))
    throw new QueryRefused('The query must be one select that only reads.')
  const columns = statement.columns().map(({ name }) => name)
  if (columns[0] !== 'row') throw new QueryRefused('The first column of the query must be row.')
  return { statement: statement.raw(true), columns }
}

function prepare(database: Database.Database, sql: string): Database.Statement {
  try {
    return database.prepare(sql)
  } catch (error) {
    throw new QueryRefused(`SQLite refuses the query: ${(error as Error).message}.`)
  }
}

/** Whether a text starts like a query. SQLite carries out some pragmas as soon as they are prepared. */
export function startsLikeQuery(sql: string): boolean {
  return /^(?:select|with)\b/i.test(withoutLeadingComments(sql))
}

function withoutLeadingComments(sql: string): string {
  return sql.replace(/^(?:\s+|--[^\n]*\n|\/\*[\s\S]*?\*\/)*/, '')
}

/**
 * The parameters that a query may use, by their names without the colon. better-sqlite3 binds a number as REAL,
 * which makes every division exact; a query expects the year and the month to be integers.
 */
export function bindings(parameters: Parameters): Record<string, string | bigint | null> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]: [string, string | number | null]) => [
      name,
      typeof value === 'number' ? BigInt(value) : value,
    ]),
  )
}
