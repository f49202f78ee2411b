import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { onTestFinished, vi } from 'vitest'
import { findFreePort } from './free-port.ts'

export interface IssuerKey {
  readonly algorithm: string
  /** As the JWKS address shows it. */
  readonly jwk: JWK
  readonly publicKey: CryptoKey
  readonly privateKey: CryptoKey
}

/** An identity provider for one test: signs tokens, shows its public keys, changes them, dies and comes back. */
export class Issuer {
  readonly name = 'https://login.example/'
  readonly audience = 'mahi'
  /** The public keys that the JWKS address shows. */
  shown: JWK[] = []
  /** How often the JWKS address was asked. */
  asked = 0
  /** How it answers, where that is not with the keys. */
  answer: RequestListener | undefined
  #server: Server | undefined
  readonly #port: number

  private constructor(port: number) {
    this.#port = port
  }

  static async start(): Promise<Issuer> {
    // It comes back at the same address.
    const issuer = new Issuer(await findFreePort())
    await issuer.start()
    // On a busy machine, a response on loopback can take longer than the service waits for the keys.
    const patience = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal)
    onTestFinished(async () => {
      patience.mockRestore()
      await issuer.stop()
    })
    return issuer
  }

  get settings(): Record<string, string> {
    return { JWT_ISSUER: this.name, JWT_AUDIENCE: this.audience, JWT_JWKS_URL: this.jwksUrl }
  }

  get jwksUrl(): string {
    return `http://127.0.0.1:${this.#port}/keys`
  }

  /** Makes a key and shows it. A service that starts before fetches it only after some seconds. */
  async addKey(algorithm = 'EdDSA'): Promise<IssuerKey> {
    const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
    const jwk = { ...(await exportJWK(publicKey)), kid: crypto.randomUUID(), use: 'sig', alg: algorithm }
    this.shown.push(jwk)
    return { algorithm, jwk, publicKey, privateKey }
  }

  /** Shows a new key and none of the old ones. */
  async rotate(): Promise<IssuerKey> {
    this.shown = []
    return await this.addKey()
  }

  /** Signs a token that is good for everything, but for the claims and header given; `undefined` leaves one out. */
  async sign(
    {
      algorithm,
      jwk,
      privateKey,
    }: Pick<IssuerKey, 'algorithm' | 'jwk'> & {
      readonly privateKey: CryptoKey | Uint8Array
    },
    claims: Record<string, unknown> = {},
    header: Partial<JWTHeaderParameters> = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const all = {
      iss: this.name,
      aud: this.audience,
      sub: 'somebody',
      client_id: 'vendor',
      iat: now,
      exp: now + 3600,
      scope: 'occupations:read validation-results:read',
      eid: '1001',
      ...claims,
    }
    return await new SignJWT(all)
      .setProtectedHeader({ alg: algorithm, ...(jwk.kid === undefined ? {} : { kid: jwk.kid }), ...header })
      .sign(privateKey)
  }

  /** Stops answering: connections are refused. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }

  /** Answers, at the address it had before. */
  async start(): Promise<void> {
    this.#server = createServer((request, response) => {
      this.asked++
      if (this.answer !== undefined) return this.answer(request, response)
      response.setHeader('content-type', 'application/jwk-set+json')
      response.end(JSON.stringify({ keys: this.shown }))
    }).listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
  }
}
