import type { Target } from './wire.ts'

/** One way to use more of the service than is fair. */
export interface Attack {
  readonly name: string
  readonly caller: 'anonymous' | 'key'
  /** Attacks until the signal. */
  run(target: Target, signal: AbortSignal): Promise<void>
}

export function attack(name: string, caller: Attack['caller'], run: Attack['run']): Attack {
  return { name, caller, run }
}
