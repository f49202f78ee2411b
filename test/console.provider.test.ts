import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Oidc } from '../src/console/oidc.ts'
import { readSettings } from '../src/settings.ts'

/** An identity provider whose token endpoint responds as a test says; it counts the bytes that it could send. */
async function startProvider(
  respond: (response: ServerResponse, issuer: string, nonce: string) => Promise<void>,
) {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }
  let nonce = ''
  const server = createServer((request, response) => {
    const json = (value: unknown) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(value))
    }
    const path = request.url ?? ''
    if (path === '/token') return void respond(response, issuer, nonce)
    if (path === '/keys') return json({ keys: [jwk] })
    return json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()),
  )
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const oidc = new Oidc({
    issuer,
    clientId: 'mahi',
    clientSecret: 'a-secret-of-the-tests-only',
    publicUrl: 'http://localhost:1',
    eidClaim: 'eid',
    keyedHash: (text) => `hash of ${text.length}`,
  })
  const signIn = async () => {
    const { url, remember } = await oidc.begin('/console')
    const asked = new URL(url).searchParams
    nonce = asked.get('nonce') ?? ''
    return await oidc.finish(`/console/signed-in?code=c1&state=${asked.get('state')}`, remember)
  }
  return { signIn, privateKey }
}

const sign = async (key: CryptoKey, issuer: string, nonce: string) =>
  await new SignJWT({ nonce, eid: '1001' })
    .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
    .setIssuer(issuer)
    .setAudience('mahi')
    .setSubject('person')
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(key)

test('an ID token signs in only if a published key has signed it', async () => {
  let key: CryptoKey | undefined
  const { signIn, privateKey } = await startProvider(async (response, issuer, nonce) => {
    response.setHeader('content-type', 'application/json')
    const token = await sign(key ?? privateKey, issuer, nonce)
    response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token: token }))
  })
  expect((await signIn()).principal).toMatchObject({ eids: new Set(['1001']) })
  key = (await generateKeyPair('RS256')).privateKey
  await expect(signIn()).rejects.toThrow()
})

test('a response of the provider that does not end is read up to a limit', async () => {
  const { signIn } = await startProvider(async (response) => {
    response.setHeader('content-type', 'application/json')
    const chunk = Buffer.alloc(64 * 1024, ' ')
    const send = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', send)
    }
    send()
  })
  const error = (await signIn().catch((cause: unknown) => cause)) as {
    cause?: { message?: string }
    message: string
  }
  expect(`${error.message} ${error.cause?.message}`).toContain('larger than 1048576 bytes')
})

test.each([
  ['does not begin', false],
  ['stops in the middle', true],
])('a response of the provider that %s ends at its time limit', async (_, begins) => {
  const over = new AbortController()
  const limits = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(over.signal)
  onTestFinished(() => limits.mockRestore())
  const { signIn } = await startProvider(async (response) => {
    response.setHeader('content-type', 'application/json')
    if (begins) await new Promise<unknown>((resolve) => response.write('{"access_token":', resolve))
    over.abort(new Error('the time is over'))
  })
  const error = (await signIn().catch((cause: unknown) => cause)) as Error
  expect(`${error.message} ${(error.cause as Error | undefined)?.message}`).toContain('the time is over')
  expect(new Set(limits.mock.calls.flat())).toEqual(new Set([10_000]))
})

test('an issuer and its keys are reached by https, or are on this machine', () => {
  const settings = {
    ...{ CONSOLE: 'on', OIDC_CLIENT_ID: 'mahi', PUBLIC_URL: 'https://mahi.example.nz' },
    ...{ JWT_ISSUER: 'a', JWT_AUDIENCE: 'mahi', OIDC_ISSUER: 'https://a', JWT_JWKS_URL: 'https://a/keys' },
  }
  for (const name of ['OIDC_ISSUER', 'JWT_JWKS_URL'] as const) {
    for (const url of [
      'https://login.example',
      'http://127.0.0.1:8426',
      'http://[::1]:1',
      'http://localhost',
    ])
      expect(readSettings({ ...settings, [name]: url })[name]).toBe(url)
    for (const url of ['http://login.example', 'http://127.0.0.1.example', 'http://localhost.example'])
      expect(() => readSettings({ ...settings, [name]: url })).toThrow(
        `${name} must begin with https:// unless it is on this machine, not "${url}"`,
      )
  }
})
