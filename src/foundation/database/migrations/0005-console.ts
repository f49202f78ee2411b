import type { Migration } from './migration.ts'

/** The sessions of the console, and the one-time links that open them. */
export const consoleSessions: Migration = {
  name: '0005-console',
  statements: ({ text }) => [
    `create table console_session (
      hash ${text} primary key,
      key_id ${text},
      principal ${text} not null,
      created bigint not null,
      used bigint not null,
      expires bigint not null
    )`,
    'create index console_session_by_expiry on console_session (expires)',
    `create table console_link (
      hash ${text} primary key,
      key_id ${text} not null,
      expires bigint not null
    )`,
  ],
}
