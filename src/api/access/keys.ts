import { randomBytes } from 'node:crypto'
import { whenKnown } from '../../foundation/cache/maybe-promise.ts'
import type { Database, Reader, Writer } from '../../foundation/database/database.ts'
import { bumpRevision } from '../../foundation/database/revisions.ts'
import {
  DEFAULT_SCOPES,
  isRefused,
  type Principal,
  type Refused,
  type Scope,
  type Verify,
} from './principal.ts'
import { hashCredential, RememberedPrincipals } from './remembered.ts'

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

interface KeyRow {
  id: string
  client: string
  hash: string
  scopes: string
  eids: string
  created: number
  expires: number
  revoked: number | null
  used: number | null
}

/** `mahi_`, a public id of 12 hexadecimal digits, `_`, and 256 random bits in base64url. */
const KEY = /^(mahi_[0-9a-f]{12})_[A-Za-z0-9_-]{43}$/

/** The public part of a key. */
export function idOf(key: string): string {
  return KEY.exec(key)?.[1] ?? ''
}

/**
 * Creates a key. Only this result contains the key itself. Only its SHA-256 is stored, which is enough for 256 random
 * bits: a password hash would cost each request 30 ms and protect nothing.
 */
export async function createKey(
  database: Database,
  { onWait, ...made }: NewKey & { readonly onWait?: () => void },
): Promise<CreatedKey> {
  return await database.write('keys', (writer) => storeNewKey(writer, made), onWait)
}

export interface NewKey {
  readonly client: string
  readonly scopes?: readonly Scope[]
  readonly eids?: readonly string[]
  readonly expires: number
}

export type CreatedKey = KeyDescription & { readonly key: string }

/** Creates a key in a transaction that changes keys. */
export async function storeNewKey(
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

/** All keys, including revoked and expired ones, oldest first. */
export async function listKeys(reader: Reader): Promise<KeyDescription[]> {
  const rows = await reader.all<KeyRow>(
    `select id, client, hash, scopes, eids, created, expires, revoked, used
     from api_key left join key_use on key_id = id order by created, id`,
  )
  return rows.map(({ hash: _, scopes, eids, ...rest }) => ({
    ...rest,
    scopes: JSON.parse(scopes) as string[],
    eids: JSON.parse(eids) as string[],
  }))
}

/** Keys that were made for this long at most, in milliseconds, are those of sessions: nobody needs to renew them. */
export const SESSION_LIFETIME = 12 * 3_600_000

/** The caller that a key identifies while it is valid. */
export async function findValidKey(reader: Reader, id: string, now: number): Promise<Principal | undefined> {
  const row = await reader.get<PrincipalRow>(
    'select * from api_key where id = $1 and revoked is null and expires > $2',
    [id, now],
  )
  return row && toPrincipal(row)
}

type PrincipalRow = Pick<KeyRow, 'id' | 'client' | 'scopes' | 'eids' | 'expires'>

function toPrincipal({ id, client, scopes, eids, expires }: PrincipalRow): Principal {
  return { id, client, scopes: new Set(JSON.parse(scopes)), eids: new Set(JSON.parse(eids)), expires }
}

/** Explains why a key was refused; `id` is `undefined` if the key is malformed. */
export type Explain = (id: string | undefined, keyHash: string, client: string | undefined) => Refused

/** Verifies keys against the database, and caches the valid ones until `forget` is called. */
export class KeyVerifier {
  readonly #reader: Reader
  readonly #explain: Explain
  readonly #onUse: (id: string) => void
  readonly #remembered = new RememberedPrincipals()

  /** @param explain says why a key was refused, only for the log; it must not take measurable time */
  constructor(
    reader: Reader,
    explain: Explain = () => ({ refused: 'unknown' }),
    onUse: (id: string) => void = () => undefined,
  ) {
    this.#reader = reader
    this.#onUse = onUse
    this.#explain = explain
  }

  readonly verify: Verify = (key, client) =>
    whenKnown(
      this.#remembered.recall(key, client, (keyHash) => this.#check(key, keyHash, client)),
      (verified) => {
        if (!isRefused(verified)) this.#onUse(verified.id)
        return verified
      },
    )

  /** Called when any process has created or revoked a key. */
  forget(): void {
    this.#remembered.forget()
  }

  /**
   * All conditions are part of the statement, so that every refusal takes as long as that of an unknown key: the
   * database never returns a row. It compares hashes of 256 random bits, so the duration reveals nothing useful.
   */
  async #check(key: string, keyHash: string, client: string | undefined): Promise<Principal | Refused> {
    const row = await this.#reader.get<PrincipalRow>(
      `select id, client, scopes, eids, expires from api_key
       where id = $1 and hash = $2 and revoked is null and expires > $3 and client = coalesce($4, client)`,
      // Malformed keys are looked up as well.
      [KEY.exec(key)?.[1] ?? '', keyHash, Date.now(), client ?? null],
    )
    if (row === undefined) return this.#explain(KEY.exec(key)?.[1], keyHash, client)
    return toPrincipal(row)
  }
}
