import type { Migration } from './migration.ts'

/** Why the warnings of a submission are right, what was submitted, and until when a reopened submission is open. */
export const explanations: Migration = {
  name: '0017-explanations',
  statements: ({ text }) => [
    `create table submission_explanation (
      token ${text} not null,
      id ${text} not null,
      document ${text} not null,
      sealed ${text},
      primary key (token, id)
    )`,
    `create table submission_receipt (
      token ${text} not null,
      number bigint not null,
      time bigint not null,
      document ${text} not null,
      sealed ${text},
      reopened ${text},
      primary key (token, number)
    )`,
    'alter table submission add column reopened_until bigint',
  ],
}
