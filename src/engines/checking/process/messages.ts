import type { Fault } from '../../../foundation/faults/user-error.ts'
import type { EngineInput, EngineProgress } from '../engine/run.ts'
import type { CheckSummary } from '../engine/summary.ts'

/** The message from the parent to the child process. */
export interface Order {
  readonly input: EngineInput
}

/** The messages from the child process. */
export type Answer =
  | { readonly kind: 'progress'; readonly progress: EngineProgress }
  | { readonly kind: 'done'; readonly summary: CheckSummary }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] }
  | { readonly kind: 'disk' }
