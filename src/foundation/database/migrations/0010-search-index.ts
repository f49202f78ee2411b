import type { Migration } from './migration.ts'

/** Processes that only open the search index need to know when one was stored, or why there is none. */
export const searchIndex: Migration = {
  name: '0010-search-index',
  statements: ({ text }) => [
    `insert into revision (name, number, changed) values ('search', 0, 0)`,

    // At most one row: that of the newest revision that could not be indexed.
    `create table search_failure (
      number bigint not null,
      changed bigint not null,
      format bigint not null,
      failed bigint not null,
      reason ${text} not null,
      primary key (number, changed, format)
    )`,
  ],
}
