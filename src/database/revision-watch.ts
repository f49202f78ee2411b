import type { Reader } from './database.ts'
import { type Revision, type RevisionName, readRevisions } from './revisions.ts'

/** How often the revisions are read, in milliseconds: a change shows everywhere within a second. */
const POLL_INTERVAL = 250

/** Follows the revisions of a database, whichever process changes them. */
export class RevisionWatch {
  current: Readonly<Record<RevisionName, Revision>>
  readonly #reader: Reader
  readonly #listeners: { name: RevisionName; listener: (revision: Revision) => void }[] = []
  readonly #timer: NodeJS.Timeout
  #reading: Promise<void> | undefined

  private constructor(reader: Reader, current: Readonly<Record<RevisionName, Revision>>) {
    this.#reader = reader
    this.current = current
    this.#timer = setInterval(() => void this.refresh().catch(() => undefined), POLL_INTERVAL).unref()
  }

  static async start(reader: Reader): Promise<RevisionWatch> {
    return new RevisionWatch(reader, await readRevisions(reader))
  }

  /** Calls the listener with each revision that differs from the one before. */
  on(name: RevisionName, listener: (revision: Revision) => void): void {
    this.#listeners.push({ name, listener })
  }

  /** Reads the revisions now. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #read(): Promise<void> {
    const before = this.current
    this.current = await readRevisions(this.#reader)
    for (const { name, listener } of this.#listeners) {
      const { number, changed } = this.current[name]
      if (number !== before[name].number || changed !== before[name].changed) listener(this.current[name])
    }
  }
}
