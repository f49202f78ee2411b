import type { Migration } from './migration.ts'

/** The last backup that each program has made, and its last failure since, so that a schedule that fails is seen. */
export const backups: Migration = {
  name: '0021-backups',
  statements: ({ text }) => [
    `create table backup (
      program ${text} primary key,
      finished bigint,
      bytes bigint,
      failed bigint,
      reason ${text}
    )`,
  ],
}
