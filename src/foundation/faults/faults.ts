import { type Fault, UserError } from './user-error.ts'

/** The most faults that one command reports; it stops looking after one more. */
export const MAX_FAULTS = 100

/** A command rejected its input and stored none of it. */
export class InputRefused extends UserError {
  /** Whether there are more faults than those listed. */
  readonly truncated: boolean

  constructor(faults: readonly Fault[], { truncated = false }: { truncated?: boolean } = {}) {
    super(faults)
    this.truncated = truncated
  }
}

/** Collects the faults of an input: the first `MAX_FAULTS`, and whether there are more. */
export class FaultList {
  readonly #faults: Fault[] = []
  #truncated = false

  /** Whether there are more faults than will be reported, so that looking for others is pointless. */
  get truncated(): boolean {
    return this.#truncated
  }

  get found(): boolean {
    return this.#faults.length > 0
  }

  add(faults: readonly Fault[]): void {
    const room = MAX_FAULTS - this.#faults.length
    this.#faults.push(...faults.slice(0, room))
    if (faults.length > room) this.#truncated = true
  }

  /** @throws {InputRefused} if a fault was added */
  throwIfFound(): void {
    if (this.found) throw new InputRefused(this.#faults, { truncated: this.#truncated })
  }
}

/** Distinguishes a fault from a value. */
export function isFault(item: Fault | { readonly value: unknown }): item is Fault {
  return !('value' in item)
}

/** Rejects the input for a single reason. */
export function refuse(fault: Fault): never {
  throw new InputRefused([fault])
}
