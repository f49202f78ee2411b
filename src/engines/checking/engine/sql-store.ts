import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Definition, Resource, SqlRule } from '../definition/definition.ts'
import type { Parameters } from '../definition/parameters.ts'
import { stripSql } from '../definition/strip-sql.ts'
import { compileValues, sqlType } from '../definition/values.ts'
import { fieldsOf } from './check-uses.ts'
import type { Extras } from './found.ts'
import type { Plan } from './plan.ts'
import { bindings, NO_PARAMETERS, prepareQuery, QueryRefused, startsLikeQuery } from './query.ts'
import type { Values } from './record-checks.ts'
import { shorten } from './shown-text.ts'
import { type RuleUses, UNKNOWN, UnknownRows } from './sql-unknown.ts'
import type { UndecidedCounts, Unknown } from './unknown.ts'

/** The size of a page, in bytes: large ones take less time for a file that is written once. */
const PAGE = 16_384
/** The records of one statement: more save nothing. */
const ROWS = 32
/** The most parameters of a statement of SQLite. */
const MOST_PARAMETERS = 32_766

/** A temporary SQLite file with the columns that rules use. */
export class SqlStore {
  readonly #path: string
  readonly #mostBytes: number
  readonly #columns = new Map<string, number[]>()
  readonly #rules: readonly RuleUses[]
  readonly #unknown = new UnknownRows()
  readonly #undecided: UndecidedCounts
  /** The number of the last record of each file. */
  readonly #records = new Map<Resource, number>()
  readonly #indexes: readonly string[]
  readonly #writer: Database.Database
  #reader: Database.Database | undefined

  constructor(
    definition: Definition,
    { uses, undecided }: Plan,
    rules: readonly SqlRule[],
    path: string,
    mostBytes: number,
  ) {
    this.#undecided = undecided
    this.#path = path
    this.#mostBytes = Math.max(16 * PAGE, mostBytes)
    rmSync(path, { force: true })
    this.#rules = definition.resources.flatMap((own) =>
      own.rules
        .filter((rule) => rules.includes(rule))
        .map((rule) => ({ rule, own, uses: uses.get(rule.check) ?? [] })),
    )
    for (const { uses } of this.#rules) {
      for (const { resource, fields } of uses) {
        const known = this.#columns.get(resource.name) ?? []
        this.#columns.set(
          resource.name,
          [...new Set([...known, ...fields])].sort((a, b) => a - b),
        )
      }
    }
    this.#writer = this.#openForWriting()
    try {
      for (const { name, table, fields } of definition.resources) {
        const columns = (this.#columns.get(name) ?? []).flatMap((index) => {
          const field = fields[index]
          return field === undefined ? [] : [`, "${field.column}" ${sqlType(field)}`]
        })
        this.#writer.exec(
          `create table "${table}" (row integer primary key${columns.join('')}, ${UNKNOWN} text)`,
        )
      }
      this.#indexes = this.#chooseIndexes(this.#writer, definition)
      this.#writer.exec('begin')
    } catch (error) {
      this.#writer.close()
      throw error
    }
  }

  #openForWriting(): Database.Database {
    const database = new Database(this.#path)
    // The file is temporary and need not survive a crash.
    database.pragma(`page_size = ${PAGE}`)
    database.pragma('journal_mode = memory')
    database.pragma('synchronous = off')
    database.pragma('locking_mode = exclusive')
    database.pragma('cache_size = -32768')
    database.pragma(`max_page_count = ${Math.floor(this.#mostBytes / PAGE)}`)
    return database
  }

  /**
   * The indexes that at least one rule uses, as statements. Without statistics, SQLite plans queries for empty tables
   * as for full ones, so the plans are known before the first record, and unused indexes are never built.
   */
  #chooseIndexes(database: Database.Database, definition: Definition): string[] {
    const indexes = definition.resources.flatMap((resource) =>
      this.#listIndexes(definition, resource).map((columns, index) => {
        const names = columns.map((column) => `"${resource.fields[column]?.column}"`)
        const name = `mahi_${resource.table}_${index + 1}`
        return { name, sql: `create index ${name} on "${resource.table}" (${names.join(', ')})` }
      }),
    )
    database.exec('begin')
    for (const { sql } of indexes) database.exec(sql)
    const plans = this.#rules.map(({ rule }) => explain(database, rule)).join('\n')
    database.exec('rollback')
    return indexes.filter(({ name }) => new RegExp(`INDEX ${name}\\b`).test(plans)).map(({ sql }) => sql)
  }

  /**
   * Starts loading a file; returns a function for each record and one for the end, or `undefined` if no rule uses the
   * file.
   */
  load(
    resource: Resource,
  ): { add(record: number, values: Values, unknown: Unknown): void; end(): void } | undefined {
    const { name, table, fields } = resource
    const columns = this.#columns.get(name)
    if (columns === undefined) return undefined
    const readers = columns.map((index) => {
      const field = fields[index]
      if (field === undefined) throw new Error(`${name} has no field ${index}`)
      return { index, toSql: compileValues(field).toSql }
    })
    const width = 2 + columns.length
    const most = Math.min(ROWS, Math.floor(MOST_PARAMETERS / width)) * width
    const row = `(${Array(width).fill('?').join(', ')})`
    const prepare = (rows: number) =>
      this.#writer.prepare(`insert into "${table}" values ${Array(rows).fill(row).join(', ')}`)
    const insert = prepare(most / width)
    let cells: (string | number | null)[] = []
    const toUnknown = this.#unknown.compile(name, columns)
    const rules = this.#rules
      .filter(({ own }) => own === resource)
      .map(({ rule, uses }) => ({
        check: rule.check,
        needs: fieldsOf(uses, resource),
      }))
    const countUndecided = (unknown: Unknown) => {
      if (unknown.isWhole) return
      for (const { check, needs } of rules) {
        const field = unknown.firstOf(needs)
        if (field !== -1) this.#undecided.add(check, name, field)
      }
    }
    return {
      add: (record, values, unknown) => {
        if (unknown.count > 0) countUndecided(unknown)
        cells.push(record)
        for (let column = 0; column < readers.length; column++) {
          const { index, toSql } = readers[column] as (typeof readers)[number]
          const text = values[index] as string
          cells.push(text === '' ? null : toSql(text))
        }
        cells.push(toUnknown(unknown))
        this.#records.set(resource, record)
        if (cells.length < most) return
        insert.run(cells)
        cells = []
      },
      end: () => {
        if (cells.length > 0) prepare(cells.length / width).run(cells)
      },
    }
  }

  /** Builds the indexes and opens the file read-only. */
  finish(): void {
    for (const sql of this.#indexes) this.#writer.exec(sql)
    this.#writer.exec('commit')
    this.#writer.close()
    this.#reader = new Database(this.#path, { readonly: true, fileMustExist: true })
    this.#reader.pragma('cache_size = -32768')
    this.#reader.pragma('query_only = on')
  }

  /** The keys and foreign keys of tables that a rule joins with another table or with themselves. */
  #listIndexes(definition: Definition, resource: Resource): number[][] {
    const loaded = this.#columns.get(resource.name) ?? []
    const joined = this.#rules.some(
      ({ rule, uses }) =>
        uses.some((use) => use.resource === resource) &&
        (uses.length > 1 || stripSql(rule.sql).split(new RegExp(`\\b${resource.table}\\b`, 'i')).length > 2),
    )
    if (!joined) return []
    const candidates = [
      ...resource.keys.map(({ fields }) => fields),
      ...resource.foreignKeys.map(({ fields }) => fields),
      ...definition.resources.flatMap((other) =>
        other.foreignKeys.filter((key) => key.resource === resource.name).map((key) => key.references),
      ),
    ]
    const lists = candidates
      .map((fields) => {
        const gap = fields.findIndex((field) => !loaded.includes(field))
        return fields.slice(0, gap === -1 ? fields.length : gap)
      })
      .filter((fields) => fields.length > 0)
    // An index also serves lookups by its first columns.
    return lists.filter(
      (list, at) =>
        !lists.some(
          (other, place) =>
            place !== at &&
            (other.length > list.length || (other.length === list.length && place < at)) &&
            list.every((field, index) => other[index] === field),
        ),
    )
  }

  /** Runs a rule and reports each record found once, in ascending order. */
  run(
    rule: SqlRule,
    parameters: Parameters,
    report: (record: number, extras: Extras | undefined) => void,
  ): void {
    const database = this.#reader
    const uses = this.#rules.find((each) => each.rule === rule)
    if (database === undefined || uses === undefined) throw new Error('the store is not finished')
    const records = this.#records.get(uses.own) ?? 0
    const found = this.#unknown.hide(database, uses, () => find(database, rule, parameters, records))
    for (const { resource, field, records } of this.#unknown.explain(database, uses, found)) {
      const hidden = records.filter((record) => found.delete(record))
      if (hidden.length > 0) this.#undecided.add(rule.check, resource.name, field, hidden.length)
    }
    for (const record of [...found.keys()].sort((a, b) => a - b)) report(record, found.get(record))
  }

  close(): void {
    this.#reader?.close()
    this.#writer.close()
    rmSync(this.#path, { force: true })
  }
}

