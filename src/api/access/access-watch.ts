import type { Reader } from '../../foundation/database/database.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { unavailable } from '../contract/problems.ts'
import type { Audit } from './audit.ts'
import type { Explain } from './keys.ts'
import type { Principal } from './principal.ts'
import { isClient } from './remembered.ts'
import { listSuspensions, type Suspension } from './suspensions.ts'

const KEYS = 'select id, client, hash, expires, revoked from api_key order by created, id'

interface WatchedKey {
  readonly id: string
  readonly client: string
  readonly hash: string
  /** Milliseconds since 1970, as is the following. */
  readonly expires: number
  readonly revoked: number | null
}

/** Interval between attempts to read them from the database, in milliseconds. */
const RETRY = 1_000

/**
 * Keeps the keys and the suspended organisations in memory, so that no request waits for the database to know them, and
 * audits those that any process creates, revokes, suspends or resumes while this one runs.
 */
export class AccessWatch {
  readonly #reader: Reader
  readonly #audit: Audit
  /** The known keys by id; `undefined` until they have been read, like the suspended organisations. */
  #known: Map<string, WatchedKey> | undefined
  #suspended: ReadonlySet<string> | undefined
  #reading = false
  #again = false
  #stopped = false

  private constructor(reader: Reader, audit: Audit) {
    this.#reader = reader
    this.#audit = audit
  }

  /** Reads the keys and the suspensions, and tries again every second until it succeeds. */
  static async start(reader: Reader, audit: Audit): Promise<AccessWatch> {
    const watch = new AccessWatch(reader, audit)
    await watch.refresh()
    return watch
  }

  /** Reads everything again after a change. */
  async refresh(): Promise<void> {
    this.#again = true
    if (this.#reading) return
    this.#reading = true
    while (this.#again && !this.#stopped) {
      this.#again = false
      try {
        this.#replaceKeys(await this.#reader.all<WatchedKey>(KEYS))
        this.#replaceSuspended(await listSuspensions(this.#reader))
      } catch {
        // The database is unavailable, which its readers report.
        setTimeout(() => void this.refresh(), RETRY).unref()
      }
    }
    this.#reading = false
  }

  stop(): void {
    this.#stopped = true
  }

  /** @throws {Problem} `unavailable` until the suspensions have been read: a suspended organisation must not be served */
  readonly isSuspended = (eid: string): boolean => {
    if (this.#suspended === undefined)
      throw unavailable('The service has not yet read which organisations are suspended. Try again.')
    return this.#suspended.has(eid)
  }

  /** Why a credential is no longer valid that was, as far as this process knows; a JWT can only expire. */
  readonly hasEnded = ({ id, expires }: Principal): 'revoked' | 'expired' | undefined => {
    if (expires <= Date.now()) return 'expired'
    return (this.#known?.get(id)?.revoked ?? null) === null ? undefined : 'revoked'
  }

  /** From memory, so that every refusal takes the same time. */
  readonly explain: Explain = (id, keyHash, client) => {
    const key = id === undefined ? undefined : this.#known?.get(id)
    if (key === undefined) return { refused: 'unknown' }
    const named = { id: key.id, client: key.client }
    if (key.hash !== keyHash) return { refused: 'secret', ...named }
    if (key.revoked !== null) return { refused: 'revoked', ...named }
    if (key.expires <= Date.now()) return { refused: 'expired', ...named }
    // The key may also have expired between the query and now.
    return { refused: isClient(key, client) ? 'expired' : 'client', ...named }
  }

  #replaceKeys(keys: readonly WatchedKey[]): void {
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

  #replaceSuspended(suspensions: readonly Suspension[]): void {
    const before = this.#suspended
    const now = new Set(suspensions.map(({ eid }) => eid))
    this.#suspended = now
    if (before === undefined) return
    for (const eid of now) if (!before.has(eid)) this.#audit.changed({ audit: 'suspended', eid })
    for (const eid of before) if (!now.has(eid)) this.#audit.changed({ audit: 'resumed', eid })
  }
}
