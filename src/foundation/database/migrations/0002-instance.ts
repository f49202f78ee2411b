import { randomBytes } from 'node:crypto'
import type { Migration } from './migration.ts'

/** Data of one installation of the service, and the time when each key was last used. */
export const instance: Migration = {
  name: '0002-instance',
  statements: ({ text, clustered }) => [
    `create table instance (name ${text} primary key, value ${text} not null)`,
    `insert into instance (name, value) values ('hash-key', '${randomBytes(32).toString('hex')}')`,

    // Separate from the keys, because it changes often, and every process reads all keys again when one changes.
    `create table key_use (key_id ${text} primary key, used bigint not null) ${clustered}`,
  ],
}
