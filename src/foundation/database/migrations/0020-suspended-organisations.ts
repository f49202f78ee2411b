import type { Migration } from './migration.ts'

/** Organisations whose requests are refused until an operator resumes them. Others have no row. */
export const suspendedOrganisations: Migration = {
  name: '0020-suspended-organisations',
  statements: ({ text }) => [
    `create table organisation_suspension (
      eid ${text} primary key,
      suspended bigint not null,
      reason ${text} not null
    )`,
  ],
}
