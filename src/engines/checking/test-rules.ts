import { isDeepStrictEqual } from 'node:util'
import Database from 'better-sqlite3'
import type { Fault } from '../../foundation/faults/user-error.ts'
import type { Definition, Resource, RuleExample, SqlRule } from './definition/definition.ts'
import { mutateComparisons } from './definition/mutate.ts'
import { resolveParameters } from './definition/parameters.ts'
import { compileValues } from './definition/values.ts'
import { createTables, listQueryFaults } from './engine/assert-queries.ts'
import { bindings, prepareQuery, type Query, QueryRefused } from './engine/query.ts'

/** The result of testing a definition's rules. */
export interface RuleTestResult {
  readonly rules: number
  readonly examples: number
  readonly mutants: number
  readonly faults: readonly Fault[]
}

/** Runs the examples of all rules, and again with each comparison changed. */
export function testRules(definition: Definition): RuleTestResult {
  const database = new Database(':memory:')
  try {
    return new RuleTest(definition, database).run()
  } finally {
    database.close()
  }
}

class RuleTest {
  readonly #definition: Definition
  readonly #database: Database.Database
  readonly #faults: Fault[] = []
  #examples = 0
  #mutants = 0

  constructor(definition: Definition, database: Database.Database) {
    this.#definition = definition
    this.#database = database
    createTables(database, definition)
  }

  run(): RuleTestResult {
    for (const resource of this.#definition.resources) {
      for (const rule of resource.rules) this.#testRule(resource, rule)
      this.#comparePairs(resource)
    }
    const rules = this.#definition.resources.reduce((sum, resource) => sum + resource.rules.length, 0)
    return { rules, examples: this.#examples, mutants: this.#mutants, faults: this.#faults }
  }

  #testRule(resource: Resource, rule: SqlRule): void {
    const fault = (message: string) => this.#faults.push({ file: rule.file, message })
    const { examples } = rule
    if (!examples.some(({ finds }) => finds.length > 0)) fault('has no example that finds a record')
    if (!examples.some(({ finds }) => finds.length === 0)) fault('has no example that finds nothing')
    for (const message of listQueryFaults(this.#database, this.#definition, resource, rule)) fault(message)
    const query = this.#prepare(rule.sql)
    if (query === undefined) return
    for (const example of examples) {
      this.#examples++
      const found = this.#find(query, example)
      const expected = [...new Set(example.finds)].sort((a, b) => a - b)
      if (!isDeepStrictEqual(found, expected))
        fault(`${example.name}: finds ${format(found)}, but the example expects ${format(example.finds)}`)
    }
    this.#testRelations(rule, query, fault)
    for (const mutant of mutateComparisons(rule.sql)) {
      // A change that is not valid SQL, such as in a window frame, is not a comparison.
      const changed = this.#prepare(mutant.sql)
      if (changed === undefined) continue
      this.#mutants++
      const detected = examples.some((example) => {
        try {
          return !isDeepStrictEqual(this.#find(changed, example), this.#find(query, example))
        } catch {
          return true
        }
      })
      if (!detected) fault(`no example detects a change of ${mutant.change}`)
    }
  }

  /** A record that is found because another one is absent must be related to it: that one may be unknown. */
  #testRelations({ relates, examples }: SqlRule, query: Query, fault: (message: string) => unknown): void {
    const missing = new Set<string>()
    for (const example of examples) {
      const found = this.#find(query, example)
      for (const [resource, records] of Object.entries(example.records)) {
        if (missing.has(resource) || relates.some((each) => each.resource === resource)) continue
        const isBlamed = records.some((_, index) =>
          this.#find(query, example, { resource, row: index + 1 }).some((row) => !found.includes(row)),
        )
        if (isBlamed) missing.add(resource)
      }
    }
    for (const name of missing)
      fault(
        `finds more without a record of ${name}: relates must say by which fields their records are related`,
      )
  }

  /** Two rules with the same findings in all examples are duplicates, or lack an example. */
  #comparePairs({ rules }: Resource): void {
    const queries = rules.map((rule) => this.#prepare(rule.sql))
    for (const [index, one] of rules.entries()) {
      for (const [offset, other] of rules.slice(index + 1).entries()) {
        const [first, second] = [queries[index], queries[index + 1 + offset]]
        if (first === undefined || second === undefined) continue
        const examples = [...one.examples, ...other.examples]
        const same = examples.every((example) =>
          isDeepStrictEqual(this.#find(first, example), this.#find(second, example)),
        )
        if (same && examples.length > 0) {
          const message = `finds the same records as ${other.check.code} in every example of both`
          this.#faults.push({ file: one.file, message })
        }
      }
    }
  }

  #prepare(sql: string): Query | undefined {
    try {
      return prepareQuery(this.#database, { sql })
    } catch (error) {
      if (error instanceof QueryRefused) return undefined
      throw error
    }
  }

  #find(query: Query, example: RuleExample, without?: { resource: string; row: number }): number[] {
    this.#load(example, without)
    const parameters = resolveParameters(this.#definition, example)
    const rows = new Set<number>()
    for (const row of query.statement.iterate(bindings(parameters)) as Iterable<unknown[]>) {
      if (typeof row[0] === 'number') rows.add(row[0])
    }
    return [...rows].sort((a, b) => a - b)
  }

  #loaded: RuleExample | undefined

  #load(example: RuleExample, without?: { resource: string; row: number }): void {
    if (this.#loaded === example && without === undefined) return
    this.#loaded = without === undefined ? example : undefined
    for (const { name, table, fields } of this.#definition.resources) {
      this.#database.exec(`delete from "${table}"`)
      const names = fields.map((field) => field.column.toLowerCase())
      const stored = fields.filter((_, index) => names.indexOf(names[index] ?? '') === index)
      const insert = this.#database.prepare(`insert into "${table}" values (?${', ?'.repeat(stored.length)})`)
      for (const [index, record] of (example.records[name] ?? []).entries()) {
        if (name === without?.resource && index + 1 === without.row) continue
        const values = stored.map((field) => {
          const given = record[field.name] ?? ''
          const text = typeof given === 'string' ? given : given.join(field.delimiter)
          const reader = compileValues(field)
          const empty = field.missingValues.includes(text) || text === ''
          const value = empty ? undefined : reader.read(text)
          return value === undefined ? null : reader.toSql(value)
        })
        insert.run(index + 1, ...values)
      }
    }
  }
}

function format(rows: readonly number[]): string {
  return rows.length === 0 ? 'nothing' : `[${rows.join(', ')}]`
}
