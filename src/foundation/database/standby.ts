import { type Database, DatabaseBusy, type Reader, type Value } from './database.ts'
import { isReplayConflict } from './postgres-errors.ts'
import type { Standby } from './servers.ts'
import { StandbyCheck } from './standby-check.ts'

/** Interval between checks of a standby, in milliseconds. */
const CHECK_INTERVAL = 1_000

/** Called when reads move to the primary, with the reason, and when they return to the standby. */
export type OnStandbyChange = (available: boolean, reason?: unknown) => void

export interface StandbyOptions {
  readonly standby: Database
  readonly primary: Reader
  /** The lag, in seconds, above which reads go to the primary. */
  readonly maxLag: number
  readonly onChange: OnStandbyChange
}

/**
 * Reads from standbys, and from the primary while they are away, lag too far behind or do not belong to it. A standby
 * that is in use may still lag, so callers check that it has the state they need (`readAtStandby`).
 */
export class StandbyReader implements Standby {
  readonly dialect
  readonly #standby: Database
  readonly #primary: Reader
  readonly #maxLag: number
  readonly #onChange: OnStandbyChange
  readonly #check: StandbyCheck
  #available = false
  #complete = false
  /** The last reported reason why it is not available. */
  #reported: string | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  private constructor({ standby, primary, maxLag, onChange }: StandbyOptions) {
    this.dialect = primary.dialect
    this.#standby = standby
    this.#primary = primary
    this.#maxLag = maxLag
    this.#onChange = onChange
    this.#check = new StandbyCheck(standby, primary)
  }

  /** Resolves once it is known whether the standby can be used. */
  static async start(options: StandbyOptions): Promise<StandbyReader> {
    const reader = new StandbyReader(options)
    await reader.#checkRepeatedly()
    return reader
  }

  get available(): boolean {
    return this.#available
  }

  /** Whether it had replayed the newest known position of the primary at the last check. */
  get complete(): boolean {
    return this.#available && this.#complete
  }

  /** The lag at the last check, in seconds; `undefined` if unknown. */
  get lag(): number | undefined {
    return this.#check.lag
  }

  all<Row>(sql: string, parameters?: readonly Value[]): Promise<Row[]> {
    return this.#read((reader) => reader.all<Row>(sql, parameters))
  }

  get<Row>(sql: string, parameters?: readonly Value[]): Promise<Row | undefined> {
    return this.#read((reader) => reader.get<Row>(sql, parameters))
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#standby.close()
  }

  async #read<T>(query: (reader: Reader) => Promise<T>): Promise<T> {
    if (!this.#available) return await query(this.#primary)
    try {
      return await query(this.#standby)
    } catch (error) {
      // An overloaded standby must not overload the primary as well.
      if (error instanceof DatabaseBusy) throw error
      // A cancelled query says nothing about the standby's health.
      if (!isReplayConflict(error)) this.#leave(error)
      return await query(this.#primary)
    }
  }

  /** Checks the standby now, and then at intervals. */
  async #checkRepeatedly(): Promise<void> {
    try {
      const reason = await this.#check.check()
      const { lag = 0 } = this.#check
      this.#complete = lag === 0
      if (reason !== undefined) this.#leave(new StandbyUnusable(reason))
      else if (lag > this.#maxLag)
        this.#leave(new StandbyUnusable(`it is more than ${this.#maxLag} s behind the primary`))
      else this.#return()
    } catch (error) {
      this.#leave(error)
    }
    if (!this.#closed) this.#timer = setTimeout(() => void this.#checkRepeatedly(), CHECK_INTERVAL).unref()
  }

  #leave(reason: unknown): void {
    if (this.#closed) return
    this.#available = false
    const summary = reason instanceof StandbyUnusable ? reason.message : 'away'
    if (this.#reported === summary) return
    this.#reported = summary
    this.#onChange(false, reason)
  }

  #return(): void {
    if (this.#closed || this.#available) return
    this.#available = true
    // Nothing was reported before the first check, so availability is no news.
    if (this.#reported !== undefined) this.#onChange(true)
    this.#reported = undefined
  }
}

/** The standby responds, but must not be used. */
export class StandbyUnusable extends Error {}
