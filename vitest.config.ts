import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/support/find-postgres.ts'
import { chooseProperties } from './test/support/properties.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL that the tests run on. */
    postgresUrl: string
  }
}

/** Tests that open a database run once for each engine; the others know of none. */
const withDatabase = [
  'test/{occupations,results,access,commands,http,client,mirror,faults,submissions,jobs}.*.test.ts',
  'test/console.{browser,forms,pages,process,sessions,submissions}.test.ts',
  'test/search.{commands,http,index}.test.ts',
  'test/{budgets,metrics}.test.ts',
]

/** But for those that make the servers of PostgreSQL they need themselves: once is enough. */
const ownServers = ['test/faults.{failover,migrations,postgres,replicas,standby,visibility}.test.ts']

/**
 * Tests that run real servers, kill processes or try many random sequences: minutes of work that a change seldom needs.
 * `npm test` leaves them out; `npm run test:all` has them.
 */
const long = [
  'test/faults.*.test.ts',
  'test/deploy.{backup,kubernetes,litestream,organisations,proxy,recovery,roles,rolling,runbook,stopping}.test.ts',
  'test/access.{organisations,redis}.test.ts',
  'test/commands.{backup,backups,concurrency,copy,crashes,demo,import-tables,locks,memory,operations,serve,upgrade}.test.ts',
  'test/cookbook.test.ts',
  'test/http.{body-memory,fuzz,lingering,streams,unread}.test.ts',
  'test/mirror.commands.test.ts',
  'test/submissions.{guide,processes,reencrypt,returned,storage}.test.ts',
  'test/traces.test.ts',
  'test/input.hostile.test.ts',
  'test/search.memory.test.ts',
  'test/input.hostile-service.test.ts',
  'test/{mirror,submissions,jobs}.{cuts,faults,history}.test.ts',
  'test/{docs,console}.browser.test.ts',
  'test/{duckdb,generators}.test.ts',
  'test/console.{forgery,oidc,pages,process,submissions}.test.ts',
]
const isShort = process.env.TEST_SUITE === 'short'
const leftOut = isShort ? long : []
/** What depends least on the engine runs on both in `npm run test:all` only. */
const leftOutOnPostgres = isShort
  ? ['test/{client,commands,http,mirror,search}.*.test.ts', 'test/access.jwt.test.ts', ...long]
  : []

const properties = chooseProperties(process.env, isShort)
const { PROPERTY_SEED, PROPERTY_SCALE } = properties
process.stderr.write(
  `Property tests: PROPERTY_SEED=${PROPERTY_SEED} PROPERTY_SCALE=${PROPERTY_SCALE}. Set both to repeat this run.\n`,
)
const common = {
  pool: 'forks',
  testTimeout: 60_000 * (1 + Number(PROPERTY_SCALE)),
  hookTimeout: 60_000,
} as const

const postgresUrl = await findPostgres()
if (postgresUrl === undefined) {
  const message = 'no PostgreSQL on 127.0.0.1:5432 and none in TEST_DATABASE_URL'
  if (process.env.CI === 'true') throw new Error(`${message}: with CI=true the tests need one`)
  process.stderr.write(`SKIPPED: the tests on PostgreSQL: ${message}\n`)
}
process.stderr.write(
  isShort
    ? `Tests on SQLite${postgresUrl === undefined ? '' : ' and PostgreSQL'}, without the long suites (npm run test:all has them): about 7 minutes on two idle cores. A test that needs Redis, Chromium, Caddy or promtool and finds none is skipped with a line that says so.\n`
    : 'Tests as named on the command line, or all of them with the long suites: about half an hour on two idle cores.\n',
)

export default defineConfig({
  test: {
    // A test that fails on a machine that others share is tried once more, and reported as flaky if it then passes.
    retry: process.env.CI === 'true' ? 1 : 0,
    // Much of the time of a test is waiting for processes that it started.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...common,
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          // SQLite has no partitions.
          exclude: ['test/results.partitions.test.ts', ...leftOut],
          env: { TEST_ENGINE: 'sqlite', ...properties },
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
                exclude: ['test/occupations.onet.test.ts', ...ownServers, ...leftOutOnPostgres],
                env: { TEST_ENGINE: 'postgres', ...properties },
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
                exclude: ['test/results.partitions.test.ts', ...leftOut],
                env: { TEST_ENGINE: 'postgres', TEST_PARTITIONED: 'true', ...properties },
                provide: { postgresUrl },
                setupFiles: ['test/support/postgres-setup.ts'],
              },
            },
          ]),
    ],
  },
})
