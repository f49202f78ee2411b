import { type Database, DatabaseUnavailable, type Reader, type Value } from './database.ts'

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
  #probe: NodeJS.Timeout | undefined

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
    clearTimeout(this.#probe)
    await this.#standby.close()
  }

  async #read<T>(query: (reader: Reader) => Promise<T>): Promise<T> {
    if (!this.#available) return await query(this.#primary)
    try {
      return await query(this.#standby)
    } catch (error) {
      // Anything else, such as a query that the standby cancelled to go on replaying, is a matter of this one query.
      if (error instanceof DatabaseUnavailable) this.#leave(error)
      return await query(this.#primary)
    }
  }

  #leave(reason: unknown): void {
    if (!this.#available) return
    this.#available = false
    this.#onChange(false, reason)
    this.#scheduleProbe()
  }

  #scheduleProbe(): void {
    this.#probe = setTimeout(async () => {
      try {
        await this.#standby.get('select name from migration limit 1')
        this.#available = true
        this.#onChange(true)
      } catch {
        this.#scheduleProbe()
      }
    }, RETRY_INTERVAL).unref()
  }
}
