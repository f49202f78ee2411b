import type { Migration } from './migration.ts'

/** What reviewers have decided about job titles. */
export const confirmedCodings: Migration = {
  name: '0025-confirmed-codings',
  statements: ({ text, clustered }) => [
    // A decision without a code says that the reviewer knows none.
    `create table confirmed_coding (
      title_key ${text} not null,
      reviewer ${text} not null,
      id ${text} not null,
      title ${text} not null,
      language ${text} not null,
      code ${text},
      decided bigint not null,
      primary key (title_key, reviewer)
    ) ${clustered}`,
    'create index confirmed_coding_id on confirmed_coding (id)',
    'create index confirmed_coding_reviewer on confirmed_coding (reviewer)',
  ],
}
