import type { Definition, Resource, SqlRule } from '../definition/definition.ts'
import { stripSql } from '../definition/strip-sql.ts'

/** The tables and columns of a query. */
export interface Use {
  readonly resource: Resource
  readonly fields: readonly number[]
}

/**
 * Finds the tables and columns of a query by its words: at least those that it needs. A name behind that of a table
 * or its alias is a column of this table; any other name may be one of each table.
 */
export function listUses(definition: Definition, { sql }: Pick<SqlRule, 'sql'>): Use[] {
  const bare = stripSql(sql).toLowerCase()
  const words = new Set(bare.match(/\w+/g) ?? [])
  const resources = definition.resources.filter(({ table }) => words.has(table.toLowerCase()))
  const aliases = listAliases(
    bare,
    resources.map(({ table }) => table.toLowerCase()),
  )
  const used = new Map(resources.map(({ table }) => [table.toLowerCase(), new Set<string>()]))
  for (const [, owner, name = ''] of bare.matchAll(/(?:(\w+)\s*\.\s*)?(\w+)/g)) {
    const table = owner === undefined ? undefined : aliases.get(owner)
    for (const [each, columns] of used) if (table === undefined || table === each) columns.add(name)
  }
  return resources.map((resource) => ({
    resource,
    fields: resource.fields.flatMap(({ column }, index) =>
      used.get(resource.table.toLowerCase())?.has(column.toLowerCase()) ? [index] : [],
    ),
  }))
}

/** The tables by the names that a query gives them. A name that is given twice may be any. */
function listAliases(bare: string, tables: readonly string[]): Map<string, string | undefined> {
  const aliases = new Map<string, string | undefined>(tables.map((table) => [table, table]))
  for (const [, table = '', alias = ''] of bare.matchAll(/\b(\w+)\s+(?:as\s+)?(\w+)/g)) {
    if (!tables.includes(table) || KEYWORDS.has(alias) || alias === table) continue
    const isOther = aliases.has(alias) && aliases.get(alias) !== table
    aliases.set(alias, isOther ? undefined : table)
  }
  return aliases
}

const KEYWORDS = new Set(
  'as on where join left inner cross natural outer full right group order having limit union except intersect using window and or not in is indexed'.split(
    ' ',
  ),
)
