import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose'
import { createBoundedFetch } from '../../foundation/bounded-fetch.ts'
import { type Problem, unavailable } from '../request/problems.ts'
import { describeReason } from './reason.ts'

/** Timeout of a request to the JWKS URL, in milliseconds like the following constants. */
const TIMEOUT = 3_000
/** The age at which the keys are fetched again. */
const REFRESH_AFTER = 60_000
/** Minimum interval between fetches for unknown key ids, so that invented ones do not cause a flood of requests. */
const COOLDOWN = 5_000
/**
 * The largest JWK Set, in bytes. A large one of a public provider has 10 KB; an endless one would fill the memory.
 */
const MAX_BYTES = 1024 * 1024

/**
 * The public keys of an issuer, as last fetched from its JWKS URL. They are fetched at startup, every minute while
 * tokens arrive, and when a token names an unknown key. While the URL does not respond, the last keys remain valid.
 */
export class IssuerKeys {
  readonly #remote: ReturnType<typeof createRemoteJWKSet>
  readonly #log: (message: string, reason?: string) => void
  readonly #onChange: () => void
  /** When the keys were last requested, by the monotonic clock. */
  #asked = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined
  #answering = true
  #keys = ''

  /** @param onChange called when the keys have changed */
  constructor(address: string, log: (message: string, reason?: string) => void, onChange: () => void) {
    // The fetches are scheduled here: when its own cache has expired and the URL does not respond, jose rejects every
    // token and requests the URL again for each.
    this.#remote = createRemoteJWKSet(new URL(address), {
      cacheMaxAge: Number.POSITIVE_INFINITY,
      cooldownDuration: Number.POSITIVE_INFINITY,
      timeoutDuration: TIMEOUT,
      [customFetch]: createBoundedFetch(MAX_BYTES),
    })
    this.#log = log
    this.#onChange = onChange
    void this.#ask()
  }

  /**
   * Whether the keys are recent enough to verify with, so that a withdrawn key works for two minutes at most. Old ones
   * are fetched again meanwhile.
   */
  areRecent(): boolean {
    const age = performance.now() - this.#asked
    if (age >= 2 * REFRESH_AFTER) return false
    if (age >= REFRESH_AFTER) void this.#ask()
    return true
  }

  /** Fetches the keys unless they are recent. */
  async refresh(): Promise<void> {
    if (!this.areRecent()) await this.#ask()
  }

  /**
   * Finds the key that a token names.
   *
   * @throws {errors.JOSEError}
   * @throws {Problem} `unavailable` until keys were fetched for the first time, because the token may be valid
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.#look(header, token)
    } catch (error) {
      const justAsked = this.#asking === undefined && performance.now() - this.#asked < COOLDOWN
      if (!(error instanceof errors.JWKSNoMatchingKey) || justAsked)
        throw this.#remote.fresh ? error : noKeys()
    }
    await this.#ask()
    if (!this.#remote.fresh) throw noKeys()
    return await this.#look(header, token)
  }

  readonly #look: JWTVerifyGetKey = async (header, token) => {
    // Without a first response, jose would send a request itself.
    if (!this.#remote.fresh) throw new errors.JWKSNoMatchingKey()
    return await this.#remote(header, token)
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#load().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #load(): Promise<void> {
    this.#asked = performance.now()
    try {
      await this.#remote.reload()
    } catch (error) {
      if (this.#answering)
        this.#log('the JWKS URL returned no keys: the last known keys remain in use', describeReason(error))
      this.#answering = false
      return
    }
    if (!this.#answering) this.#log('the JWKS URL returns keys again')
    this.#answering = true
    const keys = JSON.stringify(this.#remote.jwks())
    if (keys !== this.#keys) this.#onChange()
    this.#keys = keys
  }
}

function noKeys(): Problem {
  return unavailable(
    'The identity provider has not answered yet, so the token cannot be verified.',
    COOLDOWN / 1000,
  )
}
