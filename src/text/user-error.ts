/** One thing that is wrong, and where. */
export interface Fault {
  /** The file as the user named it; `-` is standard input. */
  readonly file?: string
  /** From 1: the line on which the record starts. */
  readonly line?: number
  /** The field's path in the record, such as `minorGroups[0].minorGroup.code`. */
  readonly field?: string
  /** What is wrong and what is allowed, as one sentence without a full stop. */
  readonly message: string
}

/**
 * A failure that the person who ran a command can act on: its faults are printed as they are. Every other error is a
 * defect of Mahi, and is printed with its stack.
 */
export class UserError extends Error {
  readonly faults: readonly Fault[]

  /** @param what the message, or each fault */
  constructor(what: string | readonly Fault[], options?: ErrorOptions) {
    const faults = typeof what === 'string' ? [{ message: what }] : what
    super(faults.map(formatFault).join('\n'), options)
    this.faults = faults
    this.name = new.target.name
  }
}

/** Ends a command for a single reason. */
export function fail(fault: Fault): never {
  throw new UserError([fault])
}

/** `file:line: field: message`, without the parts that the fault does not have. */
export function formatFault({ file, line, field, message }: Fault): string {
  const place = file === undefined ? [] : [line === undefined ? file : `${file}:${line}`]
  return [...place, ...(field === undefined ? [] : [field]), message].join(': ')
}
