import { UserError } from '../text/user-error.ts'
import type { Dialect } from './dialect.ts'

/** What a query may be given: times are whole milliseconds since 1970, as numbers; bytes come back as a Buffer. */
export type Value = string | number | Uint8Array | null

/** Reads. SQL is written once for both engines, with `$1`, `$2`, ... for the parameters. */
export interface Reader {
  readonly dialect: Dialect
  all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]>
  /** The first row, or `undefined` where there is none. */
  get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined>
}

/** Reads and writes inside one transaction. */
export interface Writer extends Reader {
  /** Runs a statement and answers how many rows it changed. */
  run(sql: string, parameters?: readonly Value[]): Promise<number>
  /** Streams rows into a table, the fastest way the engine has; answers how many. */
  load(
    table: string,
    columns: readonly string[],
    rows: AsyncIterable<readonly Value[]> | Iterable<readonly Value[]>,
  ): Promise<number>
  /** Lets the planner know what a temporary table holds, where the engine does not find out by itself. */
  analyze(table: string): Promise<void>
}

/** A reader that is told of changes, until it is stopped. It connects when it reads, as often as it takes. */
export interface Follower extends Reader {
  stop(): Promise<void>
}

/** What a transaction changes: two that change the same thing wait for each other. */
export type Lock =
  | 'schema'
  | 'catalogue'
  | 'keys'
  | 'run'
  | `submission:${string}`
  | `return:${string}`
  | QuietLock

/** Changes that no other process waits for, some of them many times a second: no follower is notified of them. */
export type QuietLock = `job:${string}` | `upload:${string}` | 'search-index'

/** Connections to a server. */
export interface PoolUse {
  readonly inUse: number
  /** Callers that wait for one. */
  readonly waiting: number
}

export interface Database extends Reader {
  /** Its connections at this moment, where it has any. */
  readonly pool?: PoolUse
  /** The address without its password, for messages. */
  readonly address: string
  /**
   * Runs `work` in one transaction, alone among those with the same lock, and commits what it wrote; when it
   * throws, nothing of it stays. `onWait` is called once if another transaction has to finish first.
   */
  write<T>(lock: Lock, work: (writer: Writer) => Promise<T>, onWait?: () => void): Promise<T>
  /** Runs `work` on one unchanging state of the database, however long it takes and whatever commits meanwhile. */
  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  /**
   * Opens a reader that waits behind nobody else's queries, to follow what other processes change: it calls `onChange`
   * soon after each of their commits, where the engine can tell and while it is connected; a poll has to stand
   * behind it.
   */
  follow(onChange: () => void): Follower
  /**
   * Overwrites what deleted rows have left in the database's files, as far as the engine can; `false` if a long read
   * prevents it for now.
   */
  scrub(): Promise<boolean>
  close(): Promise<void>
}

/** The database can't be used as it is; the message says what to do about it. */
export class DatabaseUnusable extends UserError {}

/** The database is away for the moment, or too busy: the same call may succeed later. */
export class DatabaseUnavailable extends UserError {}

/** So many callers wait for the database already that one more is turned away, for it would only wait in vain. */
export class DatabaseBusy extends DatabaseUnavailable {}
