import type { Migration } from './migration.ts'

/** The returns that are collected, and what the agency counts over all organisations without reading findings. */
export const returns: Migration = {
  name: '0018-returns',
  statements: ({ text }) => [
    `create table collected_return (
      return_id ${text} primary key,
      name ${text} not null,
      definition ${text} not null,
      version ${text} not null,
      type ${text} not null,
      opens bigint not null,
      due bigint not null,
      closes bigint not null,
      eids ${text},
      notes ${text},
      zone ${text} not null
    )`,
    // The causes of the current run of a submission, without values.
    `create table submission_cause (
      token ${text} not null,
      position bigint not null,
      kind ${text} not null,
      severity ${text} not null,
      code ${text} not null,
      file ${text} not null,
      field ${text} not null,
      causes bigint not null,
      findings bigint not null,
      records bigint not null,
      primary key (token, position)
    )`,
    'create index submission_by_return on submission (return_id)',
  ],
}
