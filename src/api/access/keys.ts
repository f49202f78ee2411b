import { hash, randomBytes } from 'node:crypto'
import type { Database, Reader, Writer } from '../../foundation/database/database.ts'
import { bumpRevision } from '../../foundation/database/revisions.ts'
import { DEFAULT_SCOPES, type Principal, type Scope } from './principal.ts'

/** A stored key without its hash. */
export interface KeyDescription {
  /** The public part of the key, which identifies it. */
  readonly id: string
  readonly client: string
  readonly scopes: readonly string[]
  readonly eids: readonly string[]
  /** Milliseconds since 1970, like the following. */
  readonly created: number
  readonly expires: number
  readonly revoked: number | null
  /** When it was last used, to about a minute. */
  readonly used?: number | null
}

/** `mahi_`, a public id of 12 hexadecimal digits, `_`, and 256 random bits in base64url. */
const KEY = /^(mahi_[0-9a-f]{12})_[A-Za-z0-9_-]{43}$/

/** The public part of a key; empty if it is malformed. */
export function idOf(key: string): string {
  return KEY.exec(key)?.[1] ?? ''
}

/** SHA-256 in base64url: enough for 256 random bits. A password hash would cost each request 30 ms and protect nothing. */
export function hashCredential(credential: string): string {
  return hash('sha256', credential, 'base64url')
}

export interface NewKey {
  readonly client: string
  readonly scopes?: readonly Scope[]
  readonly eids?: readonly string[]
  readonly expires: number
}

export type CreatedKey = KeyDescription & { readonly key: string }

/** Creates a key. Only this result contains the key itself: its hash is stored. */
export async function createKey(
  database: Database,
  { onWait, ...made }: NewKey & { readonly onWait?: () => void },
): Promise<CreatedKey> {
  return await database.write('keys', (writer) => storeNewKey(writer, made), onWait)
}

async function storeNewKey(
  writer: Writer,
  { client, scopes = DEFAULT_SCOPES, eids = [], expires }: NewKey,
): Promise<CreatedKey> {
  const id = `mahi_${randomBytes(6).toString('hex')}`
  const key = `${id}_${randomBytes(32).toString('base64url')}`
  const created = Date.now()
  await writer.run(
    `insert into api_key (id, client, hash, scopes, eids, created, expires) values ($1, $2, $3, $4, $5, $6, $7)`,
    [id, client, hashCredential(key), JSON.stringify(scopes), JSON.stringify(eids), created, expires],
  )
  await bumpRevision(writer, 'keys')
  return { id, key, client, scopes, eids, created, expires, revoked: null }
}

interface KeyRow {
  id: string
  client: string
  scopes: string
  eids: string
  created: number
  expires: number
  revoked: number | null
  used: number | null
}

/** All keys, including revoked and expired ones, oldest first. */
export async function listKeys(reader: Reader): Promise<KeyDescription[]> {
  const rows = await reader.all<KeyRow>(
    `select id, client, scopes, eids, created, expires, revoked, used
     from api_key left join key_use on key_id = id order by created, id`,
  )
  return rows.map(({ scopes, eids, ...rest }) => ({
    ...rest,
    scopes: JSON.parse(scopes) as string[],
    eids: JSON.parse(eids) as string[],
  }))
}

export interface StoredKey {
  readonly principal: Principal
  readonly hash: string
  /** Milliseconds since 1970. */
  readonly revoked: number | null
}

type StoredKeyRow = Omit<KeyRow, 'created' | 'used'> & { hash: string }

const STORED = 'select id, client, hash, scopes, eids, expires, revoked from api_key'

function toStored({ hash, scopes, eids, revoked, ...row }: StoredKeyRow): StoredKey {
  const principal = {
    ...row,
    scopes: new Set<string>(JSON.parse(scopes)),
    eids: new Set<string>(JSON.parse(eids)),
  }
  return { principal, hash, revoked }
}

/** All keys, to verify credentials with. */
export async function readStoredKeys(reader: Reader): Promise<StoredKey[]> {
  return (await reader.all<StoredKeyRow>(`${STORED} order by created, id`)).map(toStored)
}

/** The caller that a key identifies while it is valid. */
export async function findValidKey(reader: Reader, id: string, now: number): Promise<Principal | undefined> {
  const row = await reader.get<StoredKeyRow>(`${STORED} where id = $1 and revoked is null and expires > $2`, [
    id,
    now,
  ])
  return row && toStored(row).principal
}

/**
 * Creates a key with the client, scopes and organisations of another, and keeps both valid until the older one
 * expires.
 *
 * @param until when the older key expires, unless it expires sooner, in milliseconds since 1970
 * @returns `undefined` if the key does not exist or is no longer valid
 */
export async function rotateKey(
  database: Database,
  id: string,
  { until, expires, onWait }: { until: number; expires: number; onWait?: () => void },
): Promise<{ made: CreatedKey; old: KeyDescription } | undefined> {
  const rotate = async (writer: Writer) => {
    const old = listValid(await listKeys(writer), Date.now()).find((key) => key.id === id)
    if (old === undefined) return undefined
    const { client, eids } = old
    const scopes = old.scopes as readonly Scope[]
    const made = await storeNewKey(writer, { client, scopes, eids, expires })
    const ends = Math.min(old.expires, until)
    await writer.run('update api_key set expires = $2 where id = $1', [id, ends])
    return { made, old: { ...old, expires: ends } }
  }
  return await database.write('keys', rotate, onWait)
}