/** A query that SQLite rejects has no plan; running it reports why. */
function explain(database: Database.Database, { sql }: SqlRule): string {
  if (!startsLikeQuery(sql)) return ''
  try {
    const plan = database.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
    return plan
      .all(NO_PARAMETERS)
      .map(({ detail }) => detail)
      .join('\n')
  } catch {
    return ''
  }
}

function readExtras(row: readonly unknown[], columns: readonly string[], names: readonly string[]): Extras {
  return Object.fromEntries(
    names.map((name) => {
      const value = row[columns.indexOf(name)]
      return [name, value === null || value === undefined ? '' : String(value)]
    }),
  )
}

/**
 * The records that a rule finds, with what its message says of each.
 *
 * @throws {QueryRefused} if it returns a row that its file does not have
 */
function find(
  database: Database.Database,
  rule: SqlRule,
  parameters: Parameters,
  records: number,
): Map<number, Extras | undefined> {
  const { statement, columns } = prepareQuery(database, rule)
  const names = columns.slice(1).filter((name) => rule.check.message?.includes(`{${name}}`))
  const found = new Map<number, Extras | undefined>()
  for (const row of statement.iterate(bindings(parameters)) as Iterable<unknown[]>) {
    const record = row[0]
    // An outer join has no record where none matches.
    if (record === null || found.has(record as number)) continue
    if (typeof record !== 'number' || !(Number.isInteger(record) && record >= 1 && record <= records))
      throw new QueryRefused(
        `The rule returned row ${shorten(String(record))}, which its file does not have.`,
      )
    found.set(record, names.length === 0 ? undefined : readExtras(row, columns, names))
  }
  return found
}
