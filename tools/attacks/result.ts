import type { Engine } from '../../bench/empty-database.ts'
import type { Attack } from './attack.ts'

const MB = 2 ** 20
/** The limit of `mahi serve` in deploy/. */
export const SERVE_LIMIT = 512 * MB
/** The limit of `mahi work` in deploy/. */
export const WORK_LIMIT = 1024 * MB
/**
 * What a process may use more if it runs from its sources instead of a build: 24 MB at rest, and garbage that a machine
 * busy with other tests has not collected yet.
 */
export const SOURCES = 80 * MB

export interface AttackOptions {
  readonly engine: Engine
  readonly postgres: string | undefined
  readonly attacks: readonly Attack[]
  /** Of one attack alone, in milliseconds. */
  readonly length: number
  /** Of all attacks of a caller at once, in milliseconds; 0 for none. */
  readonly together: number
  /**
   * How often a server starts whose catalogue is large and not indexed, and, on PostgreSQL, once beside a dead standby;
   * 0 to leave that out.
   */
  readonly restarts: number
  /** The file to run, `bin/mahi.js` or a build. */
  readonly program: string
  /** Whether the program runs from its sources. */
  readonly sources: boolean
  /** How many times as long something may take as promised, on a machine that is busy with other work. */
  readonly slack: number
  readonly onResult?: (result: AttackResult) => void
}

export interface AttackResult {
  readonly name: string
  /** The most bytes of the process since its start. */
  readonly serve: number
  readonly work: number
  /** The most bytes that the kernel held for connections of `mahi serve`; `undefined` if that cannot be measured. */
  readonly sockets: number | undefined
  /** The slowest response of `/livez` and `/readyz`, in milliseconds. */
  readonly health: number
  /** The slowest response of the well-behaved caller, in milliseconds. */
  readonly response: number
  /** Median of the well-behaved caller's response times, divided by that without an attack. */
  readonly ratio: number
  readonly responses: number
  readonly unavailable: number
  readonly faults: readonly string[]
}
