import type { Dialect } from '../dialect.ts'

/** One change of the tables, applied once to every database. */
export interface Migration {
  /** The file name without its extension. Migrations are applied in the order of `MIGRATIONS`. */
  readonly name: string
  statements(dialect: Dialect): readonly string[]
}
