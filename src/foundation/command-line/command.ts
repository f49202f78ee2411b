import { setFlagsFromString } from 'node:v8'
import { type Command, Option } from 'commander'
import type { Database } from '../database/database.ts'
import { OutputFailed, reportFailure, say, writeOut } from './terminal.ts'

/**
 * Runs work on the configured database, then closes it. Only commands with which an installation can begin set
 * `create`: for all others, a wrong URL fails instead of creating an empty database.
 */
export type WithDatabase = <T>(
  work: (database: Database) => Promise<T>,
  options?: { readonly create?: true },
) => Promise<T>

/** The option of all commands whose output is not data already. */
export const jsonOption = new Option('--json', 'print one JSON object')

/** Wraps an action so that its failures are reported to the user. */
export function action<Arguments extends unknown[]>(run: (...given: Arguments) => Promise<void>) {
  return async (...given: unknown[]): Promise<void> => {
    // Commander passes the arguments, the options and the command itself.
    const subcommand = given.at(-1) as Command
    try {
      await run(...(given as Arguments))
    } catch (error) {
      if (error instanceof OutputFailed && error.closed) return
      await reportFailure(error, subcommand.opts().json === true)
    }
  }
}

/**
 * Keeps the young generation of the heap small, for commands that stream: their objects are short-lived, and a larger
 * heap only holds more garbage. Measured: publishing a million entries to PostgreSQL takes 180 MB instead of up to
 * 290 MB, in the same time.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Prints the result of a command: one JSON object, or a text. */
export async function report(flags: { json?: true }, summary: object, text: string): Promise<void> {
  if (flags.json) await writeOut(`${JSON.stringify(summary)}\n`)
  else say(text)
}

/** Creates a function that reports, once, that the command waits for another. */
export function waitingNotice(): () => void {
  let said = false
  return () => {
    if (!said) say('Waiting for another change to finish…')
    said = true
  }
}
