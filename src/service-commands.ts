import type { Command } from 'commander'
import { action } from './foundation/command-line/command.ts'
import { say } from './foundation/command-line/terminal.ts'
import { readSettings } from './settings.ts'
import { completeEnvironment } from './settings-file.ts'

/** Adds `mahi serve`. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('migrate the database, then serve it')
    .option('--host <address>', 'IP address or host name to listen on (HOST)')
    .option('--port <number>', 'port to listen on (PORT)')
    .action(
      action(async ({ host, port }: { host?: string; port?: string }) => {
        const environment = completeEnvironment(process.env)
        const settings = readSettings({
          ...environment,
          ...(host && { HOST: host }),
          ...(port && { PORT: port }),
        })
        // Imported on demand, because the server is most of the code.
        const { startServer } = await import('./server.ts')
        const server = await startServer(settings, { workerEnvironment: environment })
        server.stopOnSignal()
        // For programs, the log contains the same information.
        if (process.stdout.isTTY) {
          const { describeServer } = await import('./operate/status.ts')
          say(await describeServer(server.url, server.database))
        }
      }),
    )
}

/** Adds `mahi work`. */
export function addWorkCommand(program: Command): void {
  program
    .command('work')
    .description('validate submissions and delete expired data until stopped (WORKERS at a time)')
    .action(
      action(async () => {
        const { startWork } = await import('./worker.ts')
        await startWork(readSettings(completeEnvironment(process.env)))
      }),
    )
}
