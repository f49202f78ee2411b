import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Definition, Resource, SqlRule } from '../definition/definition.ts'
import { stripSql } from '../definition/read-rule.ts'
import type { Parameters } from '../parameters.ts'
import type { Extras } from './found.ts'
import { bindings, prepareQuery, startsLikeQuery } from './query.ts'
import type { Values } from './record-checks.ts'
import { compileValues, sqlType } from './values.ts'

/** The tables and columns that a query names. */
export interface Use {
  readonly resource: Resource
  readonly fields: readonly number[]
}

/** What a query uses, by the words in it: at least what it needs. */
export function listUses(definition: Definition, { sql }: SqlRule): Use[] {
  const words = new Set(stripSql(sql).toLowerCase().match(/\w+/g) ?? [])
  return definition.resources
    .filter(({ table }) => words.has(table))
    .map((resource) => ({
      resource,
      fields: resource.fields.flatMap(({ name }, index) => (words.has(name.toLowerCase()) ? [index] : [])),
    }))
}

const NO_PARAMETERS = {
  returnId: null,
  returnYear: null,
  returnMonth: null,
  returnStart: null,
  returnEnd: null,
  asOf: null,
}

/** Rows that are inserted by one statement. */
const BATCH = 50

/** A temporary SQLite file with the columns that the rules use. */
export class SqlStore {
  readonly #path: string
  readonly #database: Database.Database
  readonly #columns = new Map<string, number[]>()
  readonly #rules: readonly { rule: SqlRule; uses: readonly Use[] }[]
  readonly #indexes: readonly string[]
  #reader: Database.Database | undefined

  constructor(definition: Definition, rules: readonly SqlRule[], path: string, mostBytes: number) {
    this.#path = path
    rmSync(path, { force: true })
    this.#database = new Database(path)
    // The file is gone after the check: nothing needs to survive a crash.
    this.#database.pragma('page_size = 16384')
    this.#database.pragma('journal_mode = off')
    this.#database.pragma('synchronous = off')
    this.#database.pragma('locking_mode = exclusive')
    this.#database.pragma('cache_size = -32768')
    this.#database.pragma(`max_page_count = ${Math.max(16, Math.floor(mostBytes / 16_384))}`)
    this.#rules = rules.map((rule) => ({ rule, uses: listUses(definition, rule) }))
    for (const { uses } of this.#rules) {
      for (const { resource, fields } of uses) {
        const known = this.#columns.get(resource.name) ?? []
        this.#columns.set(
          resource.name,
          [...new Set([...known, ...fields])].sort((a, b) => a - b),
        )
      }
    }
    for (const { name, table, fields } of definition.resources) {
      const columns = (this.#columns.get(name) ?? []).flatMap((index) => {
        const field = fields[index]
        return field === undefined ? [] : [`, "${field.name}" ${sqlType(field)}`]
      })
      this.#database.exec(`create table ${table} (row integer primary key${columns.join('')})`)
    }
    this.#indexes = this.#chooseIndexes(definition)
  }

  /**
   * The indexes that at least one rule uses, as statements. Without statistics, SQLite plans a query for empty tables
   * as for full ones, so the plans are known before the first record: an index that no rule uses is never built.
   */
  #chooseIndexes(definition: Definition): string[] {
    const indexes = definition.resources.flatMap((resource) =>
      this.#listIndexes(definition, resource).map((columns, index) => {
        const names = columns.map((column) => `"${resource.fields[column]?.name}"`)
        const name = `${resource.table}_${index + 1}`
        return { name, sql: `create index ${name} on ${resource.table} (${names.join(', ')})` }
      }),
    )
    for (const { sql } of indexes) this.#database.exec(sql)
    const plans = this.#rules.map(({ rule }) => this.#explain(rule)).join('\n')
    for (const { name } of indexes) this.#database.exec(`drop index ${name}`)
    return indexes.filter(({ name }) => new RegExp(`INDEX ${name}\\b`).test(plans)).map(({ sql }) => sql)
  }

  /** A query that SQLite refuses has no plan; running it says why. */
  #explain({ sql }: SqlRule): string {
    if (!startsLikeQuery(sql)) return ''
    try {
      const plan = this.#database.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
      return plan
        .all(NO_PARAMETERS)
        .map(({ detail }) => detail)
        .join('\n')
    } catch {
      return ''
    }
  }

  /** Starts loading a file; gives a function for each record, and one for the end. `undefined`: no rule uses it. */
  load({
    name,
    table,
    fields,
  }: Resource): { add(record: number, values: Values): void; end(): void } | undefined {
    const columns = this.#columns.get(name)
    if (columns === undefined) return undefined
    const readers = columns.map((index) => {
      const field = fields[index]
      return field === undefined ? String : compileValues(field).toSql
    })
    const width = columns.length + 1
    const tuple = `(${Array(width).fill('?').join(',')})`
    const one = this.#database.prepare(`insert into ${table} values ${tuple}`)
    const many = this.#database.prepare(`insert into ${table} values ${Array(BATCH).fill(tuple).join(',')}`)
    const rows: (string | number | null)[] = new Array(BATCH * width)
    let filled = 0
    this.#database.exec('begin')
    return {
      add: (record, values) => {
        rows[filled++] = record
        for (let index = 0; index < columns.length; index++) {
          const value = values[columns[index] as number] as string
          rows[filled++] = value === '' ? null : (readers[index] as (value: string) => string | number)(value)
        }
        if (filled === rows.length) {
          many.run(rows)
          filled = 0
        }
      },
      end: () => {
        for (let at = 0; at < filled; at += width) one.run(rows.slice(at, at + width))
        this.#database.exec('commit')
      },
    }
  }

  /** Builds the indexes and opens the file for reading only. */
  finish(): void {
    for (const sql of this.#indexes) this.#database.exec(sql)
    this.#database.close()
    this.#reader = new Database(this.#path, { readonly: true, fileMustExist: true })
    this.#reader.pragma('cache_size = -32768')
    this.#reader.pragma('query_only = on')
  }

  /** Keys and foreign keys of tables that a rule uses together with another, or twice. */
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
    // An index also serves as one on its first columns.
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

  /** Runs a rule; each record that it finds is reported once, in ascending order. */
  run(
    rule: SqlRule,
    parameters: Parameters,
    report: (record: number, extras: Extras | undefined) => void,
  ): void {
    if (this.#reader === undefined) throw new Error('the store is not finished')
    const { statement, columns } = prepareQuery(this.#reader, rule)
    const names = columns.slice(1).filter((name) => rule.check.message?.includes(`{${name}}`))
    const found = new Map<number, Extras | undefined>()
    for (const row of statement.iterate(bindings(parameters)) as Iterable<unknown[]>) {
      const record = row[0]
      if (typeof record !== 'number' || found.has(record)) continue
      found.set(record, names.length === 0 ? undefined : readExtras(row, columns, names))
    }
    for (const record of [...found.keys()].sort((a, b) => a - b)) report(record, found.get(record))
  }

  close(): void {
    this.#reader?.close()
    if (this.#database.open) this.#database.close()
    rmSync(this.#path, { force: true })
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
