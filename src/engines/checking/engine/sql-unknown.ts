import type Database from 'better-sqlite3'
import { getOrMake } from '../../../foundation/get-or-make.ts'
import type { Relation, Resource, SqlRule } from '../definition/definition.ts'
import type { Use } from './sql-uses.ts'
import type { Unknown } from './unknown.ts'

/** The column that has the unknown fields of a record, such as `,3,17,`; without any, it is null. */
export const UNKNOWN = '"unknown?"'

/** What a rule reads. */
export interface RuleUses {
  readonly rule: SqlRule
  readonly own: Resource
  readonly uses: readonly Use[]
}

/** The records about which a rule says nothing, because of an unknown field of another record. */
export interface Hidden {
  readonly resource: Resource
  readonly field: number
  readonly records: readonly number[]
}

/**
 * The unknown values of the tables of rules. A rule does not see records in which a column that it reads is unknown: so
 * it says nothing about them, nor about what they join. If it finds records because others are absent, each found
 * record is compared with those that it did not see.
 */
export class UnknownRows {
  /** The fields that are unknown in any record of a resource. */
  readonly #seen = new Map<string, Set<number>>()

  /**
   * Compiles what the column has for a record.
   *
   * @param fields those of the table
   */
  compile(resource: string, fields: readonly number[]): (unknown: Unknown) => string | null {
    const seen = getOrMake(this.#seen, resource, () => new Set())
    return (unknown) => {
      if (unknown.count === 0) return null
      const own = fields.filter((field) => unknown.flags[field] === 1)
      for (const field of own) seen.add(field)
      return own.length === 0 ? null : `,${own.join()},`
    }
  }

  /** The uses of a rule with unknown values, and only the fields that have some. */
  #affected({ uses }: RuleUses): Use[] {
    return uses.flatMap(({ resource, fields }) => {
      const unknown = fields.filter((field) => this.#seen.get(resource.name)?.has(field))
      return unknown.length === 0 ? [] : [{ resource, fields: unknown }]
    })
  }

  /** Runs a query on tables without the records in which a column that the rule reads is unknown. */
  hide<T>(database: Database.Database, rule: RuleUses, run: () => T): T {
    const affected = this.#affected(rule)
    if (affected.length === 0) return run()
    const views = affected.map(
      ({ resource: { table }, fields }) =>
        `create temp view "${table}" as select * from main."${table}" where ${UNKNOWN} is null or not ${anyUnknown(fields, UNKNOWN)}`,
    )
    writeTemporary(database, views)
    try {
      return run()
    } finally {
      writeTemporary(
        database,
        affected.map(({ resource }) => `drop view temp."${resource.table}"`),
      )
    }
  }

  /** Finds the records, among those that a rule found, that one which it did not see may explain. */
  explain(database: Database.Database, rule: RuleUses, found: ReadonlyMap<number, unknown>): Hidden[] {
    if (found.size === 0) return []
    const related = this.#affected(rule).flatMap((use) => {
      const relation = rule.rule.relates.find(({ resource }) => resource === use.resource.name)
      return relation === undefined ? [] : [{ use, pairs: relation.pairs }]
    })
    if (related.length === 0) return []
    writeTemporary(database, ['create temp table "found?" (row integer primary key)'])
    try {
      database.pragma('query_only = off')
      const insert = database.prepare('insert into temp."found?" values (?)')
      for (const row of found.keys()) insert.run(row)
      database.pragma('query_only = on')
      return related.flatMap(({ use, pairs }) => explainBy(database, rule.own, use, pairs))
    } finally {
      writeTemporary(database, ['drop table temp."found?"'])
    }
  }
}

function explainBy(
  database: Database.Database,
  own: Resource,
  { resource, fields }: Use,
  pairs: Relation['pairs'],
): Hidden[] {
  const table = `main."${resource.table}"`
  const isUnknown = anyUnknown(fields, `other.${UNKNOWN}`)
  const [first = 0] = fields
  const listRows = (sql: string) =>
    database
      .prepare<[], number[]>(sql)
      .raw()
      .all()
      .map(([row = 0]) => row)
  const texts = database
    .prepare<[], [string, number]>(
      `select other.${UNKNOWN}, count(*) from ${table} as other where ${isUnknown} group by 1`,
    )
    .raw()
    .all()
  const unknown = texts.reduce((sum, [, count]) => sum + count, 0)
  const [total = 0] = listRows(`select count(*) from ${table}`)
  // With so few known records, what is absent is unknown.
  if (unknown * 2 >= total)
    return [{ resource, field: first, records: listRows('select row from temp."found?"') }]
  const keys = [...new Set(pairs.map(({ other }) => other))].sort((one, other) => one - other)
  const patterns = Map.groupBy(texts, ([text]) => keys.filter((key) => text.includes(`,${key},`)).join())
  return [...patterns.keys()].sort().flatMap((pattern): Hidden[] => {
    const missing = pattern === '' ? [] : pattern.split(',').map(Number)
    const [field = first] = missing
    const known = pairs.filter(({ other }) => !missing.includes(other))
    // The first field that relates two records says most about which ones; without it, two others must agree.
    if (pairs.length === 0 || (known.length > 0 && known[0] !== pairs[0] && known.length < 2)) return []
    // Only a record that cannot be read as a whole has values although they are unknown.
    const equal = (known.length === 0 ? pairs : known).map(
      ({ own: mine, other }) =>
        `other."${resource.fields[other]?.column}" = own."${own.fields[mine]?.column}"`,
    )
    const same = keys.map(
      (key) => `${missing.includes(key) ? '' : 'not '}${anyUnknown([key], `other.${UNKNOWN}`)}`,
    )
    const others = resource === own ? ['other.row <> own.row'] : []
    const records = listRows(
      `select distinct own.row from temp."found?" as found
       join main."${own.table}" as own on own.row = found.row
       join ${table} as other on ${equal.join(' and ')}
       where ${[isUnknown, ...same, ...others].join(' and ')}`,
    )
    return records.length === 0 ? [] : [{ resource, field, records }]
  })
}

/** A condition of SQL: whether one of some fields is among those of a column. */
function anyUnknown(fields: readonly number[], column: string): string {
  return `(${fields.map((field) => `instr(${column}, ',${field},') > 0`).join(' or ')})`
}

/** The main database stays read-only; views and tables of the connection are temporary. */
function writeTemporary(database: Database.Database, statements: readonly string[]): void {
  database.pragma('query_only = off')
  for (const sql of statements) database.exec(sql)
  database.pragma('query_only = on')
}
