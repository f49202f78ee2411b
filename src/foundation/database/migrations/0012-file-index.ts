import type { Migration } from './migration.ts'

/**
 * Says how far the records of a file are indexed for batches, so that the index can be built in short transactions. It
 * is null for files that an earlier version stored or indexed.
 */
export const fileIndex: Migration = {
  name: '0012-file-index',
  statements: () => ['alter table file_version add column indexed bigint'],
}
