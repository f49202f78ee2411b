import { userInfo } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { formatTimestamp } from '../text/timestamp.ts'

/**
 * Why a request was refused: it carries no credential; no such key; the id of a key and
 * another secret; a key that was revoked or has expired; a JWT that
 * is not valid; a credential of another client than X-Client-ID says, or without the scope; or the EID and the
 * submission are not the credential's. Callers are not told.
 */
export type RefusalReason =
  | 'missing'
  | 'unknown'
  | 'secret'
  | 'revoked'
  | 'expired'
  | 'jwt'
  | 'client'
  | 'scope'
  | 'submission'

export interface Refusal {
  readonly reason: RefusalReason
  readonly operation: string
  /** Where it came from, as far as callers are told apart by address. */
  readonly address: string
  /** The id of the credential, if it is one that there is. */
  readonly key?: string | undefined
  readonly client?: string | undefined
}

/** A key that was made, revoked, or given another name or end. */
export interface KeyChange {
  readonly audit: 'made' | 'revoked' | 'changed'
  /** The key's id. */
  readonly key: string
  readonly client: string
  /** When it ends, as RFC 3339. */
  readonly expires: string
}

/** How long refusals that are alike are counted before they are told of again, in milliseconds. */
const WINDOW = 60_000
/** Most refusals told apart in a window: the rest are one line at its end. */
const MOST = 200

/**
 * Writes a line for each key that was made, revoked or refused. Of refusals that are alike the first has a line at
 * once, and the others are counted: a flood of them is one line a minute for each kind, and at most so many lines.
 */
export class Audit {
  readonly #log: Pick<FastifyBaseLogger, 'warn'>
  readonly #counts = new Map<string, { readonly refusal: Refusal; times: number }>()
  #others = 0
  readonly #timer: NodeJS.Timeout

  constructor(log: Pick<FastifyBaseLogger, 'warn'>, window = WINDOW) {
    this.#log = log
    this.#timer = setInterval(() => this.#tell(), window).unref()
  }

  refused(refusal: Refusal): void {
    const name = Object.values(refusal).join(' ')
    const count = this.#counts.get(name)
    if (count !== undefined) {
      count.times++
    } else if (this.#counts.size < MOST) {
      this.#counts.set(name, { refusal, times: 0 })
      this.#log.warn({ audit: 'refused', ...refusal })
    } else {
      this.#others++
    }
  }

  changed(change: KeyChange): void {
    this.#log.warn(change)
  }

  /** Tells what has been counted. */
  stop(): void {
    clearInterval(this.#timer)
    this.#tell()
  }

  #tell(): void {
    for (const [name, count] of this.#counts) {
      if (count.times === 0) {
        this.#counts.delete(name)
        continue
      }
      this.#log.warn({ audit: 'refused', ...count.refusal, times: count.times })
      // What goes on is told of once in each window.
      count.times = 0
    }
    if (this.#others > 0) this.#log.warn({ audit: 'refused', reason: 'various', times: this.#others })
    this.#others = 0
  }
}

/** The line of a command that has changed a key, with the user of the system who ran it. */
export function writeKeyChange(change: KeyChange): string {
  const time = formatTimestamp(Date.now())
  return JSON.stringify({ level: 'warn', time, ...change, by: nameUser() })
}

/** The name, or the number of a user who has none. */
function nameUser(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}
