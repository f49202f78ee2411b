import type { Command } from 'commander'
import { action, jsonOption, report, type WithDatabase } from './foundation/command-line/command.ts'
import { describeFailure, reportFailure, writeOut } from './foundation/command-line/terminal.ts'
import { tryWritable } from './foundation/command-line/writable.ts'
import { openDatabase } from './foundation/database/open.ts'
import { type Fault, UserError } from './foundation/faults/user-error.ts'
import { addServeCommand, addWorkCommand } from './service-commands.ts'
import { indexMemoryOf, listSettings, readSettings } from './settings.ts'
import { completeEnvironment, readSettingsFile, sayDatabase } from './settings-file.ts'

/** Also the settings that the installation has in a file. */
const environment = () => completeEnvironment(process.env)

const withDatabase: WithDatabase = async (work, options) => {
  const { DATABASE_URL: url } = readSettings(environment())
  sayDatabase(process.env, url)
  const database = await openDatabase(url, { existing: options?.create !== true })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

const retention = () => {
  const { HISTORY_DAYS: historyDays } = readSettings(environment())
  return { historyDays }
}

const readIndexOptions = () => {
  const settings = readSettings(environment())
  return { databaseUrl: settings.DATABASE_URL, memoryBytes: indexMemoryOf(settings) }
}

type Add = (program: Command) => void | Promise<void>

/** The commands, in the order of the help. What a command needs is loaded only for it, because loading takes longest. */
const GROUPS: readonly (readonly [names: string, add: Add])[] = [
  ['serve', addServeCommand],
  ['work', addWorkCommand],
  ['demo', addDemoCommand],
  [
    'occupations',
    async (program) => {
      const { addOccupationCommands } = await import('./catalogue/commands.ts')
      const { addSearchCommands } = await import('./catalogue/search/commands.ts')
      const { addCodeCommand } = await import('./catalogue/codings/code-command.ts')
      const occupations = addOccupationCommands(program, withDatabase, retention)
      addSearchCommands(occupations, withDatabase, readIndexOptions)
      addCodeCommand(occupations, withDatabase, readIndexOptions)
    },
  ],
  [
    'results',
    async (program) => {
      const { addResultsCommands } = await import('./submissions/results-commands.ts')
      const { addFetchCommand } = await import('./remote/commands.ts')
      const { openSealer } = await import('./submissions/open-sealer.ts')
      const results = addResultsCommands(program, withDatabase, (database) =>
        openSealer(database, readSettings(environment())),
      )
      addFetchCommand(results, apiKey())
    },
  ],
  [
    'submissions',
    async (program) => {
      const { addSubmissionCommands } = await import('./submissions/commands.ts')
      const { addExplanationCommands } = await import('./remote/explain.ts')
      const { recordErasuresIn } = await import('./submissions/retention/erasures.ts')
      const submissions = addSubmissionCommands(program, withDatabase, () =>
        recordErasuresIn(readSettings(environment()).ERASURE_LOG),
      )
      addExplanationCommands(submissions, apiKey())
    },
  ],
  ['submit', async (program) => (await import('./remote/submit.ts')).addSubmitCommand(program, apiKey())],
  [
    'returns',
    async (program) => {
      const { addReturnCommands } = await import('./submissions/returns/commands.ts')
      const { openSealer } = await import('./submissions/open-sealer.ts')
      addReturnCommands(program, withDatabase, {
        readSettings: () => readSettings(environment()),
        openSealer: (database) => openSealer(database, readSettings(environment())),
      })
    },
  ],
  [
    'keys',
    async (program) => (await import('./api/access/key-commands.ts')).addKeyCommands(program, withDatabase),
  ],
  [
    'organisations',
    async (program) =>
      (await import('./operate/organisations/commands.ts')).addOrganisationCommands(program, withDatabase),
  ],
  ['check', async (program) => (await import('./engines/checking/commands.ts')).addCheckCommand(program)],
  [
    'console',
    async (program) => {
      const { addConsoleCommand } = await import('./console/commands.ts')
      addConsoleCommand(program, withDatabase, () => readSettings(environment()))
    },
  ],
  [
    'definitions',
    async (program) =>
      (await import('./engines/checking/definition-commands.ts')).addDefinitionCommands(program),
  ],
  [
    'status backup after-restore copy',
    async (program) => {
      const { addOperateCommands } = await import('./operate/commands.ts')
      addOperateCommands(program, withDatabase, () => {
        const settings = readSettings(environment())
        sayDatabase(process.env, settings.DATABASE_URL)
        return settings
      })
    },
  ],
  ['mirror', async (program) => (await import('./remote/commands.ts')).addMirrorCommand(program, apiKey())],
  ['migrate', addMigrateCommand],
  ['config', addConfigCommand],
]

/**
 * Adds the commands with a name, or all; none where only the version is asked for.
 *
 * @param name the first argument, which may be no command
 */
export async function addCommands(program: Command, name: string | undefined): Promise<void> {
  if (name === '--version' || name === '-V') return
  const named = GROUPS.filter(([names]) => names.split(' ').includes(name ?? ''))
  for (const [, add] of named.length > 0 ? named : GROUPS) await add(program)
}

function apiKey(): string | undefined {
  return process.env.MAHI_API_KEY || undefined
}

function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('serve a sample catalogue and a sample submission from a separate database')
    .action(
      action(async () => {
        const { createDemoLink, DEMO_DATABASE_URL, describeDemo, prepareDemo } = await import('./demo.ts')
        const settings = readSettings({
          LOG_LEVEL: 'warn',
          METRICS_PORT: '0',
          CONSOLE: 'on',
          ...process.env,
          DATABASE_URL: DEMO_DATABASE_URL,
          DATABASE_URL_FILE: undefined,
        })
        const demo = await prepareDemo(indexMemoryOf(settings))
        const { startServer } = await import('./server.ts')
        const server = await startServer(settings, {
          demo,
          // Nothing of an installed service.
          workerEnvironment: {
            LOG_LEVEL: 'warn',
            ...process.env,
            DATABASE_URL: DEMO_DATABASE_URL,
            MAHI_SETTINGS: '/dev/null',
          },
        })
        server.stopOnSignal()
        await writeOut(describeDemo(demo, server.url, await createDemoLink(demo, server)))
      }),
    )
}

