import { userInfo } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { say } from '../../foundation/command-line/terminal.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'

/**
 * Why a request was refused, which callers are not told: no credential; an unknown key; the id of a key with a wrong
 * secret; a revoked or expired key; an invalid JWT; a credential of another client than X-Client-ID names, or without
 * the scope; an EID or a submission that the credential does not cover; or a suspended organisation.
 */
export const REFUSAL_REASONS = [
  'missing',
  'unknown',
  'secret',
  'revoked',
  'expired',
  'jwt',
  'client',
  'scope',
  'submission',
  'suspended',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

export interface Refusal {
  readonly reason: RefusalReason
  readonly operation: string
  /** The caller's normalised address. */
  readonly address: string
  /** The id of the credential, if it exists. */
  readonly key?: string | undefined
  readonly client?: string | undefined
}

/** A key that was created, revoked, renamed or given another expiry date. */
interface KeyChange {
  readonly audit: 'made' | 'revoked' | 'changed'
  /** The key's id. */
  readonly key: string
  readonly client: string
  /** The expiry date, as RFC 3339. */
  readonly expires: string
}

/** An organisation that was suspended or resumed. */
interface SuspensionChange {
  readonly audit: 'suspended' | 'resumed'
  readonly eid: string
}

/** A return that was added or changed. */
interface ReturnChange {
  readonly audit: 'return-created' | 'return-updated'
  readonly return: string
  /** The id of the credential, over HTTP. */
  readonly key?: string
  readonly client?: string
}

/** A change that an operator or an agency made. */
export type Change = KeyChange | SuspensionChange | ReturnChange

/** How long similar refusals are counted before they are reported again, in milliseconds. */
const WINDOW = 60_000
/** The most kinds of refusals reported per window: the rest share one line at its end. */
const MOST = 200

/**
 * Writes a line for each key that is created, revoked or refused, each organisation that is suspended or resumed, and
 * each return that is added or changed. Among similar refusals, the first is written at once and the others are counted,
 * so a flood results in one line a minute for each kind, and in a limited number of lines.
 */
export class Audit {
  /** Refusals by reason since the process started. */
  readonly refusals = Object.fromEntries(REFUSAL_REASONS.map((reason) => [reason, 0])) as Record<
    RefusalReason,
    number
  >
  readonly #log: Pick<FastifyBaseLogger, 'warn'>
  readonly #counts = new Map<string, { readonly refusal: Refusal; times: number }>()
  #others = 0
  readonly #timer: NodeJS.Timeout

  constructor(log: Pick<FastifyBaseLogger, 'warn'>, window = WINDOW) {
    this.#log = log
    this.#timer = setInterval(() => this.#tell(), window).unref()
  }

  refused(refusal: Refusal): void {
    this.refusals[refusal.reason]++
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

  changed(change: Change): void {
    this.#log.warn(change)
  }

  /** Writes the remaining counts. */
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
      // Continuing refusals are reported once per window.
      count.times = 0
    }
    if (this.#others > 0) this.#log.warn({ audit: 'refused', reason: 'various', times: this.#others })
    this.#others = 0
  }
}

/**
 * Writes the line of a command that changed something, with the system user who ran it, if messages go to a file or a
 * log; on a terminal, the user has already seen the result.
 */
export function reportChange(change: Change): void {
  if (process.stderr.isTTY) return
  say(JSON.stringify({ level: 'warn', time: formatTimestamp(Date.now()), ...change, by: nameUser() }))
}

/** The user name, or the user id if there is no name. */
function nameUser(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}
