import { realpathSync } from 'node:fs'
import type { Command } from 'commander'
import { addKeyCommands } from './access/commands.ts'
import { addCheckCommand } from './checks/commands.ts'
import { addDefinitionCommands } from './checks/definition-commands.ts'
import { action, jsonOption, report, type WithDatabase } from './command-line/command.ts'
import { describeFailure, reportFailure, writeOut } from './command-line/terminal.ts'
import { addConsoleCommand } from './console/commands.ts'
import { openDatabase } from './database/open.ts'
import { createSealer } from './database/seal-keys.ts'
import { createDemoLink, DEMO_DATABASE_URL, describeDemo, prepareDemo } from './demo/demo.ts'
import { addMirrorCommands } from './mirror/commands.ts'
import { askService, openClient } from './mirror/service.ts'
import { addOccupationCommands } from './occupations/commands.ts'
import { addSearchCommands } from './search/commands.ts'
import { addServeCommand, addWorkCommand } from './service-commands.ts'
import { listSettings, readSettings } from './settings.ts'
import { addSubmissionCommands, addSubmitCommand } from './submissions/commands.ts'
import { addUpkeepCommands } from './upkeep/commands.ts'
import { addResultsCommands } from './validation-results/commands.ts'

const withDatabase: WithDatabase = async (work, options) => {
  const database = await openDatabase(readSettings(process.env).DATABASE_URL, options)
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
        const demo = await prepareDemo()
        const { startServer, stopOnSignal } = await import('./server.ts')
        const server = await startServer(settings, {
          demo,
          workerEnvironment: { LOG_LEVEL: 'warn', ...process.env, DATABASE_URL: DEMO_DATABASE_URL },
        })
        stopOnSignal(server)
        await writeOut(describeDemo(demo, server.url, await createDemoLink(demo, server)))
      }),
    )

  const occupations = addOccupationCommands(program, withDatabase, () => {
    const settings = readSettings(process.env)
    return { historyDays: settings.HISTORY_DAYS, removedDays: settings.REMOVED_CODES_DAYS }
  })
  addSearchCommands(occupations, withDatabase)
  const results = addResultsCommands(program, withDatabase, () => {
    const settings = readSettings(process.env)
    return { sealer: createSealer(settings), keep: settings.RUNS_KEPT }
  })
  addSubmissionCommands(program, withDatabase, () => createSealer(readSettings(process.env)))
  addSubmitCommand(program, {
    open: (url, eid) => openClient(url, eid, process.env.MAHI_API_KEY || undefined),
    askService,
  })
  addKeyCommands(program, withDatabase)
  addCheckCommand(program)
  addConsoleCommand(program, withDatabase)
  addDefinitionCommands(program)
  addUpkeepCommands(program, {
    withDatabase,
    readSettings: () => readSettings(process.env),
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
        const settings = listSettings(process.env)
        const failure = findFailure(() => readSettings(process.env))
        if (flags.json) {
          const faults = failure === undefined ? {} : { faults: describeFailure(failure) }
          await writeOut(`${JSON.stringify({ settings, ...faults })}\n`)
          if (failure !== undefined) process.exitCode = 1
          return
        }
        for (const { name, value, source, meaning } of settings) {
          await writeOut(`${name.padEnd(30)} ${value.padEnd(24)} ${source.padEnd(11)}  ${meaning}\n`)
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
