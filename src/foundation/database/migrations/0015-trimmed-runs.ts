import type { Migration } from './migration.ts'

/** The findings of the last two runs are stored; of the runs before, their counts and the keys that compare them. */
export const trimmedRuns: Migration = {
  name: '0015-trimmed-runs',
  statements: () => ['alter table submission_run add column trimmed bigint'],
}
