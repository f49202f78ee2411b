import type { Measurement } from '../telemetry/metrics.ts'
import type { Operation } from './contract.ts'

/** A part of the service, which its wing creates: what it serves, what it measures, and how it stops. */
export interface Part {
  readonly operations: readonly Operation[]
  readonly metrics: readonly Measurement[]
  stop(): unknown
}
