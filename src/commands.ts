import { realpathSync } from 'node:fs'
import type { Command } from 'commander'
import { addKeyCommands } from './api/access/commands.ts'
import { addCodeCommand } from './catalogue/codings/code-command.ts'
import { addOccupationCommands } from './catalogue/commands.ts'
import { addSearchCommands } from './catalogue/search/commands.ts'
import { addConsoleCommand } from './console/commands.ts'
import { createDemoLink, DEMO_DATABASE_URL, describeDemo, prepareDemo } from './demo.ts'
import { addCheckCommand } from './engines/checking/commands.ts'
import { addDefinitionCommands } from './engines/checking/definition-commands.ts'
import { action, jsonOption, report, type WithDatabase } from './foundation/command-line/command.ts'
import { describeFailure, reportFailure, writeOut } from './foundation/command-line/terminal.ts'
import { openDatabase } from './foundation/database/open.ts'
import { addUpkeepCommands } from './operate/commands.ts'
import { addOrganisationCommands } from './operate/organisations/commands.ts'
import { addMirrorCommands } from './remote/commands.ts'
import { addExplanationCommands } from './remote/explanations.ts'
import { askService, openClient } from './remote/service.ts'
import { addSubmissionCommands, addSubmitCommand, type SubmitServices } from './remote/submissions.ts'
import { addServeCommand, addWorkCommand } from './service-commands.ts'
import { indexMemoryOf, listSettings, readSettings } from './settings.ts'
import { completeEnvironment, readSettingsFile, sayDatabase } from './settings-file.ts'
import { addAuditCommands } from './submissions/accesses/commands.ts'
import { openSealer } from './submissions/encryption/open-sealer.ts'
import { addResultsCommands } from './submissions/findings/commands.ts'
import { recordErasuresIn } from './submissions/retention/erasures.ts'
import { addReturnCommands } from './submissions/returns/commands.ts'

/** Also the settings that the installation has in a file. */
const environment = () => completeEnvironment(process.env)

const withDatabase: WithDatabase = async (work, options) => {
  const { DATABASE_URL: url } = readSettings(environment())
  sayDatabase(process.env, url)
  const database = await openDatabase(url, options)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Adds every command. */
export function addCommands(program: Command): void {
  addServeCommand(program)
  addWorkCommand(program)

  program
    .command('demo')
    .description('serve a sample catalogue and a sample submission from a separate database')
    .action(
      action(async () => {
        const settings = readSettings({
          LOG_LEVEL: 'warn',
          METRICS_PORT: '0',
          CONSOLE: 'on',
          // Somebody who tries the demo on a busy machine prefers to wait.
          OVERLOAD_DELAY_MS: '0',
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

  const retention = () => {
    const settings = readSettings(environment())
    return { historyDays: settings.HISTORY_DAYS, removedDays: settings.REMOVED_CODES_DAYS }
  }
  const readIndexOptions = () => {
    const settings = readSettings(environment())
    return { databaseUrl: settings.DATABASE_URL, memoryBytes: indexMemoryOf(settings) }
  }
  const occupations = addOccupationCommands(program, withDatabase, retention)
  addSearchCommands(occupations, withDatabase, readIndexOptions)
  addCodeCommand(occupations, withDatabase, readIndexOptions, retention)
  const results = addResultsCommands(program, withDatabase, async (database) => {
    const settings = readSettings(environment())
    return { sealer: await openSealer(database, settings), keep: settings.RUNS_KEPT }
  })
  const submissions = addSubmissionCommands(
    program,
    withDatabase,
    (database) => openSealer(database, readSettings(environment())),
    () => recordErasuresIn(readSettings(environment()).ERASURE_LOG),
  )
  const remote: SubmitServices = {
    open: (url, eid, scope) => openClient(url, eid, process.env.MAHI_API_KEY || undefined, scope),
    askService,
  }
  addSubmitCommand(program, remote)
  addExplanationCommands(submissions, remote)
  addReturnCommands(program, withDatabase, {
    readSettings: () => readSettings(process.env),
    openSealer: (database) => openSealer(database, readSettings(process.env)),
  })
  addKeyCommands(program, withDatabase)
  addAuditCommands(program, withDatabase)
  addOrganisationCommands(program, withDatabase)
  addCheckCommand(program)
  addConsoleCommand(program, withDatabase)
  addDefinitionCommands(program)
  addUpkeepCommands(program, {
    withDatabase,
    readSettings: () => {
      const settings = readSettings(environment())
      sayDatabase(process.env, settings.DATABASE_URL)
      return settings
    },
    listDefaults: () => listSettings({}),
    program: [process.execPath, ...process.execArgv, realpathSync(process.argv[1] ?? '')],
  })
  addMirrorCommands(program, results, process.env.MAHI_API_KEY || undefined)

  program
    .command('migrate')
    .description('migrate the database to this version')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const address = await withDatabase(async (database) => database.address)
        await report(flags, { database: address, current: true }, `${address} is up to date.`)
      }),
    )

  program
    .command('config')
    .description('list the settings with their values and sources')
    .addOption(jsonOption)
    .action(
      action(async (flags: { json?: true }) => {
        const settings = listSettings(process.env, readSettingsFile(process.env)?.values)
        const failure = findFailure(() => readSettings(environment()))
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

function findFailure(check: () => unknown): unknown {
  try {
    check()
    return undefined
  } catch (error) {
    return error
  }
}
