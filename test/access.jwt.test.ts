import { createHmac, hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { exportJWK, exportSPKI, generateKeyPair } from 'jose'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { cacheTokens } from '../src/api/access/jwt.ts'
import { until } from './support/command.ts'
import { Issuer } from './support/jwks.ts'
import { Service } from './support/service.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** An issuer with one key, and a service that accepts its tokens. */
async function start(algorithm?: string, environment: Record<string, string> = {}) {
  const issuer = await Issuer.start()
  const key = await issuer.addKey(algorithm)
  const service = await Service.start({ ...issuer.settings, ...environment })
  return { issuer, key, service }
}

/** Asks for the catalogue with a token and nothing else. */
async function ask(service: Service, token: string, headers: Record<string, string> = {}) {
  return await service.get('/v1/occupations', {
    'x-api-key': undefined,
    authorization: `Bearer ${token}`,
    ...headers,
  })
}

async function statusOf(service: Service, token: string): Promise<number> {
  return (await ask(service, token)).statusCode
}

/** Holds the clocks, before the service starts, to be moved by `advance`; sockets and timeouts go on as they are. */
function holdClock(): { advance(seconds: number): void } {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() })
  return { advance: (seconds) => vi.advanceTimersByTime(seconds * 1000) }
}

/** Writes a token part by part, whatever it says. */
function assemble(header: object, claims: object, signature: (input: string) => string): string {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${input}.${signature(input)}`
}

function linesOf(service: Service, text: string): string[] {
  return service.log.filter((line) => line.includes(text))
}

describe('signatures', () => {
  test('RS256, ES256 and EdDSA are accepted, and no other algorithm, though the issuer has a key for it', async () => {
    const issuer = await Issuer.start()
    const algorithms = { RS256: 200, ES256: 200, EdDSA: 200, RS512: 401, PS256: 401, ES384: 401 }
    const keys = await Promise.all(Object.keys(algorithms).map((algorithm) => issuer.addKey(algorithm)))
    const service = await Service.start(issuer.settings)
    for (const key of keys) {
      const status = algorithms[key.algorithm as keyof typeof algorithms]
      expect([key.algorithm, await statusOf(service, await issuer.sign(key))]).toEqual([
        key.algorithm,
        status,
      ])
    }
  })

  test('an unsigned token is refused, and one signed with the public key or a symmetric one as the secret', async () => {
    const { issuer, key, service } = await start('RS256')
    const [, claims = ''] = (await issuer.sign(key)).split('.')
    const payload = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object
    const { kid } = key.jwk
    const tokens = ['none', 'None', 'nOnE', ''].flatMap((alg) =>
      ['', 'AAAA'].map((signature) => assemble({ alg, kid }, payload, () => signature)),
    )
    const pem = await exportSPKI(key.publicKey)
    for (const secret of [pem, pem.trim(), JSON.stringify(key.jwk), key.jwk.n ?? ''])
      tokens.push(
        assemble({ alg: 'HS256', kid }, payload, (input) =>
          createHmac('sha256', secret).update(input).digest('base64url'),
        ),
      )
    for (const token of tokens) expect([token, await statusOf(service, token)]).toEqual([token, 401])
    // Even one that the issuer publishes.
    const other = await Issuer.start()
    const secret = Buffer.from('a secret that should not be shown')
    const jwk = { kty: 'oct', kid: 'shared', alg: 'HS256', k: secret.toString('base64url') }
    other.shown.push(jwk)
    const token = await other.sign({ algorithm: 'HS256', jwk, privateKey: secret })
    expect(await statusOf(await Service.start(other.settings), token)).toBe(401)
  })

  test('another key is refused, even under a known key id or inside the token', async () => {
    const issuer = await Issuer.start()
    const known = await issuer.addKey('RS256')
    const service = await Service.start(issuer.settings)
    const { publicKey, privateKey } = await generateKeyPair('RS256')
    const jwk = await exportJWK(publicKey)
    const forge = (header: object) => issuer.sign({ algorithm: 'RS256', jwk: {}, privateKey }, {}, header)
    const { kid } = known.jwk
    for (const header of [{}, { kid: 'other' }, { kid }, { kid, jwk }, { jwk }])
      expect(await statusOf(service, await forge(header))).toBe(401)
  })

  test('the key of one algorithm verifies no other, and a token without a key id needs one key that fits', async () => {
    const issuer = await Issuer.start()
    // A malformed key does not invalidate the others.
    issuer.shown.push({ kty: 'RSA', kid: 'broken', alg: 'RS256' }, { kty: 'XYZ', kid: 'odd' })
    const ec = await issuer.addKey('ES256')
    const ed = await issuer.addKey('EdDSA')
    const service = await Service.start(issuer.settings)
    expect(await statusOf(service, await issuer.sign({ ...ed, jwk: ec.jwk }))).toBe(401)
    expect(await statusOf(service, await issuer.sign({ ...ec, jwk: ed.jwk }))).toBe(401)
    expect(await statusOf(service, await issuer.sign({ ...ed, jwk: {} }))).toBe(200)
  })
})

describe('claims', () => {
  const now = () => Math.floor(Date.now() / 1000)
  const refused: [string, () => Record<string, unknown>][] = [
    ['another issuer', () => ({ iss: 'https://login.example' })],
    ['no issuer', () => ({ iss: undefined })],
    ['another audience', () => ({ aud: 'mahi2' })],
    ['a list of other audiences', () => ({ aud: ['a', 'b'] })],
    ['no audience', () => ({ aud: undefined })],
    ['no subject', () => ({ sub: undefined })],
    ['an empty subject', () => ({ sub: '' })],
    ['a subject that is a number', () => ({ sub: 7 })],
    ['no expiry', () => ({ exp: undefined })],
    ['an expiry that is text', () => ({ exp: String(now() + 600) })],
    ['an expiry more than a minute ago', () => ({ exp: now() - 61 })],
    ['a start more than a minute ahead', () => ({ nbf: now() + 70 })],
    ['no scope', () => ({ scope: undefined })],
    ['a shorter scope', () => ({ scope: 'occupations' })],
    ['a longer scope', () => ({ scope: 'occupations:read:more' })],
    ['a scope in an object', () => ({ scope: { 'occupations:read': true } })],
    ['a scope in a list of lists', () => ({ scope: [['occupations:read']] })],
    ['a scope only in scp', () => ({ scope: 'validation-results:read', scp: 'occupations:read' })],
  ]
  test('a token that is not for this service, or not now, is refused', async () => {
    holdClock()
    const { issuer, key, service } = await start()
    for (const [name, claims] of refused) {
      const response = await ask(service, await issuer.sign(key, claims()))
      expect(response.statusCode, name).toBe(401)
      expect(response.headers['www-authenticate'], name).toContain('Bearer')
    }
  })

  const taken: [string, () => Record<string, unknown>][] = [
    ['one audience of several', () => ({ aud: ['other', 'mahi'] })],
    ['an expiry less than a minute ago', () => ({ exp: now() - 50 })],
    ['a start less than a minute ahead', () => ({ nbf: now() + 50 })],
    ['a scope in a string', () => ({ scope: 'profile occupations:read' })],
    ['a scope in a list', () => ({ scope: ['profile', 'occupations:read'] })],
    ['a scope in scp, a string', () => ({ scope: undefined, scp: 'occupations:read profile' })],
    ['a scope in scp, a list', () => ({ scope: undefined, scp: ['occupations:read'] })],
  ]
  test('each form of audience and scope is accepted, and a clock that differs by less than a minute', async () => {
    holdClock()
    const { issuer, key, service } = await start()
    for (const [name, claims] of taken)
      expect(await statusOf(service, await issuer.sign(key, claims())), name).toBe(200)
  })

  test('a token other than an access token is refused, even if it is signed and for this service', async () => {
    const { issuer, key, service } = await start()
    for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'JOSE', 'jwt2', '']) {
      expect([typ, await statusOf(service, await issuer.sign(key, {}, { typ }))]).toEqual([typ, 401])
    }
    for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt']) {
      const header = typ === undefined ? {} : { typ }
      expect([typ, await statusOf(service, await issuer.sign(key, {}, header))]).toEqual([typ, 200])
    }
  })

  test('a token is valid until it expires, even if it is cached', async () => {
    const clock = holdClock()
    const { issuer, key, service } = await start()
    const token = await issuer.sign(key, { exp: now() + 10 })
    expect(await statusOf(service, token)).toBe(200)
    clock.advance(68)
    expect(await statusOf(service, token)).toBe(200)
    clock.advance(2)
    expect(await statusOf(service, token)).toBe(401)
  })
})

describe('the caller', () => {
  test('the client is client_id or azp, or else a keyed hash of the subject', async () => {
    const { issuer, key, service } = await start()
    for (const [claims, client] of [
      [{ client_id: 'a', azp: 'b', sub: 'c' }, 'a'],
      [{ client_id: undefined, azp: 'b', sub: 'c' }, 'b'],
      [{ client_id: 7, sub: 'aroha@example.nz' }, 'aroha@example.nz'],
    ] as const) {
      const token = await issuer.sign(key, claims)
      expect((await ask(service, token, { 'x-client-id': client })).statusCode).toBe(200)
      expect((await ask(service, token, { 'x-client-id': 'another' })).statusCode).toBe(401)
    }
    for (const client of ['a', 'b']) expect(linesOf(service, `"client":"${client}"`)).not.toHaveLength(0)
    const [line = ''] = linesOf(service, '"client":"sub_')
    const { client } = JSON.parse(line) as { client: string }
    expect(client).toMatch(/^sub_[\w-]{43}$/)
    const plain = (text: string) => hash('sha256', text, 'base64url')
    const issuedBy = JSON.stringify([issuer.name, 'aroha@example.nz'])
    expect([`sub_${plain('aroha@example.nz')}`, `sub_${plain(issuedBy)}`]).not.toContain(client)
    expect(service.log.join('')).not.toContain('aroha')
  })

  test('requests are counted by issuer, subject and client, whichever token they carry', async () => {
    const { issuer, key, service } = await start(undefined, { RATE_LIMIT_OCCUPATIONS: '2/600' })
    const statuses = []
    const others = [{ sub: 'another' }, { client_id: 'another' }]
    for (const claims of [{ jti: '1' }, { jti: '2' }, { jti: '3' }, ...others])
      statuses.push(await statusOf(service, await issuer.sign(key, claims)))
    expect(statuses).toEqual([200, 200, 429, 200, 200])
  })

  test('the log says why a token was refused, and has nothing of it', async () => {
    const { issuer, key, service } = await start()
    const good = await issuer.sign(key)
    const [header, claims, signature] = good.split('.')
    await ask(service, await issuer.sign(key, { sub: 'secret-subject', aud: 'another' }))
    const [line = ''] = linesOf(service, 'a JWT is not valid')
    expect(JSON.parse(line)).toMatchObject({ level: 'debug', reason: expect.stringContaining('"aud"') })
    const original = JSON.parse(Buffer.from(header ?? '', 'base64url').toString()) as object
    for (const extra of [
      { crit: ['secret-extension'], 'secret-extension': true },
      { alg: 'secret-algorithm' },
      { typ: 'secret-type' },
      { kid: 'secret-key' },
    ]) {
      const forged = Buffer.from(JSON.stringify({ ...original, ...extra })).toString('base64url')
      expect(await statusOf(service, `${forged}.${claims}.${signature}`)).toBe(401)
    }
    expect(linesOf(service, 'a JWT is not valid')).toHaveLength(5)
    const log = service.log.join('')
    for (const secret of ['secret-', claims, signature]) expect(log).not.toContain(secret)
  })
})

test('a token in X-API-Key is refused, a key is accepted as a bearer token, and without an issuer no token is', async () => {
  const { issuer, key, service } = await start()
  const token = await issuer.sign(key)
  expect(await statusOf(service, token)).toBe(200)
  expect((await service.get('/v1/occupations', { 'x-api-key': token })).statusCode).toBe(401)
  expect(await statusOf(service, service.key)).toBe(200)
  const without = await Service.start()
  expect(await statusOf(without, token)).toBe(401)
})

describe('organisations', () => {
  async function startWithSubmission(environment: Record<string, string> = {}) {
    const { issuer, key, service } = await start('RS256', environment)
    await service.publish([{ localId: 'L1', errorType: 'Error' }], { token: 'submission-1' })
    const results = async (claims: Record<string, unknown>, eid = '1001') =>
      await service.get('/v1/submissions/submission-1/validation-results', {
        'x-api-key': undefined,
        authorization: `Bearer ${await issuer.sign(key, claims)}`,
        eid,
      })
    return { results }
  }

  test('a token can read the results of an organisation in its claim, which JWT_EID_CLAIM names', async () => {
    const { results } = await startWithSubmission()
    const response = await results({ eid: '1001' })
    expect(response.json()).toMatchObject({ totalCount: 1, results: [{ localId: 'L1' }] })
    // Some providers issue digits as a number.
    for (const eid of [['2002', '1001'], 1001, [2002, 1001]])
      expect([eid, (await results({ eid })).statusCode]).toEqual([eid, 200])
    const claim = 'https://mahi.example/organisations'
    const other = await startWithSubmission({ JWT_EID_CLAIM: claim })
    expect((await other.results({ eid: undefined, [claim]: ['1001'] })).statusCode).toBe(200)
    expect((await other.results({ eid: '1001' })).statusCode).toBe(401)
  })

  test('every other claim gets a refusal that says what the token covers', async () => {
    const { results } = await startWithSubmission()
    const none = 'This credential covers no organisation.'
    const other = 'This credential covers organisation 2002, not 1001.'
    // No header names an organisation with this identifier, so its text is not repeated either.
    const malformed = 'This credential covers 1 organisation, not 1001.'
    for (const [eid, detail] of [
      [undefined, none],
      [null, none],
      ['', none],
      ['2002', other],
      [['2002'], other],
      [[], none],
      [1001.5, none],
      [2002, other],
      [[2002], other],
      ['1001 2002', malformed],
      [{ 1001: true }, none],
    ] as const) {
      const response = await results({ eid })
      expect(response.statusCode).toBe(401)
      expect(response.json().detail).toContain(detail)
    }
    const refuse = async (...request: Parameters<typeof results>) => (await results(...request)).json().detail
    expect(await refuse({ scope: 'occupations:read' })).toContain('lacks the scope validation-results:read.')
    expect(await refuse({}, '2002')).toContain('This credential covers organisation 1001, not 2002.')
  })
})

describe('the keys of the issuer', () => {
  test('they are requested once, whatever the number of tokens', async () => {
    const { issuer, key, service } = await start()
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, jti) => issuer.sign(key, { jti: `${jti}` })),
    )
    expect(new Set(await Promise.all(tokens.map((token) => statusOf(service, token))))).toEqual(
      new Set([200]),
    )
    expect(issuer.asked).toBe(1)
  })

  test('a new key is fetched when a token names it, and the withdrawn one is refused from then on', async () => {
    const issuer = await Issuer.start()
    const before = await issuer.sign(await issuer.addKey())
    const clock = holdClock()
    const service = await Service.start(issuer.settings)
    expect(await statusOf(service, before)).toBe(200)

    const after = await issuer.sign(await issuer.rotate())
    clock.advance(5)
    expect(await statusOf(service, after)).toBe(200)
    expect(await statusOf(service, before)).toBe(401)
  })

  test('a withdrawn key is noticed within a minute of use, and at once after a quiet time', async () => {
    const issuer = await Issuer.start()
    const token = await issuer.sign(await issuer.addKey())
    const clock = holdClock()
    const [used, quiet] = [await Service.start(issuer.settings), await Service.start(issuer.settings)]
    for (const service of [used, quiet]) expect(await statusOf(service, token)).toBe(200)
    await issuer.rotate()
    clock.advance(59)
    expect(await statusOf(used, token)).toBe(200)
    clock.advance(1)
    await until(async () => (await statusOf(used, token)) === 401)
    clock.advance(60)
    expect(await statusOf(quiet, token)).toBe(401)
  })

  test('invented key ids cause no requests to the issuer', async () => {
    const clock = holdClock()
    const { issuer, key, service } = await start()
    expect(await statusOf(service, await issuer.sign(key))).toBe(200)
    const flood = async () => {
      for (let each = 0; each < 10; each++) {
        expect(await statusOf(service, await issuer.sign(key, {}, { kid: crypto.randomUUID() }))).toBe(401)
      }
    }
    await flood()
    expect(issuer.asked).toBe(1)
    clock.advance(5)
    await flood()
    expect(issuer.asked).toBe(2)
  })
})

describe('an unavailable JWKS URL', () => {
  test('known keys still work, unknown ones get 401, and the outage is logged once', async () => {
    const clock = holdClock()
    const { issuer, key, service } = await start()
    const known = await issuer.sign(key, { exp: Math.floor(Date.now() / 1000) + 86_400 })
    expect(await statusOf(service, known)).toBe(200)

    await issuer.stop()
    const rotated = await issuer.rotate()
    for (let hour = 1; hour <= 6; hour++) {
      clock.advance(3600)
      expect(await statusOf(service, known)).toBe(200)
      expect(await statusOf(service, await issuer.sign(key))).toBe(200)
      expect(await statusOf(service, await issuer.sign(rotated))).toBe(401)
    }
    expect(linesOf(service, 'the JWKS URL returned no keys')).toHaveLength(1)

    await issuer.start()
    clock.advance(5)
    expect(await statusOf(service, await issuer.sign(rotated))).toBe(200)
    expect(await statusOf(service, known)).toBe(401)
    expect(linesOf(service, 'the JWKS URL returns keys again')).toHaveLength(1)
  })

  test('a service that starts before its issuer accepts tokens once the issuer is up', async () => {
    const issuer = await Issuer.start()
    const key = await issuer.addKey()
    await issuer.stop()
    const clock = holdClock()
    const service = await Service.start(issuer.settings)
    const early = await ask(service, await issuer.sign(key))
    expect([early.statusCode, early.headers['retry-after']]).toEqual([503, '5'])
    await issuer.start()
    clock.advance(5)
    expect(await statusOf(service, await issuer.sign(key))).toBe(200)
  })

  const endless = (response: ServerResponse) => {
    const chunk = ' '.repeat(64 * 1024)
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', write)
    write()
  }
  test('anything else in place of the keys counts as no answer', async () => {
    const clock = holdClock()
    const { issuer, key, service } = await start()
    const patience = new AbortController()
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(patience.signal)
    const known = await issuer.sign(key, { exp: Math.floor(Date.now() / 1000) + 86_400 })
    expect(await statusOf(service, known)).toBe(200)
    const answers: Record<string, (response: ServerResponse) => void> = {
      'an error': (response) => response.writeHead(500).end('{"keys":[]}'),
      'not JSON': (response) => response.end('<html>'),
      'no key set': (response) => response.end('{"keys":{}}'),
      'a redirection': (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      'an endless set': endless,
      nothing: () => patience.abort(new Error('the time is over')),
    }
    for (const [name, answer] of Object.entries(answers)) {
      issuer.answer = (_request, response) => answer(response)
      const asked = issuer.asked
      clock.advance(120)
      expect(await statusOf(service, known), name).toBe(200)
      const unknown = await issuer.sign({ ...key, jwk: { kid: name } })
      expect(await statusOf(service, unknown), name).toBe(401)
      expect(issuer.asked, name).toBeGreaterThan(asked)
    }
    expect(linesOf(service, 'the JWKS URL returns keys again')).toEqual([])
    expect(linesOf(service, 'the JWKS URL returned no keys')).toHaveLength(1)
  })
})

test('holders of tokens are cached by the number of their organisations', () => {
  const known = cacheTokens()
  const add = (name: string, organisations: number) => {
    const eids = new Set(Array.from({ length: organisations }, (_, index) => String(index)))
    known.set(name, { id: name, client: name, scopes: new Set(), eids, expires: Date.now() + 60_000 })
  }
  for (let index = 0; index < 1_000; index++) add(`small ${index}`, 1)
  expect(known.size).toBe(1_000)
  for (let index = 0; index < 100; index++) add(`large ${index}`, 2_000)
  expect(known.get('large 99')).toMatchObject({ id: 'large 99' })
  expect(known.get('small 0')).toBeUndefined()
  expect(known.get('large 0')).toBeUndefined()
})
