import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/support/find-postgres.ts'
import { RetryReporter } from './test/support/retry-reporter.ts'

// Half of what a process takes to start is compiling, and the tests start some hundred.
process.env.NODE_COMPILE_CACHE ??= `${import.meta.dirname}/node_modules/.cache/compiled`

/** The themes whose SQL, or whose handling of database errors, can differ between the engines. */
const onBoth = [
  'test/{catalogue,database,jobs,mirror,occupations,results,slots,submissions}.*',
  'test/access.{audit,credentials,ended,keys,submissions,suspension}.*',
  'test/{commands.after-restore,console.sessions,http.deliveries,http.health,search.http,search.index}.*',
  'test/{system/{commands,faults.disk,faults.processes,http,metrics,submissions}.*,long/*}',
]
const sqlite = { name: 'sqlite', include: ['test/**/*.test.ts'], env: { TEST_ENGINE: 'sqlite' } }
const postgres = {
  name: 'postgres',
  include: onBoth,
  env: { TEST_ENGINE: 'postgres' },
  globalSetup: 'test/support/postgres-database.ts',
  setupFiles: 'test/support/postgres-setup.ts',
}
const projects = (await findPostgres()) ? [sqlite, postgres] : [sqlite]

export default defineConfig({
  test: {
    // Files share processes, because each process takes a second to load and compile the service.
    isolate: false,
    maxWorkers: 4,
    // Bounds, not expectations: nothing depends on the speed of the machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 240_000 } },
    // A change of days does not wait for one unlucky test, but the run names each test that was tried twice.
    retry: process.env.CI === 'true' ? 1 : 0,
    reporters: ['default', new RetryReporter()],
    projects: projects.map((test) => ({ extends: true as const, test })),
  },
})
