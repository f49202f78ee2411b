import type { Migration } from './migration.ts'

/** The name of the person that a one-time link of the console is for. */
export const linkNames: Migration = {
  name: '0027-link-names',
  statements: ({ text }) => [`alter table console_link add column name ${text}`],
}
