import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, DatabaseBusy, type Reader, type Value } from './database.ts'
import { isMigrated } from './migrate.ts'
import { isReplayConflict } from './postgres-errors.ts'

/** How often a standby that was away is asked whether it is back, in milliseconds. */
const RETRY_INTERVAL = 1_000

/** Told when reads begin to go to the primary, and when they go to the standby again. */
export type OnStandbyChange = (available: boolean, reason?: unknown) => void

/**
 * Reads from standbys, and from the primary while they are away. A standby may lag: what it answers carries its own
 * revision and run, so it is never taken for newer than it is.
 */
export class StandbyReader implements Reader {
  readonly dialect
  readonly #standby: Database
  readonly #primary: Reader
  readonly #onChange: OnStandbyChange
  #available = true
  #closed = false

  constructor(standby: Database, primary: Reader, onChange: OnStandbyChange) {
    this.dialect = primary.dialect
    this.#standby = standby
    this.#primary = primary
    this.#onChange = onChange
  }

  get available(): boolean {
    return this.#available
  }

  all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]> {
    return this.#read((reader) => reader.all<Row>(sql, parameters))
  }

  get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    return this.#read((reader) => reader.get<Row>(sql, parameters))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#standby.close()
  }

  async #read<T>(query: (reader: Reader) => Promise<T>): Promise<T> {
    if (!this.#available) return await query(this.#primary)
    try {
      return await query(this.#standby)
    } catch (error) {
      // Too many callers for the standby are not to take the primary down as well.
      if (error instanceof DatabaseBusy) throw error
      // A query that the standby cancelled to go on replaying is a matter of this one query.
      if (!isReplayConflict(error)) this.#leave(error)
      return await query(this.#primary)
    }
  }

  #leave(reason: unknown): void {
    if (!this.#available || this.#closed) return
    this.#available = false
    this.#onChange(false, reason)
    void this.#untilItIsBack()
  }

  async #untilItIsBack(): Promise<void> {
    do {
      await sleep(RETRY_INTERVAL, undefined, { ref: false })
      if (this.#closed) return
    } while (!(await isMigrated(this.#standby).catch(() => false)))
    this.#available = true
    this.#onChange(true)
  }
}
