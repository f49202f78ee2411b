import { type Database, DatabaseBusy, type Reader, type Value } from './database.ts'
import { isReplayConflict } from './postgres-errors.ts'
import { StandbyCheck } from './standby-check.ts'

/** How often a standby is looked at, whether it is used or away, in milliseconds. */
const LOOK_INTERVAL = 1_000

/** Told when reads begin to go to the primary, and why, and when they go to the standby again. */
export type OnStandbyChange = (available: boolean, reason?: unknown) => void

export interface StandbyOptions {
  readonly standby: Database
  readonly primary: Reader
  /** Seconds by which the standby may be behind; beyond them reads go to the primary. */
  readonly maxLag?: number | undefined
  readonly onChange: OnStandbyChange
}

/**
 * Reads from standbys, and from the primary while they are away, are too far behind or do not belong to it. A standby
 * may lag: its responses carry its own revision and run, so they are never taken for newer than they are.
 */
export class StandbyReader implements Reader {
  readonly dialect
  readonly #standby: Database
  readonly #primary: Reader
  readonly #maxLag: number
  readonly #onChange: OnStandbyChange
  readonly #check: StandbyCheck
  #available = false
  /** What was last said about why it is not available. */
  #said: string | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  private constructor({ standby, primary, maxLag, onChange }: StandbyOptions) {
    this.dialect = primary.dialect
    this.#standby = standby
    this.#primary = primary
    this.#maxLag = maxLag ?? Number.POSITIVE_INFINITY
    this.#onChange = onChange
    this.#check = new StandbyCheck(standby, primary)
  }

  /** Answers once it is known whether the standby can be used. */
  static async start(options: StandbyOptions): Promise<StandbyReader> {
    const reader = new StandbyReader(options)
    await reader.#look()
    return reader
  }

  get available(): boolean {
    return this.#available
  }

  /** Seconds by which the standby is behind, as of the last look; `undefined` where it is not known. */
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
      // Too many callers for the standby are not to take the primary down as well.
      if (error instanceof DatabaseBusy) throw error
      // A query that the standby cancelled to go on replaying is a matter of this one query.
      if (!isReplayConflict(error)) this.#leave(error)
      return await query(this.#primary)
    }
  }

  /** Looks at the standby, now and from then on. */
  async #look(): Promise<void> {
    try {
      const reason = await this.#check.look()
      const { lag = 0 } = this.#check
      if (reason !== undefined) this.#leave(new StandbyRefused(reason))
      else if (lag > this.#maxLag)
        this.#leave(new StandbyRefused(`it is more than ${this.#maxLag} s behind the primary`))
      else this.#return()
    } catch (error) {
      this.#leave(error)
    }
    if (!this.#closed) this.#timer = setTimeout(() => void this.#look(), LOOK_INTERVAL).unref()
  }

  #leave(reason: unknown): void {
    if (this.#closed) return
    this.#available = false
    const said = reason instanceof StandbyRefused ? reason.message : 'away'
    if (this.#said === said) return
    this.#said = said
    this.#onChange(false, reason)
  }

  #return(): void {
    if (this.#closed || this.#available) return
    this.#available = true
    // At the start nothing has been said yet, and it is no news that it is there.
    if (this.#said !== undefined) this.#onChange(true)
    this.#said = undefined
  }
}

/** The standby answers, and must not be used. */
export class StandbyRefused extends Error {}