function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('migrate the database to this version')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const address = await withDatabase(async (database) => database.address, { create: true })
        await report(flags, { database: address, current: true }, `${address} is up to date.`)
      }),
    )
}

function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('list the settings with their values and sources')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const settings = listSettings(process.env, readSettingsFile(process.env)?.values)
        const failure = await findFailure()
        if (flags.json) {
          const faults = failure === undefined ? {} : { faults: describeFailure(failure) }
          await writeOut(`${JSON.stringify({ settings, ...faults })}\n`)
          if (failure !== undefined) process.exitCode = 1
          return
        }
        for (const { name, value, source, meaning } of settings) {
          await writeOut(`${name.padEnd(30)} ${value.padEnd(24)} ${source.padEnd(13)}  ${meaning}\n`)
        }
        if (failure !== undefined) await reportFailure(failure, false)
      }),
    )
}

/** Why `mahi serve` would refuse the settings. */
async function findFailure(): Promise<unknown> {
  try {
    const { DEFINITIONS, CHECK_FOLDER, ERASURE_LOG, SNAPSHOT_FOLDER } = readSettings(environment())
    const { Definitions } = await import('./submissions/rules/definitions.ts')
    const faults = [
      () => tryWritable({ CHECK_FOLDER, ERASURE_LOG, SNAPSHOT_FOLDER }),
      () => new Definitions(DEFINITIONS),
    ].flatMap(findFaults)
    return faults.length === 0 ? undefined : new UserError(faults)
  } catch (error) {
    return error
  }
}

function findFaults(check: () => unknown): readonly Fault[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof UserError) return error.faults
    throw error
  }
}
