import type { Fault } from '../../../foundation/faults/user-error.ts'

/** The only message from a child process that carries out one order. */
export type Report<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] }
  | { readonly kind: 'disk' }
