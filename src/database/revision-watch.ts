import type { Database, Follower, Reader } from './database.ts'
import { type Revision, type RevisionName, readRevisions } from './revisions.ts'

/** How often the revisions are read, in milliseconds: a change shows everywhere within a second. */
const POLL_INTERVAL = 250

/** How long it may take before a database that does not answer counts as lost, in milliseconds: a lost connection is none. */
const LOST_AFTER = 1_000

/** How long the revisions may stay unread before nobody can tell any more what has changed, in milliseconds. */
const BLIND_AFTER = 5_000

/** Told whether the database answers, and otherwise why not. */
type OnReach = (reached: boolean, reason?: unknown) => void

type Revisions = Readonly<Record<RevisionName, Revision>>

/**
 * Follows the revisions of a database, whichever process changes them: by notification where the database can
 * notify, and by a poll below it.
 */
export class RevisionWatch {
  current: Revisions
  readonly #database: Reader
  readonly #follower: Follower
  readonly #listeners: { name: RevisionName; listener: (revision: Revision) => void }[] = []
  readonly #blindListeners: (() => void)[] = []
  readonly #sightListeners: (() => void)[] = []
  #onReach: OnReach = () => undefined
  #reached = true
  readonly #timer: NodeJS.Timeout
  #reading: Promise<void> | undefined
  #next: Promise<void> | undefined
  /** When the revisions were last read, on a clock that nobody sets. */
  #read = performance.now()

  private constructor(database: Reader, follower: Follower, current: Revisions) {
    this.#database = database
    this.#follower = follower
    this.current = current
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL).unref()
  }

  static async start(database: Database): Promise<RevisionWatch> {
    let watch: RevisionWatch | undefined
    const follower = database.follow(() => void watch?.refresh().catch(() => undefined))
    try {
      watch = new RevisionWatch(database, follower, await readRevisions(follower))
      return watch
    } catch (error) {
      await follower.stop()
      throw error
    }
  }

  /** Calls the listener with each revision that differs from the one before. */
  on(name: RevisionName, listener: (revision: Revision) => void): void {
    this.#listeners.push({ name, listener })
  }

  /** Calls the listener, more than once, while the database has been away too long to know what has changed. */
  onBlind(listener: () => void): void {
    this.#blindListeners.push(listener)
  }

  /** Calls the listener when the revisions are known again after that. */
  onSight(listener: () => void): void {
    this.#sightListeners.push(listener)
  }

  /** Calls the listener once when the database is lost, whether or not anybody asks for anything, and once when it is back. */
  onReach(listener: OnReach): void {
    this.#onReach = listener
  }

  /** Whether the database answered lately. */
  get reached(): boolean {
    return this.#reached
  }

  /** Seconds since the revisions were last read. */
  get age(): number {
    return (performance.now() - this.#read) / 1000
  }

  /** Whether the database has been away too long to know what has changed. */
  get blind(): boolean {
    return performance.now() - this.#read > BLIND_AFTER
  }

  /** Reads the revisions as they are now: not before this call. */
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

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#follower.stop()
  }

  #poll(): void {
    if (this.blind) for (const listener of this.#blindListeners) listener()
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
    const wasBlind = this.blind
    this.#read = performance.now()
    if (!this.#reached) this.#onReach(true)
    this.#reached = true
    if (wasBlind) for (const listener of this.#sightListeners) listener()
    for (const { name, listener } of this.#listeners) {
      const { number, changed } = this.current[name]
      if (number !== before[name].number || changed !== before[name].changed) listener(this.current[name])
    }
  }

  /**
   * Over the connection that follows changes, or else over those that answer requests: the server may refuse one more
   * connection, as where a user may only have so many, and still answer over those that it has.
   */
  async #readRevisions(): Promise<Revisions> {
    try {
      return await readRevisions(this.#follower)
    } catch (reason) {
      try {
        return await readRevisions(this.#database)
      } catch {
        this.#miss(reason)
        throw reason
      }
    }
  }

  #miss(reason: unknown): void {
    if (!this.#reached || performance.now() - this.#read < LOST_AFTER) return
    this.#reached = false
    this.#onReach(false, reason)
  }
}
