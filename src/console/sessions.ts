import { hash, randomBytes } from 'node:crypto'
import { findValidKey, SESSION_LIFETIME } from '../api/access/keys.ts'
import type { Principal } from '../api/access/principal.ts'
import type { Database } from '../foundation/database/database.ts'
import { deriveToken } from './form-token.ts'

const MINUTE = 60_000
/** An unused session ends after this time. */
export const IDLE = 60 * MINUTE
/** Every session ends after this time. */
export const LONGEST = SESSION_LIFETIME
/** A one-time link expires after this time. */
export const LINK_LIFETIME = 15 * MINUTE

/** How often the use of a session is recorded, because each write costs a transaction. */
const NOTE_USE = MINUTE

export interface Session {
  readonly principal: Principal
  /** The token of its forms. */
  readonly token: string
}

interface SessionRow {
  hash: string
  key_id: string | null
  principal: string
  created: number
  used: number
  expires: number
}

/**
 * The sessions of signed-in users. The cookie contains 256 random bits, and the database their SHA-256. All replicas
 * therefore know all sessions, but a copy of the database cannot open one.
 */
export class Sessions {
  readonly #database: Database
  readonly #now: () => number

  constructor(database: Database, now: () => number = Date.now) {
    this.#database = database
    this.#now = now
  }

  /**
   * Starts a session and returns its secret. Also removes ended sessions.
   *
   * @param keyId the key whose end also ends the session; `undefined` for an OIDC user
   * @param previous the secret of the session that the new one replaces
   */
  async start(principal: Principal, keyId?: string, previous?: string): Promise<string> {
    const secret = randomBytes(32).toString('base64url')
    const now = this.#now()
    const expires = Math.min(now + LONGEST, principal.expires)
    await this.#database.write('keys', async (writer) => {
      await writer.run('delete from console_session where expires <= $1 or used <= $2', [now, now - IDLE])
      await writer.run('delete from console_link where expires <= $1', [now])
      if (previous !== undefined)
        await writer.run('delete from console_session where hash = $1', [hashSecret(previous)])
      await writer.run(
        `insert into console_session (hash, key_id, principal, created, used, expires)
         values ($1, $2, $3, $4, $5, $6)`,
        [hashSecret(secret), keyId ?? null, writePrincipal(principal), now, now, expires],
      )
    })
    return secret
  }

  /** The session of a secret; `undefined` if it does not exist, or it or its key has ended. */
  async find(secret: string): Promise<Session | undefined> {
    const now = this.#now()
    const row = await this.#database.get<SessionRow>(
      `select hash, key_id, principal, created, used, expires from console_session
       where hash = $1 and expires > $2 and used > $3`,
      [hashSecret(secret), now, now - IDLE],
    )
    if (row === undefined) return undefined
    const principal = await this.#readPrincipal(row, now)
    if (principal === undefined) return undefined
    if (now - row.used > NOTE_USE) {
      await this.#database.write('keys', (writer) =>
        writer.run('update console_session set used = $2 where hash = $1', [row.hash, now]),
      )
    }
    return { principal, token: deriveToken(secret) }
  }

  /** The user of the identity provider, or the key as it is now, with the name that its link gave. */
  async #readPrincipal(
    { key_id: keyId, principal }: SessionRow,
    now: number,
  ): Promise<Principal | undefined> {
    const started = readPrincipal(principal)
    if (keyId === null) return started
    return withName(await findValidKey(this.#database, keyId, now), started.name)
  }

  /** Ends the session of a secret, if it exists. */
  async end(secret: string): Promise<void> {
    await this.#database.write('keys', (writer) =>
      writer.run('delete from console_session where hash = $1', [hashSecret(secret)]),
    )
  }

  /** Ends all sessions and links, and returns the number of sessions. */
  endAll(): Promise<number> {
    return this.#database.write('keys', async (writer) => {
      await writer.run('delete from console_link', [])
      return await writer.run('delete from console_session', [])
    })
  }

  /**
   * Creates the secret of a link, which signs in the first person who opens it with the key.
   *
   * @param name the name that activities and receipts show, instead of the client of the key
   */
  async createLink(keyId: string, name?: string): Promise<string> {
    const secret = randomBytes(32).toString('base64url')
    await this.#database.write('keys', (writer) =>
      writer.run('insert into console_link (hash, key_id, name, expires) values ($1, $2, $3, $4)', [
        hashSecret(secret),
        keyId,
        name ?? null,
        this.#now() + LINK_LIFETIME,
      ]),
    )
    return secret
  }

  /**
   * Starts a session with a link, once; `undefined` if the link is unknown, used or expired, or its key has ended.
   *
   * @param previous the secret of the session that the new one replaces
   */
  async openLink(secret: string, previous?: string): Promise<string | undefined> {
    const now = this.#now()
    // If two requests open a link at once, only one of them deletes it.
    const opened = await this.#database.write('keys', (writer) =>
      writer.get<{ key_id: string; name: string | null }>(
        'delete from console_link where hash = $1 and expires > $2 returning key_id, name',
        [hashSecret(secret), now],
      ),
    )
    if (opened === undefined) return undefined
    const { key_id: keyId, name } = opened
    const principal = withName(await findValidKey(this.#database, keyId, now), name ?? undefined)
    return principal === undefined ? undefined : await this.start(principal, keyId, previous)
  }
}

function withName(principal: Principal | undefined, name: string | undefined): Principal | undefined {
  return principal === undefined || name === undefined ? principal : { ...principal, name }
}

function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}

function writePrincipal({ id, client, alias, name, scopes, eids, expires }: Principal): string {
  return JSON.stringify({ id, client, alias, name, scopes: [...scopes], eids: [...eids], expires })
}

function readPrincipal(text: string): Principal {
  const { scopes, eids, ...rest } = JSON.parse(text) as Omit<Principal, 'scopes' | 'eids'> &
    Record<'scopes' | 'eids', readonly string[]>
  return { ...rest, scopes: new Set(scopes), eids: new Set(eids) }
}
