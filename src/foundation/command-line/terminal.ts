import { statSync } from 'node:fs'
import { InputRefused } from '../faults/faults.ts'
import { type Fault, formatFault, UserError } from '../faults/user-error.ts'
import { formatNumber } from '../text/format-number.ts'
import { escapeControls } from '../text/quote.ts'

/** Standard output accepts no more data; `closed` if its reader has finished, as `head` does. */
export class OutputFailed extends UserError {
  readonly closed: boolean

  constructor(error: NodeJS.ErrnoException) {
    super(
      error.code === 'ENOSPC'
        ? 'Standard output has no space left on its disk; the output is incomplete'
        : `Standard output cannot be written: ${error.message}`,
      { cause: error },
    )
    this.closed = error.code === 'EPIPE'
  }
}

// The writer gets the error of a failed write; without a listener, it would also end the process with a stack trace.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)

/** Lines as a terminal may show them: what data contain cannot move its cursor, nor change the direction of text. */
export function toPrintable(text: string): string {
  return text.split('\n').map(escapeControls).join('\n')
}

/**
 * Writes data to standard output, and waits until there is room for more. A terminal gets what it may show.
 *
 * @throws {OutputFailed}
 */
export function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const shown = process.stdout.isTTY ? toPrintable(text) : text
    process.stdout.write(shown, (error) => (error ? reject(new OutputFailed(error)) : resolve()))
  })
}

/** Writes lines for a person to standard output, also in a pipe without control characters. */
export async function print(text: string): Promise<void> {
  await writeOut(toPrintable(text))
}

/** Writes messages to standard error, without control characters. */
export function say(text: string): void {
  process.stderr.write(`${toPrintable(text)}\n`)
}

/** Writes a note to standard error, in one line, whatever names from data it has. */
export function sayNote(text: string): void {
  say(escapeControls(`Note: ${text}`))
}

/** Replaces the current line of a terminal. */
export function showLine(text: string): void {
  process.stderr.write(`\r\u001b[K${toPrintable(text)}`)
}

/** Milliseconds between two lines of progress. */
const PROGRESS_INTERVAL = 100

/**
 * Shows progress on a terminal: the share of the files that has been read, or a count if their size is unknown. Shows
 * nothing in a pipe.
 */
export class Progress {
  readonly #visible = process.stderr.isTTY
  readonly #noun: string
  readonly #total: number | undefined
  readonly #begun = performance.now()
  #shown = 0
  #bytes = 0
  #records = 0

  /** @param files the input files */
  constructor(noun: string, files: readonly string[] = []) {
    this.#noun = noun
    this.#total = sizeOf(files)
  }

  readonly onBytes = (count: number): void => {
    this.#bytes += count
    this.#show()
  }

  readonly onRecords = (count: number): void => {
    this.#records = count
    this.#show()
  }

  stop(): void {
    if (this.#visible) showLine('')
  }

  #show(): void {
    const now = performance.now()
    if (!this.#visible || now - this.#shown < PROGRESS_INTERVAL) return
    this.#shown = now
    const seconds = (now - this.#begun) / 1000
    const count = `${formatNumber(this.#records)} ${this.#noun}`
    if (this.#total === undefined) {
      showLine(`${count} · ${Math.floor(seconds)} s`)
      return
    }
    const share = Math.min(1, this.#bytes / Math.max(1, this.#total))
    const left = share === 0 ? '' : ` · ${Math.ceil(seconds / share - seconds)} s left`
    showLine(`${Math.floor(share * 100)} % · ${count}${left}`)
  }
}

/** The total size of the files in bytes; `undefined` if one is a pipe or there are none. */
function sizeOf(files: readonly string[]): number | undefined {
  try {
    const stats = files.map((file) => statSync(file))
    if (stats.length === 0 || !stats.every((each) => each.isFile())) return undefined
    return stats.reduce((sum, { size }) => sum + size, 0)
  } catch {
    return undefined
  }
}

/** The faults of a failed command; `undefined` for an unexpected error. */
export function describeFailure(error: unknown): readonly Fault[] | undefined {
  return error instanceof UserError ? error.faults : undefined
}

/** A fault without its line: many records may have it. */
const nameFault = ({ line, cell, ...fault }: Fault) => formatFault(fault)

/** The most lines that are listed of one fault. */
const MOST_LINES = 10

function describeSame([first = { message: '' }, ...others]: readonly Fault[]): string {
  const lines = others.flatMap(({ line }) => line ?? [])
  if (lines.length === 0) return formatFault(first)
  const more = lines.length > MOST_LINES ? ', …' : ''
  const shown = lines.slice(0, MOST_LINES).join(', ')
  return `${formatFault(first)} (also in line${lines.length > 1 ? 's' : ''} ${shown}${more})`
}

/** Reports why a command failed and sets the exit status: one fault per line, or one JSON object. */
export async function reportFailure(error: unknown, json: boolean): Promise<void> {
  process.exitCode = 1
  const faults = describeFailure(error) ?? [{ message: 'internal error' }]
  const truncated = error instanceof InputRefused && error.truncated
  if (json) await writeOut(`${JSON.stringify({ faults, ...(truncated && { truncated }) })}\n`)
  if (describeFailure(error) === undefined) {
    say(`mahi: internal error: ${error instanceof Error ? error.stack : error}`)
    return
  }
  if (json) return
  for (const same of Map.groupBy(faults, nameFault).values()) say(escapeControls(describeSame(same)))
  if (!(error instanceof InputRefused)) return
  say(
    truncated
      ? `Nothing was stored: more than ${faults.length} faults. The first ${faults.length} are shown.`
      : `Nothing was stored: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}.`,
  )
}
