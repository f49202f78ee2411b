import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/support/find-postgres.ts'
import { RetryReporter } from './test/support/retry-reporter.ts'

/** Real servers, processes and browsers: `npm test` leaves them out, and `.ci/run` runs them. */
const system = process.env.TEST_SUITE === 'fast' ? ['test/system/**'] : []
/** What needs minutes or luck: `npm run test:long` runs it before a release. */
const long = process.env.TEST_SUITE === 'long' ? [] : ['test/long/**']

/** Tests whose SQL, or whose handling of database errors, can differ between the engines run once for each engine. */
const onPostgres = [
  'test/{catalogue,jobs,occupations,results,submissions}.*.test.ts',
  'test/access.{audit,credentials,keys,submissions,suspension}.test.ts',
  'test/commands.after-restore.test.ts',
  'test/console.sessions.test.ts',
  'test/http.{deliveries,health}.test.ts',
  'test/mirror.copy.test.ts',
  'test/search.{http,index}.test.ts',
  'test/{slots,database.migrations,database.transactions}.test.ts',
  'test/system/{commands,submissions}.*.test.ts',
  'test/system/{faults.disk,faults.processes,http.streams,metrics}.test.ts',
  'test/long/*.test.ts',
]

// Half of what a process takes to start is compiling, and the tests start some hundred.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled')
const postgres = await findPostgres()
const sqlite = {
  name: 'sqlite',
  include: ['test/**/*.test.ts'],
  exclude: [...system, ...long],
  env: { TEST_ENGINE: 'sqlite' },
}
const project = {
  name: 'postgres',
  include: onPostgres,
  exclude: [...system, ...long],
  env: { TEST_ENGINE: 'postgres' },
  globalSetup: 'test/support/postgres-database.ts',
  setupFiles: 'test/support/postgres-setup.ts',
}

export default defineConfig({
  test: {
    // Files share processes, because each process takes a second to load and compile the service.
    isolate: false,
    pool: 'forks',
    maxWorkers: 3,
    // Bounds, not expectations: nothing depends on the speed of the machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 240_000 } },
    // A change of days does not wait for one unlucky test, but the run names each test that was tried twice.
    retry: process.env.CI === 'true' ? 1 : 0,
    reporters: ['default', new RetryReporter()],
    projects: [sqlite, ...(postgres ? [project] : [])].map((test) => ({ extends: true, test })),
  },
})
