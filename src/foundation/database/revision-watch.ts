import type { Database, Follower, Reader } from './database.ts'
import { type Revision, type RevisionName, readRevisions } from './revisions.ts'

/** How often the revisions are read, in milliseconds: a change is visible everywhere within a second. */
const POLL_INTERVAL = 250

/**
 * How long the database may fail to respond before it counts as lost, in milliseconds. A dropped connection alone
 * does not count.
 */
const LOST_AFTER = 1_000

/** How long the revisions may stay unread before they count as stale, in milliseconds. */
const STALE_AFTER = 5_000

/** Called with whether the database responds, and with the reason if it does not. */
type OnReachable = (reachable: boolean, reason?: unknown) => void

type Revisions = Readonly<Record<RevisionName, Revision>>

/** Follows the revisions of a database, whichever process changes them, by polling: four rows, four times a second. */
export class RevisionWatch {
  current: Revisions
  readonly #database: Reader
  readonly #follower: Follower
  readonly #listeners: { name: RevisionName; listener: (revision: Revision) => void }[] = []
  readonly #staleListeners: (() => void)[] = []
  readonly #freshListeners: (() => void)[] = []
  #onReachable: OnReachable = () => undefined
  #reachable = true
  readonly #timer: NodeJS.Timeout
  #reading: Promise<void> | undefined
  #probing: Promise<void> | undefined
  #next: Promise<void> | undefined
  /** When the revisions were last read, by the monotonic clock. */
  #read = performance.now()

  private constructor(database: Reader, follower: Follower, current: Revisions) {
    this.#database = database
    this.#follower = follower
    this.current = current
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL).unref()
  }

  static async start(database: Database): Promise<RevisionWatch> {
    const follower = database.follow()
    try {
      return new RevisionWatch(database, follower, await readRevisions(follower))
    } catch (error) {
      await follower.stop()
      throw error
    }
  }

  /** Calls the listener with each new revision. */
  on(name: RevisionName, listener: (revision: Revision) => void): void {
    this.#listeners.push({ name, listener })
  }

  /** Calls the listener repeatedly while the revisions are stale. */
  onStale(listener: () => void): void {
    this.#staleListeners.push(listener)
  }

  /** Calls the listener when the revisions are known again after having been stale. */
  onFresh(listener: () => void): void {
    this.#freshListeners.push(listener)
  }

  /**
   * Calls the listener once when the database becomes unavailable and once when it is back, even without requests.
   */
  onReachable(listener: OnReachable): void {
    this.#onReachable = listener
  }

  /** Whether the database has responded recently. */
  get reachable(): boolean {
    return this.#reachable
  }

  /** The time since the revisions were last read, in seconds. */
  get age(): number {
    return (performance.now() - this.#read) / 1000
  }

  /** Whether the revisions have been unread for too long to know what has changed. */
  get stale(): boolean {
    return performance.now() - this.#read > STALE_AFTER
  }

  /** Reads the current revisions, with a read that starts after this call. */
  refresh(): Promise<void> {
    if (this.#reading === undefined) return this.#begin()
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.refresh()
      })
    return this.#next
  }

  /** Queries the tables, with one query for all concurrent callers; rejects if the database does not respond. */
  probe(): Promise<void> {
    this.#probing ??= this.#ask((reader) => reader.get('select name from migration limit 1'))
      .then(() => undefined)
      .finally(() => {
        this.#probing = undefined
      })
    return this.#probing
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#follower.stop()
  }

  #poll(): void {
    if (this.stale) for (const listener of this.#staleListeners) listener()
    if (this.#reading === undefined) this.#begin().catch(() => undefined)
  }

  #begin(): Promise<void> {
    this.#reading = this.#compare().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #compare(): Promise<void> {
    const before = this.current
    this.current = await this.#readRevisions()
    const wasStale = this.stale
    this.#read = performance.now()
    if (!this.#reachable) this.#onReachable(true)
    this.#reachable = true
    if (wasStale) for (const listener of this.#freshListeners) listener()
    for (const { name, listener } of this.#listeners) {
      const { number, changed } = this.current[name]
      if (number !== before[name].number || changed !== before[name].changed) listener(this.current[name])
    }
  }

  async #readRevisions(): Promise<Revisions> {
    return await this.#ask(readRevisions).catch((reason: unknown) => {
      this.#miss(reason)
      throw reason
    })
  }

  /**
   * Reads over the following connection, or else over the pool: a server may refuse one more connection, for example
   * because of a user's limit, and still serve the existing ones.
   */
  async #ask<T>(query: (reader: Reader) => Promise<T>): Promise<T> {
    try {
      return await query(this.#follower)
    } catch (reason) {
      return await query(this.#database).catch(() => {
        throw reason
      })
    }
  }

  #miss(reason: unknown): void {
    if (!this.#reachable || performance.now() - this.#read < LOST_AFTER) return
    this.#reachable = false
    this.#onReachable(false, reason)
  }
}
