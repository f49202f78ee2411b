import type { Database, Follower } from './database.ts'
import { type Revision, type RevisionName, readRevisions } from './revisions.ts'

/** How often the revisions are read, in milliseconds: a change shows everywhere within a second. */
const POLL_INTERVAL = 250

/** How long the revisions may stay unread before nobody can tell any more what has changed, in milliseconds. */
const BLIND_AFTER = 5_000

type Revisions = Readonly<Record<RevisionName, Revision>>

/**
 * Follows the revisions of a database, whichever process changes them: by notification where the database can
 * notify, and by a poll below it.
 */
export class RevisionWatch {
  current: Revisions
  readonly #follower: Follower
  readonly #listeners: { name: RevisionName; listener: (revision: Revision) => void }[] = []
  readonly #blindListeners: (() => void)[] = []
  readonly #timer: NodeJS.Timeout
  #reading: Promise<void> | undefined
  #next: Promise<void> | undefined
  /** When the revisions were last read, on a clock that nobody sets. */
  #read = performance.now()

  private constructor(follower: Follower, current: Revisions) {
    this.#follower = follower
    this.current = current
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL).unref()
  }

  static async start(database: Database): Promise<RevisionWatch> {
    let watch: RevisionWatch | undefined
    const follower = database.follow(() => void watch?.refresh().catch(() => undefined))
    try {
      watch = new RevisionWatch(follower, await readRevisions(follower))
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
    if (performance.now() - this.#read > BLIND_AFTER) for (const listener of this.#blindListeners) listener()
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
    this.current = await readRevisions(this.#follower)
    this.#read = performance.now()
    for (const { name, listener } of this.#listeners) {
      const { number, changed } = this.current[name]
      if (number !== before[name].number || changed !== before[name].changed) listener(this.current[name])
    }
  }
}
