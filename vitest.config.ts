import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/support/find-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL that the tests run on. */
    postgresUrl: string
  }
}

const common = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000 } as const
/** Tests that open a database run once for each engine; the others know of none. */
const withDatabase = [
  'test/{occupations,results,access,commands,http,client,mirror,faults,submissions,jobs}.*.test.ts',
  'test/console.sessions.test.ts',
]

/** But for those that make the servers of PostgreSQL they need themselves: once is enough. */
const ownServers = ['test/faults.{failover,migrations,postgres,replicas,standby,visibility}.test.ts']

const postgresUrl = await findPostgres()
if (postgresUrl === undefined) {
  const message = 'no PostgreSQL on 127.0.0.1:5432 and none in TEST_DATABASE_URL'
  if (process.env.CI === 'true') throw new Error(`${message}: with CI=true the tests need one`)
  process.stderr.write(`SKIPPED: the tests on PostgreSQL: ${message}\n`)
}

export default defineConfig({
  test: {
    // Much of the time of a test is waiting for processes that it started.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...common,
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          // SQLite has no partitions.
          exclude: ['test/results.partitions.test.ts'],
          env: { TEST_ENGINE: 'sqlite' },
        },
      },
      ...(postgresUrl === undefined
        ? []
        : [
            {
              test: {
                ...common,
                name: 'postgres',
                include: withDatabase,
                exclude: ['test/occupations.onet.test.ts', ...ownServers],
                env: { TEST_ENGINE: 'postgres' },
                provide: { postgresUrl },
                setupFiles: ['test/support/postgres-setup.ts'],
              },
            },
            {
              test: {
                ...common,
                // The same tests on a database that deploy/partition-results.sql has changed.
                name: 'partitioned',
                include: ['test/results.*.test.ts'],
                exclude: ['test/results.partitions.test.ts'],
                env: { TEST_ENGINE: 'postgres', TEST_PARTITIONED: 'true' },
                provide: { postgresUrl },
                setupFiles: ['test/support/postgres-setup.ts'],
              },
            },
          ]),
    ],
  },
})
