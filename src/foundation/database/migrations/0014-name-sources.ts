import type { Migration } from './migration.ts'

/**
 * Names for the search belong to sources, and several sources can have the same name. An older version of Mahi that
 * still runs keeps to `occupation_search_name`, which is no longer read.
 */
export const nameSources: Migration = {
  name: '0014-name-sources',
  statements: ({ text, clustered }) => [
    // The weight is in hundredths.
    `create table search_source (
      name ${text} primary key,
      weight bigint not null,
      changed bigint not null
    )`,
    `create table search_name (
      code ${text} not null,
      language ${text} not null,
      name ${text} not null,
      source ${text} not null,
      primary key (code, language, name, source)
    ) ${clustered}`,
    `insert into search_name (code, language, name, source)
     select code, language, name, 'imported' from occupation_search_name`,
    `insert into search_source (name, weight, changed)
     select 'imported', 100, 0 where exists (select 1 from occupation_search_name)`,
  ],
}
