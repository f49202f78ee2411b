/** One error in the input, and its place. */
export interface Fault {
  /** The file name as the user gave it; `-` is standard input. */
  readonly file?: string
  /** The line on which the record starts, from 1. */
  readonly line?: number
  /** The path of the field in the record, such as `minorGroups[0].minorGroup.code`. */
  readonly field?: string
  /** The name of the column in the user's own table. */
  readonly column?: string
  /** The cell of a spreadsheet, such as `F17`. */
  readonly cell?: string
  /** What is wrong and what is allowed: one sentence without a full stop. */
  readonly message: string
}

/**
 * An error that the user can fix. Its faults are printed without a stack trace. Every other error is a bug in Mahi,
 * and is printed with its stack trace.
 */
export class UserError extends Error {
  readonly faults: readonly Fault[]

  /** @param what the message, or the faults */
  constructor(what: string | readonly Fault[], options?: ErrorOptions) {
    const faults = typeof what === 'string' ? [{ message: what }] : what
    super(faults.map(formatFault).join('\n'), options)
    this.faults = faults
    this.name = new.target.name
  }
}

/** Throws a `UserError` with a single fault. */
export function fail(fault: Fault): never {
  throw new UserError([fault])
}

/** Formats a fault as `file:line: column (cell): field: message`, without the parts that it lacks. */
export function formatFault({ file, line, column, cell, field, message }: Fault): string {
  const place = file === undefined ? [] : [line === undefined ? file : `${file}:${line}`]
  const names = [...new Set([column, field].filter((name) => name !== undefined))]
  if (cell !== undefined) names[0] = names[0] === undefined ? cell : `${names[0]} (${cell})`
  return [...place, ...names, message].join(': ')
}
