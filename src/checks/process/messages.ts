import type { Fault } from '../../text/user-error.ts'
import type { EngineInput, EngineProgress } from '../engine/run.ts'
import type { CheckSummary } from '../engine/summary.ts'

/** What the parent sends to the process that checks. */
export interface Order {
  readonly input: EngineInput
}

/** What that process sends back. */
export type Answer =
  | { readonly kind: 'progress'; readonly progress: EngineProgress }
  | { readonly kind: 'done'; readonly summary: CheckSummary }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] }
  | { readonly kind: 'disk' }
