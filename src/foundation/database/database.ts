import { UserError } from '../faults/user-error.ts'
import type { Dialect } from './dialect.ts'

/** A query parameter. Times are whole milliseconds since 1970; bytes are returned as a Buffer. */
export type Value = string | number | Uint8Array | null

/** Runs reads. Both engines run the same SQL, with `$1`, `$2`, ... for parameters. */
export interface Reader {
  readonly dialect: Dialect
  all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]>
  /** The first row, or `undefined` where there is none. */
  get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined>
}

/** Reads and writes within one transaction. */
export interface Writer extends Reader {
  /** Runs a statement and returns the number of changed rows. */
  run(sql: string, parameters?: readonly Value[]): Promise<number>
  /** Streams rows into a table by the engine's fastest method, and returns their number. */
  load(
    table: string,
    columns: readonly string[],
    rows: AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>,
  ): Promise<number>
  /** Updates the planner's statistics of a temporary table, if the engine does not do so itself. */
  analyze(table: string): Promise<void>
  /**
   * Takes one more lock for the rest of the transaction. `onWait` is called if another transaction must finish first.
   */
  lock(lock: Lock, onWait?: () => void): Promise<void>
}

/** A reader with a connection of its own until it is stopped. It reconnects on a read when necessary. */
export interface Follower extends Reader {
  stop(): Promise<void>
}

/** What a transaction changes. Transactions with the same lock run one after the other. */
export type Lock =
  | 'schema'
  | 'catalogue'
  | 'keys'
  | 'search'
  | 'run'
  | 'codings'
  | `submission:${string}`
  | `return:${string}`
  | `job:${string}`
  | `draft:${string}`

/** The use of a connection pool. */
export interface PoolUse {
  readonly inUse: number
  /** Callers that wait for a connection. */
  readonly waiting: number
}

export interface Database extends Reader {
  /** The use of its connection pool; SQLite has none. */
  readonly pool?: PoolUse
  /** The database URL without its password, for messages. */
  readonly address: string
  /**
   * Runs `work` in a transaction and commits it, or rolls it back if `work` throws. Transactions with the same lock
   * run one at a time, in the order of the calls within a process, where waiting takes no connection. What `work` reads
   * is the state after the transactions before it. `onWait` is called once if another transaction must finish first.
   */
  write<T>(lock: Lock, work: (writer: Writer) => Promise<T>, onWait?: () => void): Promise<T>
  /** Runs `work` on a consistent snapshot of the database, however long it takes. */
  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  /** Opens a connection for reads that must not wait for those of callers. */
  follow(): Follower
  /**
   * Overwrites deleted rows in the database files, as far as the engine can; returns `false` if a long read prevents
   * it for now.
   */
  scrub(): Promise<boolean>
  /**
   * Call before one of many transactions that store data together: after a failure of a later one there must be room
   * left to delete the earlier ones.
   *
   * @throws {DatabaseFull}
   */
  assertRoom(bytes: number): Promise<void>
  close(): Promise<void>
}

/** The database cannot be used in its present state; the message says how to fix this. */
export class DatabaseUnusable extends UserError {}

/** There is no disk space left. Nothing was changed. */
export class DatabaseFull extends DatabaseUnusable {}

/** The database is temporarily unavailable or too busy: the same call may succeed later. */
export class DatabaseUnavailable extends UserError {}

/** Too many callers are already waiting for the database: another one would wait in vain. */
export class DatabaseBusy extends DatabaseUnavailable {}
