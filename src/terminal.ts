import { statSync } from 'node:fs'
import cliProgress from 'cli-progress'
import { DatabaseUnusable } from './database/database.ts'
import { type Fault, formatFault, InputRefused, MAX_FAULTS } from './input/faults.ts'
import { STANDARD_INPUT } from './input/read-bytes.ts'
import { CannotListen } from './server.ts'
import { SettingsRefused } from './settings.ts'

/** Writes data to standard output, and waits until there is room for more. */
export function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** Writes a line for people to standard error. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** A progress bar over the bytes of files, on a terminal; nothing in a pipe or where the size is not known. */
export class Progress {
  readonly #bar: cliProgress.SingleBar | undefined
  #bytes = 0
  #records = 0

  constructor(files: readonly string[], noun: string) {
    const total = sizeOf(files)
    if (!process.stderr.isTTY || total === undefined) return
    this.#bar = new cliProgress.SingleBar({
      stream: process.stderr,
      format: `{bar} {percentage} % · {records} ${noun} · {eta_formatted} left`,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      hideCursor: true,
      clearOnComplete: true,
    })
    this.#bar.start(total, 0, { records: '0' })
  }

  readonly onBytes = (count: number): void => {
    this.#bytes += count
    this.#bar?.update(this.#bytes)
  }

  readonly onRecords = (count: number): void => {
    this.#records = count
    this.#bar?.update(this.#bytes, { records: this.#records.toLocaleString('en-NZ') })
  }

  stop(): void {
    this.#bar?.stop()
  }
}

function sizeOf(files: readonly string[]): number | undefined {
  try {
    return files.includes(STANDARD_INPUT)
      ? undefined
      : files.reduce((sum, file) => sum + statSync(file).size, 0)
  } catch {
    return undefined
  }
}

/** What a failed command says, as a list of faults; `undefined` for what nobody expected. */
export function describeFailure(error: unknown): readonly Fault[] | undefined {
  if (error instanceof InputRefused) return error.faults
  if (error instanceof SettingsRefused) return error.faults.map((message) => ({ message }))
  if (error instanceof DatabaseUnusable || error instanceof CannotListen) return [{ message: error.message }]
  return undefined
}

/** Tells why a command failed and sets the exit status: each fault on a line, or as one JSON object. */
export async function reportFailure(error: unknown, json: boolean): Promise<void> {
  process.exitCode = 1
  const faults = describeFailure(error)
  if (faults === undefined) {
    say(`mahi: this should not have happened: ${error instanceof Error ? error.stack : error}`)
    return
  }
  if (json) {
    await writeOut(`${JSON.stringify({ faults })}\n`)
    return
  }
  for (const fault of faults) say(formatFault(fault))
  if (!(error instanceof InputRefused)) return
  const more = faults.length >= MAX_FAULTS ? ` These are the first ${MAX_FAULTS}; there may be more.` : ''
  say(`Nothing was stored: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}.${more}`)
}
