import type { Migration } from './migration.ts'

/** What was guessed about the upload of a file. */
export const fileNotes: Migration = {
  name: '0026-file-notes',
  statements: ({ text }) => [`alter table file_version add column notes ${text}`],
}
