import type Database from 'better-sqlite3'
import type { Relation, Resource, SqlRule } from '../definition/definition.ts'
import type { Use } from './sql-uses.ts'
import type { Unknown } from './unknown.ts'

/** SQLite stores small integers in few bytes, and JavaScript has 31 positive bits. */
const BITS = 31

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
 * The unknown values of the tables of rules. Each table has bits that say which of its columns are unknown. A rule
 * does not see records in which a column that it reads is unknown: so it says nothing about them, nor about what they
 * join. If it finds records because others are absent, each found record is compared with those that it did not see.
 */
export class UnknownRows {
  /** The columns of each table, by resource. */
  readonly #columns: ReadonlyMap<string, readonly number[]>
  /** The bits that any record of a resource has. */
  readonly #seen = new Map<string, Int32Array>()

  constructor(columns: ReadonlyMap<string, readonly number[]>) {
    this.#columns = columns
    for (const [name, fields] of columns)
      this.#seen.set(name, new Int32Array(Math.ceil(fields.length / BITS)))
  }

  /** The names of a table's columns of bits. */
  columnsOf(resource: string): string[] {
    return Array.from(this.#seen.get(resource) ?? [], (_, index) => `unknown?${index}`)
  }

  /** Computes the bits of a record. */
  compile(resource: string): (unknown: Unknown) => Int32Array {
    const fields = this.#columns.get(resource) ?? []
    const seen = this.#seen.get(resource) ?? new Int32Array()
    const none = new Int32Array(seen.length)
    const bits = new Int32Array(seen.length)
    return (unknown) => {
      if (unknown.count === 0) return none
      bits.fill(0)
      for (const [index, field] of fields.entries()) {
        if (unknown.flags[field] === 1) add(bits, index)
      }
      for (let index = 0; index < bits.length; index++) seen[index] = (seen[index] ?? 0) | (bits[index] ?? 0)
      return bits
    }
  }

  /** The uses of a rule with unknown values in columns that it reads. */
  #affected({ uses }: RuleUses): { use: Use; bits: Int32Array }[] {
    return uses
      .map((use) => ({ use, bits: this.#bitsOf(use.resource, use.fields) }))
      .filter(({ use, bits }) =>
        bits.some((each, index) => (each & (this.#seen.get(use.resource.name)?.[index] ?? 0)) !== 0),
      )
  }

  #bitsOf({ name }: Resource, fields: readonly number[]): Int32Array {
    const columns = this.#columns.get(name) ?? []
    const bits = new Int32Array(this.#seen.get(name)?.length ?? 0)
    for (const field of fields) {
      const index = columns.indexOf(field)
      if (index !== -1) add(bits, index)
    }
    return bits
  }

  /** Runs a query on tables without the records in which a column that the rule reads is unknown. */
  hide<T>(database: Database.Database, rule: RuleUses, run: () => T): T {
    const affected = this.#affected(rule)
    if (affected.length === 0) return run()
    const views = affected.map(({ use: { resource }, bits }) => {
      const names = (this.#columns.get(resource.name) ?? []).map(
        (field) => `"${resource.fields[field]?.column}"`,
      )
      const isKnown = list(bits, (each, column) => `("${column}" & ${each}) = 0`).join(' and ')
      return `create temp view "${resource.table}" as select ${['row', ...names].join(', ')} from main."${resource.table}" where ${isKnown}`
    })
    writeTemporary(database, views)
    try {
      return run()
    } finally {
      writeTemporary(
        database,
        affected.map(({ use }) => `drop view temp."${use.resource.table}"`),
      )
    }
  }

  /** Finds the records, among those that a rule found, that one which it did not see may explain. */
  explain(database: Database.Database, rule: RuleUses, found: ReadonlyMap<number, unknown>): Hidden[] {
    const affected = this.#affected(rule)
    if (found.size === 0 || affected.length === 0) return []
    const related = affected.flatMap(({ use, bits }) => {
      const relation = rule.rule.relates.find(({ resource }) => resource === use.resource.name)
      return relation === undefined ? [] : [{ use, bits, pairs: relation.pairs }]
    })
    if (related.length === 0) return []
    writeTemporary(database, ['create temp table "found?" (row integer primary key)'])
    try {
      database.pragma('query_only = off')
      const insert = database.prepare('insert into temp."found?" values (?)')
      for (const row of found.keys()) insert.run(row)
      database.pragma('query_only = on')
      return related.flatMap(({ use, bits, pairs }) => this.#explainBy(database, rule.own, use, bits, pairs))
    } finally {
      writeTemporary(database, ['drop table temp."found?"'])
    }
  }

  #explainBy(
    database: Database.Database,
    own: Resource,
    { resource }: Use,
    bits: Int32Array,
    pairs: Relation['pairs'],
  ): Hidden[] {
    const keyBits = this.#bitsOf(
      resource,
      pairs.map(({ other }) => other),
    )
    const table = `main."${resource.table}"`
    const isUnknown = `(${list(bits, (each, column) => `(other."${column}" & ${each}) <> 0`).join(' or ')})`
    const columns = this.columnsOf(resource.name)
    const masked = columns.map((column, index) => `other."${column}" & ${keyBits[index]}`)
    const patterns = database
      .prepare<[], number[]>(
        `select ${masked.join(', ')}, count(*) from ${table} as other where ${isUnknown} group by ${masked.map((_, index) => index + 1).join(', ')}`,
      )
      .raw()
      .all()
    const unknown = patterns.reduce((sum, row) => sum + (row.at(-1) ?? 0), 0)
    const total = database.prepare<[], [number]>(`select count(*) from ${table}`).raw().get()?.[0] ?? 0
    if (unknown * 2 >= total) {
      // With so few known records, what is absent is unknown.
      const records = database.prepare<[], number[]>('select row from temp."found?"').raw().all()
      const field = this.#firstSeen(resource, bits) ?? 0
      return [{ resource, field, records: records.map(([record = 0]) => record) }]
    }
    return patterns.flatMap((row): Hidden[] => {
      const pattern = Int32Array.from(row.slice(0, -1))
      const field = this.#firstField(resource, pattern) ?? this.#firstSeen(resource, bits) ?? 0
      const known = pairs.filter(({ other }) => !this.#has(resource, pattern, other))
      // The first field that relates two records says most about which ones; without it, two others must agree.
      if (pairs.length === 0 || (known.length > 0 && known[0] !== pairs[0] && known.length < 2)) return []
      // Only a record that cannot be read as a whole has values although they are unknown.
      const equal = (known.length === 0 ? pairs : known).map(
        ({ own: mine, other }) =>
          `other."${resource.fields[other]?.column}" = own."${own.fields[mine]?.column}"`,
      )
      const same = columns.map((_, index) => `(${masked[index]}) = ${pattern[index]}`)
      const others = resource === own ? ['other.row <> own.row'] : []
      const records = database
        .prepare<[], number[]>(
          `select distinct own.row from temp."found?" as found
           join main."${own.table}" as own on own.row = found.row
           join ${table} as other on ${equal.join(' and ')}
           where ${[isUnknown, ...same, ...others].join(' and ')}`,
        )
        .raw()
        .all()
      return records.length === 0 ? [] : [{ resource, field, records: records.map(([record = 0]) => record) }]
    })
  }

  #has({ name }: Resource, bits: Int32Array, field: number): boolean {
    const index = (this.#columns.get(name) ?? []).indexOf(field)
    return index !== -1 && ((bits[Math.floor(index / BITS)] ?? 0) & (1 << (index % BITS))) !== 0
  }

  #firstField(resource: Resource, bits: Int32Array): number | undefined {
    return this.#columns.get(resource.name)?.find((field) => this.#has(resource, bits, field))
  }

  #firstSeen(resource: Resource, bits: Int32Array): number | undefined {
    const seen = this.#seen.get(resource.name)
    return this.#firstField(
      resource,
      bits.map((each, index) => each & (seen?.[index] ?? 0)),
    )
  }
}

function add(bits: Int32Array, index: number): void {
  const at = Math.floor(index / BITS)
  bits[at] = (bits[at] ?? 0) | (1 << (index % BITS))
}

function list(bits: Int32Array, write: (bits: number, column: string) => string): string[] {
  return [...bits].flatMap((each, index) => (each === 0 ? [] : [write(each, `unknown?${index}`)]))
}

/** The main database stays read-only; views and tables of the connection are temporary. */
function writeTemporary(database: Database.Database, statements: readonly string[]): void {
  database.pragma('query_only = off')
  for (const sql of statements) database.exec(sql)
  database.pragma('query_only = on')
}
