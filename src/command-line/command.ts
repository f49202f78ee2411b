import { setFlagsFromString } from 'node:v8'
import { type Command, Option } from 'commander'
import type { Database } from '../database/database.ts'
import { OutputFailed, reportFailure, say, writeOut } from './terminal.ts'

/**
 * Runs work on the database that the settings name, and closes it. Commands that only read or change what is there
 * say `existing`: a wrong address then fails, where it would otherwise make an empty database.
 */
export type WithDatabase = <T>(
  work: (database: Database) => Promise<T>,
  options?: { readonly existing?: boolean },
) => Promise<T>

/** The option of every command whose answer is not data already. */
export const jsonOption = new Option('--json', 'print one JSON object')

/** Makes an action whose failure is told in the user's terms. */
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
 * Keeps the part of the heap that is for new objects from growing, for a command that streams: everything it makes
 * is soon garbage, and a larger heap only holds more of it. Measured: a publish of a million entries to PostgreSQL
 * takes 180 MB instead of up to 290 MB, and no longer.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Prints what a command has done: one JSON object, or a text for people. */
export async function report(flags: { json?: true }, summary: object, text: string): Promise<void> {
  if (flags.json) await writeOut(`${JSON.stringify(summary)}\n`)
  else say(text)
}

/** Makes a function that says, once, that the command waits for another. */
export function waitingNotice(): () => void {
  let said = false
  return () => {
    if (!said) say('Waiting for another import or publish to finish…')
    said = true
  }
}
