import type Database from 'better-sqlite3'
import { PARAMETERS } from '../definition/check-info.ts'
import type { SqlRule } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'

/** The parameters without a value, for queries whose result does not matter. */
export const NO_PARAMETERS = Object.fromEntries(PARAMETERS.map((name) => [name, null]))

/** The query of a rule, ready to run. */
export interface Query {
  readonly statement: Database.Statement
  /** The column names; the first column is the record number. */
  readonly columns: readonly string[]
}

/** A query cannot be run; the message says why. */
export class QueryRefused extends Error {}

/**
 * Prepares the query of a rule on a read-only database.
 *
 * @throws {QueryRefused} unless it is a single read-only query whose first column is `row`
 */
export function prepareQuery(database: Database.Database, { sql }: Pick<SqlRule, 'sql'>): Query {
  const statement = prepare(database, sql)
  // SQLite considers attach and some pragmas read-only; the text must also start like a query.
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

/** Whether a text starts like a query. SQLite executes some pragmas as soon as they are prepared. */
export function startsLikeQuery(sql: string): boolean {
  const bare = sql.replace(/^(?:\s+|--[^\n]*\n|\/\*[\s\S]*?\*\/)*/, '')
  return /^(?:select|with)\b/i.test(bare)
}

/**
 * The parameters that a query may use, by name without the colon. better-sqlite3 binds numbers as REAL, which would
 * make every division exact; queries expect the year and the month as integers.
 */
export function bindings(parameters: Parameters): Record<string, string | bigint | null> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]: [string, string | number | null]) => [
      name,
      typeof value === 'number' ? BigInt(value) : value,
    ]),
  )
}
