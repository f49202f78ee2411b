import type { Dialect } from '../dialect.ts'

/** One step in the life of the tables, applied once to every database. */
export interface Migration {
  /** Its file name without the ending; they are applied in the order of `MIGRATIONS`. */
  readonly name: string
  statements(dialect: Dialect): readonly string[]
}
