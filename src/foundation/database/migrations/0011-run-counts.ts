import type { Migration } from './migration.ts'

/**
 * Counts how validations end: workers have no metrics of their own, and all processes report the same. A job names
 * the request that queued it, so that the log and the traces of both can be joined.
 */
export const runCounts: Migration = {
  name: '0011-run-counts',
  statements: ({ text }) => [
    // By the upper bound of their duration in milliseconds; 0 above the largest one.
    `create table run_count (
      status ${text} not null,
      bound bigint not null,
      total bigint not null,
      milliseconds bigint not null,
      primary key (status, bound)
    )`,
    `alter table job add column request ${text}`,
    `alter table job add column trace ${text}`,
  ],
}
