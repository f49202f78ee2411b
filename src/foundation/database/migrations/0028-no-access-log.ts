import type { Migration } from './migration.ts'

/** The log lines of requests say who read or changed which submission. No released version used the table. */
export const noAccessLog: Migration = {
  name: '0028-no-access-log',
  statements: () => ['drop table access_log'],
}
