import type { Migration } from './migration.ts'

/** Data of the search besides the records: additional names, synonyms, and the index of a revision. */
export const search: Migration = {
  name: '0006-search',
  statements: ({ text, bytes, clustered }) => [
    `create table occupation_search_name (
      code ${text} not null,
      language ${text} not null,
      name ${text} not null,
      primary key (code, language, name)
    ) ${clustered}`,

    `create table search_synonym (
      position bigint primary key,
      phrases ${text} not null
    )`,

    // In parts, because drivers handle values of many megabytes badly.
    `create table search_index (
      number bigint not null,
      changed bigint not null,
      format bigint not null,
      part bigint not null,
      bytes ${bytes} not null,
      primary key (number, changed, format, part)
    )`,
  ],
}