/** Changes the client name of a key; returns the key, or `undefined` if it does not exist. */
export async function renameKey(
  database: Database,
  id: string,
  client: string,
  onWait?: () => void,
): Promise<KeyDescription | undefined> {
  const rename = async (writer: Writer) => {
    await writer.run('update api_key set client = $2 where id = $1', [id, client])
    await bumpRevision(writer, 'keys')
    return (await listKeys(writer)).find((key) => key.id === id)
  }
  return await database.write('keys', rename, onWait)
}

/** Revokes, at once, those of the keys that are not yet revoked. Returns all that exist, as they were before. */
export async function revokeKeys(
  database: Database,
  ids: readonly string[],
  onWait?: () => void,
): Promise<KeyDescription[]> {
  const wanted = new Set(ids)
  const revoke = async (writer: Writer) => {
    const keys = (await listKeys(writer)).filter(({ id }) => wanted.has(id))
    const unrevoked = keys.filter(({ revoked }) => revoked === null)
    for (const { id } of unrevoked)
      await writer.run('update api_key set revoked = $2 where id = $1', [id, Date.now()])
    if (unrevoked.length > 0) await bumpRevision(writer, 'keys')
    return keys
  }
  return await database.write('keys', revoke, onWait)
}

/** Lets keys expire no later than at a time for each, in milliseconds since 1970. Returns those that it changed, as they were before. */
export async function shortenKeys(
  database: Database,
  ends: ReadonlyMap<string, number>,
): Promise<KeyDescription[]> {
  return await database.write('keys', async (writer) => {
    const later = (await listKeys(writer)).filter(
      ({ id, expires, revoked }) => revoked === null && expires > (ends.get(id) ?? expires),
    )
    for (const { id, expires } of later)
      await writer.run('update api_key set expires = $2 where id = $1', [id, ends.get(id) ?? expires])
    if (later.length > 0) await bumpRevision(writer, 'keys')
    return later
  })
}

/** A short-lived key that a command creates for itself, so that nobody ever sees it. */
export interface SessionKey extends Required<Omit<NewKey, 'expires'>> {
  /** How long a new key is valid, in milliseconds. */
  readonly lifetime: number
  /** How long an earlier one must still be valid. */
  readonly rest: number
}

/** The id of the key that an earlier call created for the same client, scopes and organisations, or else of a new one. */
export async function findSessionKey(database: Database, wanted: SessionKey): Promise<string> {
  const { client, scopes, eids, lifetime, rest } = wanted
  return await database.write('keys', async (writer) => {
    const now = Date.now()
    const found = listValid(await listKeys(writer), now + rest).find(
      (key) =>
        key.client === client &&
        key.expires - key.created <= lifetime &&
        areSame(key.scopes, scopes) &&
        areSame(key.eids, eids),
    )
    return (found ?? (await storeNewKey(writer, { client, scopes, eids, expires: now + lifetime }))).id
  })
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  return new Set(some).symmetricDifference(new Set(others)).size === 0
}

/** Keys that were made for this long at most, in milliseconds, are those of sessions: nobody needs to renew them. */
export const SESSION_LIFETIME = 12 * 3_600_000

/** Days before its expiry from which a key counts as expiring. */
export const EXPIRING_DAYS = 30

const DAY = 86_400_000

export interface ExpiringKey {
  readonly key: KeyDescription
  /** The key that can do the same for the same client, and is valid for longer, as one that `keys rotate` has made. */
  readonly successor?: KeyDescription
}

/** The keys that are valid at a time in milliseconds since 1970. */
export function listValid(keys: readonly KeyDescription[], now: number): KeyDescription[] {
  return keys.filter(({ revoked, expires }) => revoked === null && expires > now)
}

/** Those of all keys that expire soon after a time, first those that expire first; without the keys of sessions. */
export function listExpiring(keys: readonly KeyDescription[], now: number): ExpiringKey[] {
  const valid = listValid(keys, now)
  return valid
    .filter(
      ({ created, expires }) => expires <= now + EXPIRING_DAYS * DAY && expires - created > SESSION_LIFETIME,
    )
    .sort((one, other) => one.expires - other.expires)
    .map((key) => {
      const successor = valid.find((other) => canReplace(other, key))
      return successor === undefined ? { key } : { key, successor }
    })
}

function canReplace(
  { client, created, expires, scopes, eids }: KeyDescription,
  old: KeyDescription,
): boolean {
  return (
    client === old.client &&
    created >= old.created &&
    expires > old.expires &&
    old.scopes.every((each) => scopes.includes(each)) &&
    old.eids.every((each) => eids.includes(each))
  )
}

/** How often the last use of keys is stored, in milliseconds, in one write for all of them. */
const USE_INTERVAL = 60_000

/** Records when each key was last used, to about a minute. A request only marks its key. */
export class KeyUse {
  readonly #database: Database
  readonly #used = new Set<string>()
  readonly #timer: NodeJS.Timeout

  constructor(database: Database) {
    this.#database = database
    this.#timer = setInterval(() => void this.#store().catch(() => undefined), USE_INTERVAL).unref()
  }

  mark(id: string): void {
    this.#used.add(id)
  }

  /** Stores the uses since the last call; if that fails, they are kept for the next call. */
  async #store(): Promise<void> {
    const ids = [...this.#used]
    if (ids.length === 0) return
    await this.#database.write('job:key-use', async (writer) => {
      for (const id of ids)
        await writer.run(
          'insert into key_use (key_id, used) values ($1, $2) on conflict (key_id) do update set used = excluded.used',
          [id, Date.now()],
        )
    })
    for (const id of ids) this.#used.delete(id)
  }

  /** Stores the remaining uses. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#store().catch(() => undefined)
  }
}
