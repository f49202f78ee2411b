import { globSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { defineConfig, type UserWorkspaceConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { findPostgres } from './test/support/find-postgres.ts'
import { chooseProperties } from './test/support/properties.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL that the tests run on. */
    postgresUrl: string
  }
}

/**
 * Tests whose SQL, or whose handling of database errors, can differ between the engines run once for each engine. Those
 * of HTTP, the clients, the console and the command line run on SQLite only.
 */
const onBothEngines = [
  'test/{occupations,results,submissions,jobs}.*.test.ts',
  'test/access.{accesses,audit,credentials,keys,organisations,submissions,suspension}.test.ts',
  'test/commands.{backup,backups,concurrency,copy,crashes,export,import,locks,memory,operations,publish,restore-older,serve,upgrade,upkeep}.test.ts',
  'test/console.sessions.test.ts',
  'test/faults.{attacks,cuts,disk,overload,soak}.test.ts',
  'test/http.{deliveries,fuzz,health,min-revision,streams}.test.ts',
  'test/mirror.copy.test.ts',
  'test/search.{http,index}.test.ts',
  'test/{budgets,metrics}.test.ts',
]

/** These open a database, but what they test is the same on every engine, or their statements are in other tests. */
const onOneEngine = [
  'test/occupations.onet.test.ts',
  'test/results.parameters.test.ts',
  'test/submissions.{guide,keys,reading}.test.ts',
]

/**
 * Tests that run real servers, start or kill processes, or try many sequences or large inputs: minutes of work that a
 * change seldom needs.
 * `npm test` leaves them out; `npm run test:all` has them.
 */
const long = [
  'test/faults.*.test.ts',
  'test/deploy.{backup,kubernetes,litestream,organisations,proxy,recovery,roles,rolling,runbook,runbook-drills,stopping}.test.ts',
  'test/access.{organisations,redis}.test.ts',
  'test/commands.{backup,backups,concurrency,config,copy,crashes,demo,explanations,export,import,import-tables,keys,locks,memory,operations,publish,restore-older,serve,upgrade,upkeep}.test.ts',
  'test/cookbook.test.ts',
  'test/http.{body-memory,fuzz,lingering,streams,unread}.test.ts',
  'test/mirror.commands.test.ts',
  'test/checks.{containers,proposal,single-cells}.test.ts',
  'test/submissions.{containers,guide,processes,reading,reencrypt,returned,storage}.test.ts',
  'test/records.turns.test.ts',
  'test/client.retries.test.ts',
  'test/traces.test.ts',
  'test/input.hostile.test.ts',
  'test/search.{commands,memory}.test.ts',
  'test/input.hostile-service.test.ts',
  'test/{mirror,submissions,jobs}.{cuts,faults,history}.test.ts',
  'test/{docs,console}.browser.test.ts',
  'test/{duckdb,generators}.test.ts',
  'test/console.{forgery,oidc,pages,process,submissions}.test.ts',
]
/**
 * Short tests whose files share processes, because each process takes a second or more to load and compile the service.
 * They leave nothing behind in their process.
 */
const shared = [
  'test/{occupations,results,schema}.*.test.ts',
  'test/access.{addresses,credentials,jwt,keys,limits,submissions}.test.ts',
  'test/checks.{advice,bad-input,broken,causes,definitions,encodings,engine,files,fix,fuzz,gtfs,mark,natures,packages,reader,reports,sdr,seen,spread,sqlite-file,standard,unknown,values}.test.ts',
  'test/client.{cache,changes,occupations,results,types}.test.ts',
  'test/console.{forms,titles}.test.ts',
  'test/http.{bodies,cors,documentation,headers,methods,min-revision,problems,versions}.test.ts',
  'test/input.{charsets,csv,json,ndjson,spreadsheets}.test.ts',
  'test/submissions.{activity,collection,convert,explanations,http,reading,returns}.test.ts',
  'test/{database.utf8,documents,make-folder,mirror.lies,openapi,operation,records.grammar,search.engine,settings,text.numbers}.test.ts',
]

/** Whether the command line names files: all of them run, even long ones, each in its own process. */
const isNamed = process.argv.slice(2).some((argument, index, all) => {
  const before = all[index - 1] ?? ''
  const isValue = before.startsWith('-') && !before.startsWith('--no-') && !before.includes('=')
  return !argument.startsWith('-') && !isValue && !['run', 'watch', 'list'].includes(argument)
})
const isShort = process.env.TEST_SUITE === 'short'
const leftOut = isShort && !isNamed ? long : []
/** The short suite runs on PostgreSQL only what depends most on the engine. */
const leftOutOnPostgres =
  isShort && !isNamed
    ? [
        'test/{access,client,commands,console,http,mirror,search}.*.test.ts',
        'test/submissions.{collection,explanations,returns}.test.ts',
        ...long,
      ]
    : []

