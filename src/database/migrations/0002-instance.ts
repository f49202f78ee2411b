import { randomBytes } from 'node:crypto'
import type { Migration } from './migration.ts'

/** What belongs to one installation of the service, and when each key was last used. */
export const instance: Migration = {
  name: '0002-instance',
  statements: ({ text, clustered }) => [
    `create table instance (name ${text} primary key, value ${text} not null)`,
    `insert into instance (name, value) values ('hash-key', '${randomBytes(32).toString('hex')}')`,

    // Apart from the keys themselves: it is written often, and what is written there tells every process to read them.
    `create table key_use (key_id ${text} primary key, used bigint not null) ${clustered}`,
  ],
}
