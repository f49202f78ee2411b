import type { Reader } from '../../foundation/database/database.ts'
import type { RevisionWatch } from '../../foundation/database/revision-watch.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { unavailable } from '../request/problems.ts'
import type { Audit } from './audit.ts'
import { hashCredential, idOf, type KeyUse, readStoredKeys, type StoredKey } from './keys.ts'
import { isClient, type Principal, type Refused, type Verifier } from './principal.ts'
import { listSuspensions } from './suspensions.ts'

/** Interval between attempts to read the database, in milliseconds. */
const RETRY = 1_000

/**
 * The keys and the suspended organisations in memory, as they are in the database. Verifying a key therefore reads
 * nothing, and every refusal takes the same time. Audits the keys that any process creates, changes or revokes and the
 * organisations that it suspends or resumes while this one runs.
 */
export class AccessState implements Verifier {
  readonly #reader: Reader
  readonly #revisions: RevisionWatch
  readonly #audit: Audit
  readonly #use: KeyUse
  /** The keys by id, and by the hash of the whole key; `undefined` until they have been read, as the following. */
  #keys: ReadonlyMap<string, StoredKey> | undefined
  #byHash: ReadonlyMap<string, StoredKey> = new Map()
  #suspended: ReadonlySet<string> | undefined
  /** Whether they are those of the database: while it cannot be read, a key may have been revoked. */
  #current = false
  #reading: Promise<void> | undefined
  #again = false
  #retry: NodeJS.Timeout | undefined

  private constructor(reader: Reader, revisions: RevisionWatch, audit: Audit, use: KeyUse) {
    this.#reader = reader
    this.#revisions = revisions
    this.#audit = audit
    this.#use = use
  }

  /** Reads the keys and the suspensions, and tries again every second until it succeeds. */
  static async start(
    reader: Reader,
    revisions: RevisionWatch,
    audit: Audit,
    use: KeyUse,
  ): Promise<AccessState> {
    const state = new AccessState(reader, revisions, audit, use)
    const outdate = () => {
      state.#current = false
    }
    revisions.on('keys', () => {
      outdate()
      state.#refresh()
    })
    revisions.onStale(outdate)
    revisions.onFresh(() => state.#refresh())
    await state.#read().catch(() => state.#refresh())
    return state
  }

  stop(): void {
    clearTimeout(this.#retry)
  }

  recall(key: string, client: string | undefined): Principal | undefined {
    const principal = this.#current ? this.#findValid(key, client) : undefined
    if (principal !== undefined) this.#use.mark(principal.id)
    return principal
  }

  knows(key: string, client: string | undefined): boolean {
    return this.#findValid(key, client) !== undefined
  }

  /** Reads what another process may have just changed, once for all that wait for it. */
  readonly refresh = async (): Promise<void> => {
    await this.#revisions.refresh()
    await (this.#current ? this.#reading : this.#read())
  }

  /** Makes sure that the keys and the suspensions are those of the database, also for who has no key. */
  readonly ensureCurrent = async (): Promise<void> => {
    if (!this.#current) await this.#read()
  }

  async verify(key: string, client: string | undefined): Promise<Principal | Refused> {
    await this.refresh()
    return this.recall(key, client) ?? this.#explain(key, client)
  }

  /** Why a credential is no longer valid that was, as far as this process knows; a JWT can only expire. */
  readonly hasEnded = ({ id, expires }: Principal): 'revoked' | 'expired' | undefined => {
    if (expires <= Date.now()) return 'expired'
    return (this.#keys?.get(id)?.revoked ?? null) === null ? undefined : 'revoked'
  }

  /** @throws {Problem} `unavailable` until the suspensions have been read: a suspended organisation must not be served */
  readonly isSuspended = (eid: string): boolean => {
    if (this.#suspended === undefined)
      throw unavailable('The service has not yet read which organisations are suspended. Try again.')
    return this.#suspended.has(eid)
  }

  #findValid(key: string, client: string | undefined): Principal | undefined {
    const { principal, revoked } = this.#byHash.get(hashCredential(key)) ?? {}
    if (principal === undefined || revoked !== null) return undefined
    return principal.expires <= Date.now() || !isClient(principal, client) ? undefined : principal
  }

  #explain(key: string, client: string | undefined): Refused {
    const sent = hashCredential(key)
    const stored = this.#keys?.get(idOf(key))
    if (stored === undefined) return { refused: 'unknown' }
    const { principal, hash, revoked } = stored
    const named = { id: principal.id, client: principal.client }
    if (hash !== sent) return { refused: 'secret', ...named }
    if (revoked !== null) return { refused: 'revoked', ...named }
    return { refused: isClient(principal, client) ? 'expired' : 'client', ...named }
  }

  #refresh(): void {
    clearTimeout(this.#retry)
    // The database is unavailable, which its readers report.
    this.#read().catch(() => {
      this.#retry = setTimeout(() => this.#refresh(), RETRY).unref()
    })
  }

  /** Resolves when a read that began after this call has ended. */
  #read(): Promise<void> {
    this.#again = true
    this.#reading ??= this.#readAll()
    return this.#reading
  }

  async #readAll(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false
        const keys = await readStoredKeys(this.#reader)
        const suspended = new Set((await listSuspensions(this.#reader)).map(({ eid }) => eid))
        this.#auditKeys(keys)
        this.#auditSuspensions(suspended)
        this.#keys = new Map(keys.map((key) => [key.principal.id, key]))
        this.#byHash = new Map(keys.map((key) => [key.hash, key]))
        this.#suspended = suspended
        this.#current = true
      }
    } catch (error) {
      // What has changed is not known: a key that was just revoked must not be accepted until it is.
      this.#current = false
      throw error
    } finally {
      this.#reading = undefined
    }
  }

  #auditKeys(keys: readonly StoredKey[]): void {
    if (this.#keys === undefined) return
    for (const { principal, revoked } of keys) {
      const { id, client, expires } = principal
      const change = { key: id, client, expires: formatTimestamp(expires) }
      const before = this.#keys.get(id)
      if (before === undefined) this.#audit.changed({ audit: 'made', ...change })
      else if (before.principal.client !== client || before.principal.expires !== expires)
        this.#audit.changed({ audit: 'changed', ...change })
      if ((before?.revoked ?? null) === null && revoked !== null)
        this.#audit.changed({ audit: 'revoked', ...change })
    }
  }

  #auditSuspensions(now: ReadonlySet<string>): void {
    if (this.#suspended === undefined) return
    for (const eid of now.difference(this.#suspended)) this.#audit.changed({ audit: 'suspended', eid })
    for (const eid of this.#suspended.difference(now)) this.#audit.changed({ audit: 'resumed', eid })
  }
}
