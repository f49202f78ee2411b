import type { Migration } from './migration.ts'

/**
 * Findings in compressed blocks. Runs that are stored as rows of `result_entry` stay so, and new ones too until no older
 * version of Mahi can still read them: see `isSettled`.
 */
export const findingBlocks: Migration = {
  name: '0022-finding-blocks',
  // Not clustered: SQLite stores a row above 1 KB of a table without row numbers on pages of its own.
  statements: ({ bytes, compress }) => [
    `create table result_block (
      run bigint not null,
      part bigint not null,
      block bigint not null,
      content ${bytes} not null,
      primary key (run, part, block)
    )`,
    ...compress('result_block', 'content'),
  ],
}
