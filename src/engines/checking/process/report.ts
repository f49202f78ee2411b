import type { Fault } from '../../../foundation/faults/user-error.ts'

/** The messages from a child process that carries out one order: any number of steps, then how it ended. */
export type Report<Result, Progress = never> =
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] }
  | { readonly kind: 'disk' }
