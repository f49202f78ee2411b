import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/support/find-postgres.ts'
import { RetryReporter } from './test/support/retry-reporter.ts'

const { TEST_SUITE: suite, CI } = process.env
// Half of what a process takes to start is compiling, and the tests start some hundred.
process.env.NODE_COMPILE_CACHE ??= `${import.meta.dirname}/node_modules/.cache/compiled`

/** The themes whose SQL, or whose handling of database errors, can differ between the engines. */
const onBoth = [
  'test/{catalogue,database,jobs,mirror,occupations,results,slots,submissions}.*',
  'test/access.{audit,credentials,ended,keys,submissions,suspension}.*',
  'test/{commands.after-restore,console.sessions,http.deliveries,http.health,search.http,search.index}.*',
  'test/{system/{commands,faults.disk,faults.processes,http,metrics,submissions}.*,long/*}',
]
const run = (name: 'sqlite' | 'postgres', include: string[], more = {}) => ({
  extends: true as const,
  test: { name, include, env: { TEST_ENGINE: name }, ...more },
})
const schemas = {
  globalSetup: 'test/support/postgres-database.ts',
  setupFiles: 'test/support/postgres-setup.ts',
}

export default defineConfig({
  test: {
    // Real processes and browsers are for `.ci/run`, and what needs minutes or luck for `npm run test:long`.
    exclude: [...(suite === 'fast' ? ['test/system/**'] : []), ...(suite === 'long' ? [] : ['test/long/**'])],
    // Files share processes, because each process takes a second to load and compile the service.
    isolate: false,
    maxWorkers: 3,
    // Bounds, not expectations: nothing depends on the speed of the machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 240_000 } },
    // A change of days does not wait for one unlucky test, but the run names each test that was tried twice.
    retry: CI === 'true' ? 1 : 0,
    reporters: ['default', new RetryReporter()],
    projects: [
      run('sqlite', ['test/**/*.test.ts']),
      ...((await findPostgres()) ? [run('postgres', onBoth, schemas)] : []),
    ],
  },
})
