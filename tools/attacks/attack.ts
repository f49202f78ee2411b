import { type Limits, USUAL } from './promises.ts'
import type { Target } from './wire.ts'

/** One way to use more of the service than is fair. */
export interface Attack {
  readonly name: string
  readonly caller: 'anonymous' | 'key'
  /** What holds during it, besides what holds during every attack. */
  readonly promise: string
  readonly limits: Limits
  /** Attacks until the signal. It throws if a response breaks the promise. */
  run(target: Target, signal: AbortSignal): Promise<void>
}

export function attack(
  name: string,
  caller: Attack['caller'],
  promise: string,
  run: Attack['run'],
  limits: Partial<Limits> = {},
): Attack {
  return { name, caller, promise, limits: { ...USUAL, ...limits }, run }
}
