import type { Reader } from '../database/database.ts'
import { formatTimestamp } from '../text/timestamp.ts'
import type { Audit } from './audit.ts'
import type { Explain } from './keys.ts'
import { isClient } from './remembered.ts'

const KEYS = 'select id, client, hash, expires, revoked from api_key order by created, id'

interface WatchedKey {
  readonly id: string
  readonly client: string
  readonly hash: string
  /** Milliseconds since 1970, as is the following. */
  readonly expires: number
  readonly revoked: number | null
}

/** Time until keys that could not be read are read again, in milliseconds. */
const RETRY = 1_000

/** Knows the keys, and tells the audit of those that are made and revoked, by whichever process, while this one runs. */
export class KeyWatch {
  readonly #reader: Reader
  readonly #audit: Audit
  /** The keys there were, by their ids; `undefined` until they have been read. */
  #known: Map<string, WatchedKey> | undefined
  #reading = false
  #again = false
  #stopped = false

  private constructor(reader: Reader, audit: Audit) {
    this.#reader = reader
    this.#audit = audit
  }

  /** Reads the keys that there are, or goes on trying where they can't be read. */
  static async start(reader: Reader, audit: Audit): Promise<KeyWatch> {
    const watch = new KeyWatch(reader, audit)
    await watch.look()
    return watch
  }

  /** Called when keys have changed. */
  async look(): Promise<void> {
    this.#again = true
    if (this.#reading) return
    this.#reading = true
    while (this.#again && !this.#stopped) {
      this.#again = false
      try {
        this.#compare(await this.#reader.all<WatchedKey>(KEYS))
      } catch {
        // The database is away, which its readers tell of.
        setTimeout(() => void this.look(), RETRY).unref()
      }
    }
    this.#reading = false
  }

  stop(): void {
    this.#stopped = true
  }

  /** From memory, so that a refusal takes as long whatever its reason. */
  readonly explain: Explain = (id, keyHash, client) => {
    const key = id === undefined ? undefined : this.#known?.get(id)
    if (key === undefined) return { refused: 'unknown' }
    const named = { id: key.id, client: key.client }
    if (key.hash !== keyHash) return { refused: 'secret', ...named }
    if (key.revoked !== null) return { refused: 'revoked', ...named }
    if (key.expires <= Date.now()) return { refused: 'expired', ...named }
    // It may also have been valid for a moment more than the database found, or less.
    return { refused: isClient(key, client) ? 'expired' : 'client', ...named }
  }

  #compare(keys: readonly WatchedKey[]): void {
    for (const { id, client, expires, revoked } of this.#known === undefined ? [] : keys) {
      const change = { key: id, client, expires: formatTimestamp(expires) }
      if (!this.#known?.has(id)) this.#audit.changed({ audit: 'made', ...change })
      const before = this.#known?.get(id)
      if (before !== undefined && (before.client !== client || before.expires !== expires))
        this.#audit.changed({ audit: 'changed', ...change })
      if ((before?.revoked ?? null) === null && revoked !== null)
        this.#audit.changed({ audit: 'revoked', ...change })
    }
    this.#known = new Map(keys.map((key) => [key.id, key]))
  }
}
