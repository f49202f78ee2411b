import type Database from 'better-sqlite3'
import type { Fault } from '../../../foundation/faults/user-error.ts'
import { loadSqlite } from '../../../foundation/package/when-used.ts'
import { listPlaceholders, PARAMETERS } from '../definition/check-info.ts'
import type { Check, Definition, Resource, SqlRule } from '../definition/definition.ts'
import { DefinitionRefused } from '../definition/node.ts'
import { sqlType } from '../definition/values.ts'
import { NO_PARAMETERS, prepareQuery, QueryRefused } from './query.ts'
import { listUses } from './sql-uses.ts'

/**
 * Checks that the queries of rules can run, before any record is read.
 *
 * @param isNeeded which rules must run
 * @throws {DefinitionRefused} with every fault, by file
 */
export function assertQueries(
  definition: Definition,
  isNeeded: (check: Check) => boolean = ({ status }) => status === 'active',
): void {
  const rules = definition.resources.flatMap((resource) =>
    resource.rules.filter(({ check }) => isNeeded(check)).map((rule) => ({ resource, rule })),
  )
  if (rules.length === 0) return
  const database = new (loadSqlite())(':memory:')
  try {
    createTables(database, definition)
    const faults = rules.flatMap(({ resource, rule }): Fault[] =>
      listQueryFaults(database, definition, resource, rule).map((message) => ({ file: rule.file, message })),
    )
    if (faults.length > 0) throw new DefinitionRefused(faults)
  } finally {
    database.close()
  }
}

/** Creates an empty table for each resource. SQL ignores case: of columns that differ only by case, it has the first. */
export function createTables(database: Database.Database, { resources }: Definition): void {
  for (const { table, fields } of resources) {
    const names = fields.map(({ column }) => column.toLowerCase())
    const columns = fields.flatMap((field, index) =>
      names.indexOf(field.column.toLowerCase()) === index ? [`, "${field.column}" ${sqlType(field)}`] : [],
    )
    database.exec(`create table "${table}" (row integer primary key${columns.join('')})`)
  }
}

/** What is wrong with the query and the message of a rule, as full sentences. */
export function listQueryFaults(
  database: Database.Database,
  definition: Definition,
  { fields }: Resource,
  rule: SqlRule,
): string[] {
  for (const { resource, fields: used } of listUses(definition, rule)) {
    const names = used.map((index) => resource.fields[index]?.column ?? '')
    const other = names.find(
      (name, index) => names.findIndex((each) => each.toLowerCase() === name.toLowerCase()) < index,
    )
    if (other !== undefined)
      return [
        `The query uses ${other} of ${resource.name}, which has another field of this name in another case.`,
      ]
  }
  try {
    const { columns } = prepareQuery(database, rule)
    // Binds the parameters, of which an unknown one is an error, without running a query that may never end.
    database.prepare(`explain ${rule.sql}`).all(NO_PARAMETERS)
    const known: readonly string[] = [...fields.map(({ name }) => name), ...columns, ...PARAMETERS]
    return listPlaceholders(rule.check.message ?? '')
      .filter((name) => !known.includes(name))
      .map(
        (name) =>
          `The message uses {${name}}, which is neither a field of the file nor a column of the query.`,
      )
  } catch (error) {
    if (error instanceof QueryRefused) return [error.message]
    return [`SQLite refuses the query: ${(error as Error).message}.`]
  }
}
