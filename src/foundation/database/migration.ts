import type { Dialect } from './dialect.ts'

/** One change of the tables, applied once to every database. */
export interface Migration {
  readonly name: string
  statements(dialect: Dialect): readonly string[]
}
