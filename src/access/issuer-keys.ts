import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from 'jose'
import { Problem } from '../http/problems.ts'
import { describeReason } from './reason.ts'

/** Longest wait for the JWKS address, in milliseconds as are the following. */
const TIMEOUT = 3_000
/** Age at which the keys are asked for again. */
const REFRESH_AFTER = 60_000
/** Least time between two asks for a key that is not known, so that made-up key ids do not become a flood. */
const COOLDOWN = 5_000
/** Most bytes of a JWK Set: a large one of a public provider has 10 KB, and an endless one would fill the memory. */
const MAX_BYTES = 1024 * 1024

/**
 * The public keys of an issuer, as its JWKS address last gave them. They are asked for at once, every minute while
 * tokens arrive, and when a token names an unknown one. While the address gives no answer the last keys stand.
 */
export class IssuerKeys {
  readonly #remote: ReturnType<typeof createRemoteJWKSet>
  readonly #log: (message: string, reason?: string) => void
  readonly #onChange: () => void
  /** When the keys were last asked for, on a clock that nobody sets. */
  #asked = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined
  #answering = true
  #keys = ''

  /** `onChange` is called when the address gives other keys than before. */
  constructor(address: string, log: (message: string, reason?: string) => void, onChange: () => void) {
    // When to ask is decided here: jose refuses every token once its own time is up and the address is dead, and
    // asks a dead address again with each token.
    this.#remote = createRemoteJWKSet(new URL(address), {
      cacheMaxAge: Number.POSITIVE_INFINITY,
      cooldownDuration: Number.POSITIVE_INFINITY,
      timeoutDuration: TIMEOUT,
      [customFetch]: fetchBounded,
    })
    this.#log = log
    this.#onChange = onChange
    void this.#ask()
  }

  /**
   * Asks for the keys where they have grown old. A request only waits for it when none has come for a while, so
   * that a key which the issuer has withdrawn serves for two minutes at most.
   */
  async refresh(): Promise<void> {
    const age = performance.now() - this.#asked
    if (age < REFRESH_AFTER) return
    const asked = this.#ask()
    if (age >= 2 * REFRESH_AFTER) await asked
  }

  /**
   * Finds the key that a token names.
   *
   * @throws {errors.JOSEError}
   * @throws {Problem} `unavailable` while the address has never given any keys: the token may well be valid
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
    // Until there has been an answer jose would ask by itself.
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
  return new Problem(
    'unavailable',
    'The identity provider has not answered yet, so the token cannot be verified.',
    {
      headers: { 'retry-after': String(COOLDOWN / 1000) },
    },
  )
}

/** Fetches at most so many bytes. */
const fetchBounded: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    // Leaving the loop cancels the rest.
    if (bytes > MAX_BYTES) throw new Error(`the JWK Set is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return new Response(Buffer.concat(chunks), { status: response.status })
}
