import type { Migration } from './migration.ts'

/** Lets the later findings of a record refer to its text, which only the first one stores. */
export const sharedTexts: Migration = {
  name: '0008-shared-texts',
  statements: () => ['alter table result_entry add column text_of bigint'],
}
