import { type Fault, UserError } from '../text/user-error.ts'

/** Most faults that one command names; it stops looking once it has found that many. */
export const MAX_FAULTS = 100

/** A command's input was refused and nothing of it was stored. */
export class InputRefused extends UserError {
  constructor(faults: readonly Fault[]) {
    super(faults)
  }
}

/** Tells what is wrong with a place from what was read there. */
export function isFault(item: Fault | { readonly value: unknown }): item is Fault {
  return !('value' in item)
}

/** Refuses the input for a single reason. */
export function refuse(fault: Fault): never {
  throw new InputRefused([fault])
}
