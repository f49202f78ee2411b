import { OccupationSearch, openIndex } from '../../engines/finding/index.ts'
import type { Database } from '../../foundation/database/database.ts'
import { isSameRevision, type Revision } from '../../foundation/database/revisions.ts'
import { readIndex, readIndexState, removeDamagedIndex } from './index-store.ts'

/** Milliseconds after a failure to read the database until the next attempt. */
const RETRY = 10_000

/**
 * The stored index that serves requests. The current index serves them until a newer one replaces it as a whole. This
 * process only opens what a command or a worker has built.
 */
export class LiveIndex {
  readonly #database: Database
  readonly #onError: (error: unknown) => void
  readonly #onDamage: () => void
  #current: OccupationSearch | undefined
  #revision: Revision | undefined
  #failed = false
  #loading: Promise<void> | undefined
  #memory = new SharedArrayBuffer(0)
  #loaded: number | undefined
  /** When the index in use became outdated; `undefined` if it is current. */
  #behind: number | undefined = performance.now()
  #stale = true
  #closed = false
  #retry: NodeJS.Timeout | undefined
  /** Whether the last attempt has failed. */
  #failing = false
  readonly #listeners: (() => void)[] = []

  /**
   * @param onError called if the database could not be read, once until it can be
   * @param onDamage called when a damaged index has been removed and another one requested
   */
  constructor(database: Database, onError: (error: unknown) => void, onDamage: () => void) {
    this.#database = database
    this.#onError = onError
    this.#onDamage = onDamage
  }

  /** The index in use, once there is one. */
  get current(): OccupationSearch | undefined {
    return this.#current
  }

  /** The bytes of the index in use; 0 if there is none. */
  get bytes(): number {
    return this.#memory.byteLength
  }

  /** The index in use, packed; empty if there is none. */
  get memory(): SharedArrayBuffer {
    return this.#memory
  }

  /** Whether the index of the current catalogue could not be built: the next change of the catalogue may help. */
  get failed(): boolean {
    return this.#failed
  }

  /** Seconds since the index in use was loaded; `undefined` if there is none. */
  get age(): number | undefined {
    return this.#loaded === undefined ? undefined : (performance.now() - this.#loaded) / 1000
  }

  /** Seconds for which the catalogue has been newer than the index in use; 0 if it is not. */
  get behind(): number {
    return this.#behind === undefined ? 0 : (performance.now() - this.#behind) / 1000
  }

  /** Calls the listener whenever the index in use changes. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Loads the stored index if it is another one: called at the start, and when the catalogue or the index changes. */
  load(): Promise<void> {
    this.#stale = true
    this.#loading ??= this.#loadWhileStale()
    return this.#loading
  }

  /** The index in use; before the first one is loaded, waits for it. */
  async whenLoaded(): Promise<OccupationSearch | undefined> {
    if (this.#current === undefined) await this.#loading
    return this.#current
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#loading
  }

  async #loadWhileStale(): Promise<void> {
    clearTimeout(this.#retry)
    try {
      while (this.#stale && !this.#closed) {
        this.#stale = false
        await this.#loadOnce()
        this.#failing = false
      }
    } catch (error) {
      if (this.#closed) return
      if (!this.#failing) this.#onError(error)
      this.#failing = true
      this.#retry = setTimeout(() => void this.load(), RETRY).unref()
    } finally {
      // At once: a call that comes later must not find this load still there, which would not look again.
      this.#loading = undefined
    }
  }

  async #loadOnce(): Promise<void> {
    const { stored, failure, current } = await readIndexState(this.#database)
    this.#failed = failure !== undefined
    if (stored !== undefined && !this.#isInUse(stored.revision)) {
      const memory = await readIndex(this.#database, stored)
      const index = memory === undefined ? undefined : openIndex(memory)
      if (memory === undefined || index === undefined) {
        // Otherwise it was replaced while it was read, and its successor has been announced.
        if (await removeDamagedIndex(this.#database, stored)) this.#onDamage()
        return
      }
      this.#current = new OccupationSearch(index)
      this.#memory = memory
      this.#revision = stored.revision
      this.#loaded = performance.now()
      for (const listener of this.#listeners) listener()
    }
    if (current) this.#behind = undefined
    else this.#behind ??= performance.now()
  }

  #isInUse(revision: Revision): boolean {
    return this.#revision !== undefined && isSameRevision(revision, this.#revision)
  }
}
