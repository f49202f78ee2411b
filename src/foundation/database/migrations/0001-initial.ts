import type { Migration } from './migration.ts'

/** The tables that `docs/data-model.md` describes. */
export const initial: Migration = {
  name: '0001-initial',
  statements: ({ text, identity, clustered, compress }) => [
    `create table migration (name ${text} primary key, applied bigint not null)`,

    `create table revision (name ${text} primary key, number bigint not null, changed bigint not null)`,
    `insert into revision (name, number, changed) values ('catalogue', 0, 0), ('keys', 0, 0), ('run', 0, 0)`,

    `create table occupation (
      code ${text} primary key,
      updated bigint not null,
      hash ${text} not null,
      filters ${text} not null,
      document ${text} not null
    )`,
    ...compress('occupation', 'document'),
    `create table occupation_filter (
      id ${identity},
      major ${text} not null,
      minor ${text} not null,
      total bigint not null,
      unique (major, minor)
    )`,
    `insert into occupation_filter (major, minor, total) values ('', '', 0)`,
    `create table occupation_posting (
      filter bigint not null,
      code ${text} not null,
      updated bigint not null,
      primary key (filter, code)
    ) ${clustered}`,
    'create index occupation_posting_by_date on occupation_posting (filter, updated, code)',
    `create table occupation_date (
      filter bigint not null,
      span bigint not null,
      start bigint not null,
      total bigint not null,
      primary key (filter, span, start)
    ) ${clustered}`,

    `create table submission (
      token ${text} primary key,
      eid ${text} not null,
      return_id ${text} not null,
      run bigint not null,
      total bigint not null,
      published bigint not null
    )`,
    `create table result_entry (
      run bigint not null,
      ordinal bigint not null,
      document ${text} not null,
      primary key (run, ordinal)
    ) ${clustered}`,

    ...compress('result_entry', 'document'),

    `create table api_key (
      id ${text} primary key,
      client ${text} not null,
      hash ${text} not null,
      scopes ${text} not null,
      eids ${text} not null,
      created bigint not null,
      expires bigint not null,
      revoked bigint
    )`,
  ],
}