// Half of what a process takes to start is compiling, and the tests start some thousand.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled')

const properties = chooseProperties(process.env, isShort)
const { PROPERTY_SEED, PROPERTY_SCALE } = properties
process.stderr.write(
  `Property tests: PROPERTY_SEED=${PROPERTY_SEED} PROPERTY_SCALE=${PROPERTY_SCALE}. Set both to repeat this run.\n`,
)
/** What the database changes about a property shows in few cases. */
const PROPERTIES_ON_POSTGRES = { PROPERTY_SCALE: process.env.PROPERTY_SCALE ?? '1' }

const postgresUrl = await findPostgres()
if (postgresUrl === undefined) {
  const message = 'no PostgreSQL on 127.0.0.1:5432 and none in TEST_DATABASE_URL'
  if (process.env.CI === 'true') throw new Error(`${message}: with CI=true the tests need one`)
  process.stderr.write(`SKIPPED: the tests on PostgreSQL: ${message}\n`)
}
if (isShort && !isNamed)
  process.stderr.write(
    `Tests on SQLite${postgresUrl === undefined ? '' : ', and on PostgreSQL what depends most on it'}, without the long suites (npm run test:all has them). A test that needs Redis, Chromium, Caddy or promtool and finds none is skipped with a line that says so.\n`,
  )

type Part = Pick<NonNullable<UserWorkspaceConfig['test']>, 'env' | 'globalSetup' | 'setupFiles'> & {
  readonly name: string
  readonly include: string[]
  readonly exclude: string[]
}

/** The files of a project in processes of their own, and a second project with those that share them. */
function separate({ include, exclude, env, ...part }: Part) {
  const common = {
    pool: 'forks',
    // A machine that others share may be several times as slow.
    testTimeout: (isShort ? 60_000 : 150_000) * (1 + Number(PROPERTY_SCALE)),
    hookTimeout: 60_000,
    env: { ...properties, ...env },
  } as const
  if (isNamed) return [{ test: { ...common, ...part, include, exclude } }]
  const sharing = globSync(shared).filter((file) => include.some((each) => matchesGlob(file, each)))
  return [
    { test: { ...common, ...part, include, exclude: [...exclude, ...shared] } },
    { test: { ...common, ...part, name: `${part.name}, shared`, include: sharing, exclude, isolate: false } },
  ]
}

/** Files that take longest, which begin first: otherwise the others wait for one of them at the end. */
const LONGEST = [
  'faults.attacks',
  'submissions.faults',
  'console.pages',
  'console.forgery',
  'deploy.runbook-drills',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      LONGEST.some((name) => moduleId.endsWith(`/${name}.test.ts`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // A test that fails on a machine that others share is tried once more, and reported as flaky if it then passes.
    retry: process.env.CI === 'true' ? 1 : 0,
    // Much of the time of a test is waiting for processes that it started.
    maxWorkers: 3,
    projects: [
      ...separate({
        name: 'sqlite',
        include: ['test/**/*.test.ts'],
        // SQLite has no partitions.
        exclude: ['test/results.partitions.test.ts', ...leftOut],
        env: { TEST_ENGINE: 'sqlite' },
      }),
      ...(postgresUrl === undefined
        ? []
        : [
            ...separate({
              name: 'postgres',
              include: onBothEngines,
              exclude: [...onOneEngine, ...leftOutOnPostgres],
              env: { TEST_ENGINE: 'postgres', ...PROPERTIES_ON_POSTGRES },
              globalSetup: 'test/support/postgres-database.ts',
              setupFiles: 'test/support/postgres-setup.ts',
            }),
            ...separate({
              // The same tests on a database that deploy/partition-results.sql has changed.
              name: 'partitioned',
              include: [
                'test/results.{blocks,exports,filters,paging,places,publishing,summaries,trimmed}.test.ts',
              ],
              exclude: leftOut,
              env: { TEST_ENGINE: 'postgres', TEST_PARTITIONED: 'true', ...PROPERTIES_ON_POSTGRES },
              globalSetup: 'test/support/postgres-database.ts',
              setupFiles: 'test/support/postgres-setup.ts',
            }).slice(isNamed ? 0 : 1),
          ]),
    ],
  },
})
