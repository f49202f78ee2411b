import type { Migration } from './migration.ts'

/** Counts what the sweep for rows without an owner has found: all processes report the same. */
export const orphans: Migration = {
  name: '0009-orphans',
  statements: ({ text }) => [`create table orphan_count (source ${text} primary key, total bigint not null)`],
}
