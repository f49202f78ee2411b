import type { Migration } from './migration.ts'

/**
 * The history of the catalogue. `occupation` remains the current catalogue; `occupation_past` holds all earlier
 * versions of records. The catalogue at the time of this migration is the first revision that can be restored.
 */
export const history: Migration = {
  name: '0004-history',
  statements: ({ text, compress, randomId }) => [
    // 0 for existing records: every revision of the history is later.
    'alter table occupation add column revision bigint not null default 0',
    'create index occupation_by_revision on occupation (revision, code)',

    `create table catalogue_revision (
      number bigint primary key,
      id ${text} not null,
      changed bigint not null,
      stored bigint not null,
      command ${text} not null,
      files ${text} not null,
      created bigint not null,
      updated bigint not null,
      deleted bigint not null,
      total bigint not null,
      kept bigint not null
    )`,
    `insert into catalogue_revision
      (number, id, changed, stored, command, files, created, updated, deleted, total, kept)
     select r.number, ${randomId}, r.changed, r.changed, 'before the history', '[]', f.total, 0, 0, f.total, 1
     from revision r, occupation_filter f
     where r.name = 'catalogue' and f.major = '' and f.minor = ''`,

    `create table occupation_past (
      code ${text} not null,
      until bigint not null,
      revision bigint not null,
      updated bigint not null,
      hash ${text} not null,
      filters ${text} not null,
      document ${text} not null,
      primary key (code, until)
    )`,
    ...compress('occupation_past', 'document'),
    'create index occupation_past_by_end on occupation_past (until, code)',

    `create table occupation_removed (
      code ${text} primary key,
      revision bigint not null,
      removed bigint not null,
      replaced_by ${text} not null
    )`,
    'create index occupation_removed_by_revision on occupation_removed (revision, code)',
  ],
}
