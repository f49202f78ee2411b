/** One thing that is wrong with the input of a command, and where. */
export interface Fault {
  /** The file as the user named it; `-` is standard input. */
  readonly file?: string
  /** From 1: the line on which the record starts. */
  readonly line?: number
  /** The field's path in the record, such as `minorGroups[0].minorGroup.code`. */
  readonly field?: string
  /** What is wrong and what would be right, as one sentence without a full stop. */
  readonly message: string
}

/** Most faults that one command names; it stops looking once it has found that many. */
export const MAX_FAULTS = 100

/** A command's input was refused and nothing of it was stored. */
export class InputRefused extends Error {
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(faults.map(formatFault).join('\n'))
    this.name = 'InputRefused'
    this.faults = faults
  }
}

/** `file:line: field: message`, without the parts that the fault does not have. */
export function formatFault({ file, line, field, message }: Fault): string {
  const place = file === undefined ? [] : [line === undefined ? file : `${file}:${line}`]
  return [...place, ...(field === undefined ? [] : [field]), message].join(': ')
}

/** Tells what is wrong with a place from what was read there. */
export function isFault(item: Fault | { readonly value: unknown }): item is Fault {
  return !('value' in item)
}

/** Refuses the input for a single reason. */
export function refuse(fault: Fault): never {
  throw new InputRefused([fault])
}
