import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createKey, revokeKeys } from '../src/api/access/keys.ts'
import { SCOPES } from '../src/api/access/principal.ts'
import { TOKEN_FIELD } from '../src/console/form-token.ts'
import { IDLE, LINK_LIFETIME, LONGEST, Sessions } from '../src/console/sessions.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { enqueue } from '../src/foundation/jobs/queue.ts'
import { Installation } from './support/command.ts'
import { listRoutes, tokenOf } from './support/console.ts'
import { fillDatabase } from './support/filled-database.ts'
import { findFreePort } from './support/free-port.ts'
import { PausableProxy } from './support/pausable-proxy.ts'
import { Service } from './support/service.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const OWN = { 'sec-fetch-site': 'same-origin' }

async function startConsole(settings: Record<string, string> = {}, url?: string) {
  const service = await Service.start({ CONSOLE: 'on', ...settings }, url)
  const send = (options: InjectOptions): Promise<LightMyRequestResponse> =>
    service.app.inject({ ...options, headers: { host: 'localhost', ...options.headers } })
  const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = OWN) =>
    send({
      method: 'POST',
      url,
      payload: new URLSearchParams({
        ...(headers.cookie !== undefined && { [TOKEN_FIELD]: tokenOf(headers.cookie) }),
        ...fields,
      }).toString(),
      headers: { ...FORM, ...headers },
    })
  const cookieOf = ({ headers }: LightMyRequestResponse) =>
    String(headers['set-cookie']).split(';', 1)[0] ?? ''
  const signIn = async (key = service.key) => cookieOf(await post('/console/sign-in', { key }))
  return { service, send, post, cookieOf, signIn }
}

describe('a session', () => {
  test('begins with a key, opens the console and nothing else, and ends at sign-out', async () => {
    const { service, send, post, cookieOf } = await startConsole()
    const signedIn = await post('/console/sign-in', { key: service.key })
    // Scripts and other sites do not get the cookie.
    expect(String(signedIn.headers['set-cookie'])).toMatch(
      /^mahi-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    const cookie = cookieOf(signedIn)
    const secret = cookie.split('=', 2)[1] ?? ''
    const statusOf = async (url: string, headers: Record<string, string> = { cookie }) =>
      (await send({ url, headers })).statusCode
    expect(await statusOf('/console/changes')).toBe(200)
    expect(await statusOf('/v1/occupations')).toBe(401)
    expect(await statusOf('/console/changes', { 'x-api-key': service.key })).toBe(401)
    // The database knows it, for every process, by its hash only.
    expect((await new Sessions(service.database).find(secret))?.principal.client).toBe('tests')
    const rows = await service.database.all('select * from console_session')
    expect([rows.length, JSON.stringify(rows).includes(secret)]).toEqual([1, false])
    expect(service.log.join('')).not.toContain(secret)

    const out = await post('/console/sign-out', {}, { ...OWN, cookie })
    expect(out.headers.location).toBe('/console/sign-in?signed-out=1')
    expect(await statusOf('/console/changes')).toBe(401)
  })

  test('is __Host- and Secure behind a trusted proxy that ends TLS', async () => {
    const { post, service } = await startConsole({ TRUST_PROXY: '127.0.0.1' })
    const headers = {
      ...OWN,
      host: 'mahi.example.nz',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '192.0.2.1',
    }
    const secure = String(
      (await post('/console/sign-in', { key: service.key }, headers)).headers['set-cookie'],
    )
    expect(secure).toMatch(/^__Host-mahi=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
  })

  test('is not possible over plain HTTP from another machine', async () => {
    const { post, service } = await startConsole()
    const response = await post('/console/sign-in', { key: service.key }, { ...OWN, host: 'mahi.example.nz' })
    expect(response.statusCode).toBe(400)
    expect(response.body).toContain('HTTPS')
    expect(response.headers['set-cookie']).toBeUndefined()
  })

  test('does not begin with a wrong key, which counts as a failed credential', async () => {
    const { post } = await startConsole({ RATE_LIMIT_FAILED_CREDENTIALS: '2/60' })
    const wrong = () => post('/console/sign-in', { key: 'mahi_000000000000_wrong' })
    const first = await wrong()
    expect(first.statusCode).toBe(401)
    expect(first.body).toContain('not valid')
    expect(first.headers['set-cookie']).toBeUndefined()
    await wrong()
    expect((await wrong()).statusCode).toBe(429)
  })

  test('does not begin with a guessed link or callback, which cause no work beyond the limit', async () => {
    const { service, post, send } = await startConsole({
      RATE_LIMIT_FAILED_CREDENTIALS: '2/60',
      ...{ OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'mahi', PUBLIC_URL: 'http://localhost' },
    })
    const writes = vi.spyOn(service.database, 'write')
    const asked = vi.spyOn(globalThis, 'fetch')
    onTestFinished(() => asked.mockRestore())
    const open = (link: string) => post(`/console/link/${link}`, {})
    const { id } = await service.createKey({ client: 'another' })
    const links = [await new Sessions(service.database).createLink(id), 'x'.repeat(43)]
    writes.mockClear()
    expect((await open(links[0] ?? '')).statusCode).toBe(303)
    expect((await open(links[1] ?? '')).statusCode).toBe(401)
    const began = Buffer.from(JSON.stringify({ verifier: 'v', state: 's', nonce: 'n', to: '/' }))
    const cookie = `mahi-signing-in=${began.toString('base64url')}`
    const comeBack = () => send({ url: '/console/signed-in?code=c&state=s', headers: { cookie } })
    expect((await comeBack()).statusCode).toBe(401)
    const work = [writes.mock.calls.length, asked.mock.calls.length]
    expect((await comeBack()).statusCode).toBe(429)
    expect((await open(links[1] ?? '')).statusCode).toBe(429)
    expect([writes.mock.calls.length, asked.mock.calls.length]).toEqual(work)
  })

  test('ends with its key', async () => {
    const { service, send, signIn } = await startConsole()
    const { key, id } = await service.createKey({ client: 'another' })
    const cookie = await signIn(key)
    expect((await send({ url: '/console/changes', headers: { cookie } })).statusCode).toBe(200)
    await revokeKeys(service.database, [id])
    expect((await send({ url: '/console/changes', headers: { cookie } })).statusCode).toBe(401)
  })

  test('ends when another begins in the same browser, with a key or a link', async () => {
    const { service, send, post, cookieOf, signIn } = await startConsole()
    const { key, id } = await service.createKey({ client: 'another' })
    const status = async (cookie: string) =>
      (await send({ url: '/console/changes', headers: { cookie } })).statusCode
    const first = await signIn()
    const second = cookieOf(await post('/console/sign-in', { key }, { ...OWN, cookie: first }))
    expect([await status(first), await status(second)]).toEqual([401, 200])
    const link = await new Sessions(service.database).createLink(id)
    const third = cookieOf(await post(`/console/link/${link}`, {}, { ...OWN, cookie: second }))
    expect([await status(second), await status(third)]).toEqual([401, 200])
  })

  test('begins with the link of mahi console, which opens the page that is named', async () => {
    const mahi = new Installation()
    const { send, post } = await startConsole({}, mahi.databaseUrl)
    const url = 'http://127.0.0.1:8081'
    const open = async (...page: string[]) => {
      // Without --url, it is where the settings say that the service listens.
      const { stdout, stderr } = await mahi.run(['console', ...page], { environment: { PORT: '8081' } })
      expect(stderr).toContain('it works once')
      expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:8081\S+\n$/)
      const shown = await send({ url: stdout.trim().slice(url.length) })
      const [, action = ''] = /action="([^"]+)"/.exec(shown.body) ?? []
      const opened = await post(action, {})
      expect(opened.statusCode).toBe(303)
      return new URL(opened.headers.location ?? '', url).searchParams.get('to')
    }
    expect(await open()).toBe('/console')
    expect(await open('/console/submissions?eid=9')).toBe('/console/submissions?eid=9')
    expect(await open(`${url}/console/changes`)).toBe('/console/changes')
    expect(await open('--name', 'A. Operator')).toBe('/console')
    for (const [environment, base] of [
      [{ PUBLIC_URL: 'https://mahi.example' }, 'https://mahi.example/'],
      [{ HOST: '::', PORT: '1234' }, 'http://127.0.0.1:1234/'],
    ] as const)
      expect((await mahi.run(['console'], { environment })).stdout).toContain(`${base}console/link/`)
    for (const name of ['', ' ', 'a\nb', '\u202e', 'x'.repeat(201)]) {
      const refused = await mahi.run(['console', '--name', name])
      expect([name, refused.code, refused.stdout]).toEqual([name, 1, ''])
      expect(refused.stderr).toContain('--name: must be a name of at most 200 characters')
    }
    for (const page of ['/docs', '//other.example/console', 'https://other.example/docs', 'console']) {
      const refused = await mahi.run(['console', page])
      expect([page, refused.code, refused.stdout]).toEqual([page, 1, ''])
      expect(refused.stderr).toContain('must be a page of the console, such as /console/submissions')
    }
  })

  test('begins with the key of an earlier call for the same organisations', async () => {
    const mahi = new Installation()
    await fillDatabase(mahi.databaseUrl)
    const keyOf = async (...given: string[]) =>
      ((await mahi.runJson(['console', ...given])) as { key: string }).key
    const first = await keyOf('--eid', '1', '2')
    expect([await keyOf('--eid', '2,1'), await keyOf('--key', first)]).toEqual([first, first])
    expect((await mahi.run(['console', '--eid', 'māori'])).stderr).toContain('--eid: must be identifiers')
    // The filled database has a key for a day, which somebody must renew; nobody renews that of a session.
    const { keys } = (await mahi.runJson(['status'])) as { keys: { valid: number; expiring: object[] } }
    expect([keys.valid, keys.expiring.length]).toEqual([2, 1])
    const none = await keyOf()
    expect(none).not.toBe(first)
    expect(await keyOf()).toBe(none)
    await mahi.run(['keys', 'revoke', first])
    const second = await keyOf('--eid', '1,2')
    expect([first, none]).not.toContain(second)
    const now = Date.now()
    const database = await openDatabase(mahi.databaseUrl)
    await database.write('keys', async (writer) => {
      await writer.run('update api_key set expires = $2 where id = $1', [second, now + 59 * 60_000])
    })
    await database.close()
    expect(await keyOf('--eid', '1,2')).not.toBe(second)
  })

  test('ends with all others at the command of the operator', async () => {
    const mahi = new Installation()
    const { send, post, signIn } = await startConsole({}, mahi.databaseUrl)
    const { url } = (await mahi.runJson(['console'])) as { url: string }
    expect(await mahi.runJson(['console', '--end-sessions'])).toEqual({ ended: 0 })
    expect((await post(new URL(url).pathname, {})).statusCode).toBe(401)
    const cookie = await signIn()
    const show = async () => (await send({ url: '/console/occupations', headers: { cookie } })).statusCode
    expect(await show()).toBe(200)
    expect((await mahi.run(['console', '--end-sessions'])).stderr).toContain('1 session ended.')
    expect(await show()).toBe(401)
  })

  test('can be ended from every page', async () => {
    const { send, service, signIn } = await startConsole()
    const { key } = await service.createKey({ client: 'operator', scopes: SCOPES, eids: ['1001'] })
    const cookie = await signIn(key)
    for (const page of ['occupations', 'code', 'changes', 'submissions', 'rules', 'operator']) {
      const { body } = await send({ url: `/console/${page}`, headers: { cookie } })
      expect(body, page).toContain('action="/console/sign-out"')
    }
  })
})

describe('time ends a session', () => {
  async function startAt() {
    const { service } = await startConsole()
    const clock = { now: Date.now() }
    const { id } = await createKey(service.database, {
      client: 'c',
      scopes: SCOPES,
      expires: clock.now + 30 * LONGEST,
    })
    const sessions = new Sessions(service.database, () => clock.now)
    const start = async () => (await sessions.openLink(await sessions.createLink(id))) ?? ''
    return { clock, sessions, id, start }
  }

  test('after an hour without a request', async () => {
    const { clock, sessions, start } = await startAt()
    const secret = await start()
    clock.now += IDLE - 1
    expect(await sessions.find(secret)).toBeDefined()
    clock.now += IDLE - 1
    expect(await sessions.find(secret)).toBeDefined()
    clock.now += IDLE
    expect(await sessions.find(secret)).toBeUndefined()
  })

  test('after twelve hours, however often it is used', async () => {
    const { clock, sessions, start } = await startAt()
    const secret = await start()
    const end = clock.now + LONGEST
    while (clock.now + IDLE / 2 < end) {
      clock.now += IDLE / 2
      expect(await sessions.find(secret)).toBeDefined()
    }
    clock.now = end
    expect(await sessions.find(secret)).toBeUndefined()
  })

  test('and a link works once, for a quarter of an hour', async () => {
    const { clock, sessions, id } = await startAt()
    const used = await sessions.createLink(id)
    expect(await sessions.openLink(used)).toBeDefined()
    expect(await sessions.openLink(used)).toBeUndefined()
    const old = await sessions.createLink(id)
    clock.now += LINK_LIFETIME
    expect(await sessions.openLink(old)).toBeUndefined()
    expect(await sessions.openLink('guessed')).toBeUndefined()
  })

  test('and if two browsers open a link at once, one is signed in', async () => {
    const { sessions, id } = await startAt()
    const link = await sessions.createLink(id)
    const opened = await Promise.all([1, 2, 3, 4].map(() => sessions.openLink(link)))
    expect(opened.filter((secret) => secret !== undefined)).toHaveLength(1)
  })
})

describe('another site', () => {
  test('cannot use a session', async () => {
    const { service, post, signIn, send } = await startConsole()
    const cookie = await signIn()
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      // A browser without Fetch Metadata
      { origin: 'https://evil.example' },
      {},
    ]) {
      const response = await post('/console/sign-out', {}, { ...headers, cookie })
      expect([headers, response.statusCode]).toEqual([headers, 403])
    }
    expect((await send({ url: '/console/changes', headers: { cookie } })).statusCode).toBe(200)
    expect(service.log.join('')).not.toContain(cookie)
  })

  test('can link to a page: the browser comes back with its cookie', async () => {
    const { send } = await startConsole()
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    const response = await send({ url: '/console/changes?x=1', headers })
    expect(response.headers.refresh).toBe('0; url=/console/changes?x=1')
  })

  test('cannot be where signing in leads', async () => {
    const { post, service } = await startConsole()
    for (const to of [
      'https://evil.example/',
      '//evil.example/console',
      '/console/../../evil',
      '/docs',
      '/console@evil',
    ]) {
      const response = await post('/console/sign-in', { key: service.key, to })
      expect(response.headers.location).toMatch(/^\/console\//)
      expect(response.headers.location).not.toContain('evil')
    }
  })
})

test('a session that has ended says so, and brings back the form that was sent', async () => {
  const { post, send, service, signIn } = await startConsole()
  const cookie = await signIn()
  await new Sessions(service.database).endAll()
  const headers = { ...OWN, cookie }
  const asked = await post('/console/code', { titles: 'Teacher & "co"' }, headers)
  expect(asked.statusCode).toBe(401)
  expect(asked.body).toContain('Your session has ended. Sign in again to continue where you were.')
  expect(asked.body).toContain('The form that you sent is kept until then.')
  expect(asked.body).toContain('name="kept-titles"')
  const signedIn = await post('/console/sign-in', {
    key: service.key,
    to: '/console/code',
    'kept-titles': 'Teacher & "co"',
  })
  expect(signedIn.statusCode).toBe(200)
  expect(signedIn.body).toContain('action="/console/code"')
  expect(signedIn.body).toMatch(/>Teacher &amp; ("|&quot;)co("|&quot;)</)
  // A form of which nothing can be kept leads back to its page, and a script is told in its words.
  const upload = { ...headers, 'content-type': 'multipart/form-data; boundary=b' }
  for (const [url, page] of [
    ['/console/submissions/a/files?eid=1001', '/console/submissions/a/files?eid=1001'],
    ['/console/submissions/a/repairs/undo?eid=1001', '/console/submissions/a/repairs?eid=1001'],
  ] as const) {
    const empty = await send({ method: 'POST', url, headers: upload, payload: '--b--' })
    expect(empty.body).toContain(`name="to" value="${page}"`)
  }
  // Only a key can bring it back: a browser comes back from an identity provider without it.
  const provider = {
    OIDC_ISSUER: 'http://127.0.0.1:1',
    OIDC_CLIENT_ID: 'mahi',
    PUBLIC_URL: 'http://localhost',
  }
  const withProvider = await startConsole(provider)
  const target = '/console/submissions/a/findings/records'
  const asking = await withProvider.post(`${target}/explain?eid=1001`, { reason: 'Other' })
  const failed = await withProvider.post('/console/sign-in', {
    key: 'x',
    to: `${target}/explain?eid=1001`,
    page: `${target}?eid=1001`,
    'kept-reason': 'Other',
  })
  expect(asking.body).toContain('is kept until then if you sign in with a key.')
  for (const { body } of [asking, failed])
    expect(body).toContain(`/sign-in/provider?to=${encodeURIComponent(`${target}?eid=1001`)}`)
  // After each form, the sign-in leads to a page.
  const routes = (await listRoutes()).filter((route) => /^POST (?!.*\/(?:sign-|link\/))/.test(route))
  for (const route of routes) {
    const form = route.replace('POST ', '').replaceAll(/:\w+/g, 'a')
    const { statusCode, body } = await withProvider.post(form, { reason: 'Other' })
    const [, to = ''] = /sign-in\/provider\?to=([^"&]*)/.exec(body) ?? []
    const page = await withProvider.send({ url: decodeURIComponent(to) })
    expect([form, statusCode, page.statusCode]).toEqual([form, 401, 401])
    expect(body).toContain('Your session has ended.')
  }
  // The session was ended in another tab, which took the cookie along.
  const gone = await post('/console/code', { titles: 'Teacher' })
  expect(gone.body).toContain('The form that you sent is kept until then.')
  // A form of the session before leads back to its page.
  const next = await signIn()
  const fields = { [TOKEN_FIELD]: tokenOf(cookie) }
  const old = await post('/console/submissions/a/submit?eid=1001', fields, { ...OWN, cookie: next })
  expect([old.statusCode, old.body]).toEqual([
    403,
    expect.stringContaining('<a href="/console/submissions/a/submit?eid=1001">Open the page again</a>'),
  ])
  const script = { ...headers, accept: 'application/json' }
  const data = await send({ method: 'PUT', url: '/console/submissions/a/files', headers: script })
  expect([data.statusCode, data.json().detail]).toEqual([
    401,
    expect.stringContaining('Your session has ended.'),
  ])
})

test('every page of the console forbids foreign content and frames, and is not stored', async () => {
  const { send, signIn } = await startConsole()
  const cookie = await signIn()
  const statuses: number[] = []
  for (const [page, headers] of [
    ['occupations', { cookie }],
    ['occupations', {}],
    ['sign-in', {}],
    ['nowhere', {}],
    ['occupations', { host: 'mahi.example.nz' }],
  ] as const) {
    const response = await send({ url: `/console/${page}`, headers })
    statuses.push(response.statusCode)
    expect(response.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    const policy = String(response.headers['content-security-policy'])
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      expect(policy).toContain(part)
    expect(policy).not.toMatch(/https?:|unsafe|\*/)
  }
  expect(statuses).toEqual([200, 401, 200, 404, 400])
})

test('a browser keeps the files of a page only if the replica that sends them has the version of the page', async () => {
  const { send } = await startConsole()
  const { body } = await send({ url: '/console/sign-in' })
  const [own = ''] = /\/console\/assets\/[\w-]+\/console\.css/.exec(body) ?? []
  const cacheOf = async (url: string, headers = {}) => (await send({ url, headers })).headers['cache-control']
  expect(await cacheOf(own)).toBe('public, max-age=31536000, immutable')
  const other = own.replace(/assets\/[\w-]+/, 'assets/another-one')
  expect(await cacheOf(other)).toBe('no-cache')
  const { etag } = (await send({ url: own })).headers
  expect(await cacheOf(other, { 'if-none-match': etag })).toBe('no-cache')
})

test('a browser without cookies is told to allow them', async () => {
  const { send, post, cookieOf, service } = await startConsole()
  const signedIn = await post('/console/sign-in', { key: service.key, to: '/console/changes' })
  const next = String(signedIn.headers.location)
  const refused = await send({ url: next })
  expect(refused.statusCode).toBe(401)
  expect(refused.body).toContain('Allow cookies for this site and sign in again.')
  expect(refused.body).toContain('value="/console/changes"')
  const accepted = await send({ url: next, headers: { cookie: cookieOf(signedIn) } })
  expect([accepted.statusCode, accepted.headers.location]).toEqual([303, '/console/changes'])
})

test('the operator sees health and refused credentials by reason', async () => {
  const { send, signIn, service } = await startConsole()
  const { key } = await service.createKey({ client: 'operator', scopes: SCOPES, eids: [] })
  for (let count = 0; count < 3; count++)
    await service.app.inject({ url: '/v1/occupations', headers: { 'x-api-key': 'nonsense' } })
  await service.database.write('job:retention', async (writer) => {
    await enqueue(writer, { kind: 'retention', subject: '', eid: '' })
    for (const subject of ['1', '2']) await enqueue(writer, { kind: 'purge', subject, eid: '' })
  })
  for (const expires of [1, 2, 1000])
    await service.createKey({
      client: expires === 1 ? 'alone' : 'replaced',
      expires: Date.now() + expires * 86_400_000,
    })
  const { body } = await send({ url: '/console/operator', headers: { cookie: await signIn(key) } })
  // The keys of the service and of the operator end tomorrow too.
  expect(body).toContain('3 of them expire within 30 days, and nothing replaces them</strong>')
  expect(body).toContain('<dd>Ready</dd>')
  expect(body).toMatch(/<li>retention: 1 job, waiting since <time [^>]+>[^<]+<\/time><\/li>/)
  expect(body).toMatch(/<li>purge: 2 jobs, the oldest waiting since <time [^>]+>[^<]+<\/time><\/li>/)
  expect(body).toContain('<li>Unknown key: 3</li>')
  expect(body).not.toContain('Missing scope')
})

test('a key lands on the first page that its scopes allow, and another page says which scope it lacks', async () => {
  const { send, signIn, service } = await startConsole()
  const cases = [
    [['occupations:read', 'operate'], '/console/returns', '/console/submissions', 'validation-results:read'],
    [['validation-results:read'], '/console/submissions', '/console/operator', 'operate'],
    [['operate'], '/console/returns', '/console/occupations', 'occupations:read'],
    [['occupations:read'], '/console/occupations', '/console/returns', 'operate'],
    [['codings:confirm'], '/console/code/confirmed', '/console/code', 'occupations:read'],
  ] as const
  for (const [scopes, home, other, missing] of cases) {
    const { key } = await service.createKey({ client: 'person', scopes, eids: ['1001'] })
    const cookie = await signIn(key)
    expect((await send({ url: '/console', headers: { cookie } })).headers.location).toBe(home)
    const { statusCode, body } = await send({ url: other, headers: { cookie } })
    expect([statusCode, body.includes(`lacks the scope ${missing}`)]).toEqual([401, true])
    const eid = missing === 'validation-results:read' ? ' --eid ORGANISATION' : ''
    expect(body).toContain(`<code>mahi keys create --client NAME --scope ${missing}${eid}</code>`)
    // Who has signed in with an identity provider has no key.
    expect(body).not.toMatch(/your key/i)
    expect(body.slice(body.indexOf('<main'))).not.toMatch(/header|X-API-Key/i)
    // The logo leads home.
    expect(body).toContain('class="brand" href="/console"')
  }
  const { key } = await service.createKey({ client: 'writer', scopes: ['submissions:write'], eids: ['1001'] })
  const { body } = await send({ url: '/console', headers: { cookie: await signIn(key) } })
  expect(body).toContain('Nothing to show')
  expect(body).toContain('such as <code>')
  // Without returns, who sees all of them and has submissions starts with these.
  const all = await service.createKey({ client: 'demo', scopes: SCOPES, eids: ['1001'] })
  const demo = await send({ url: '/console', headers: { cookie: await signIn(all.key) } })
  expect(demo.headers.location).toBe('/console/submissions')
})

test('what is wrong with a link is not said of the field for a key', async () => {
  const { post } = await startConsole()
  const used = await post(`/console/link/${'x'.repeat(43)}`, {})
  expect(used.body).toContain('A demo prints a new link each time it starts.')
  expect(used.body).not.toContain('aria-invalid')
})

test('the console is not there unless it is turned on', async () => {
  const service = await Service.start()
  expect((await service.app.inject({ url: '/console' })).statusCode).toBe(404)
})

test('a page that does not exist says so, and leads to those that do', async () => {
  const { send, signIn } = await startConsole()
  const cookie = await signIn()
  const { statusCode, body } = await send({ url: '/console/nowhere', headers: { cookie } })
  expect([statusCode, body]).toEqual([404, expect.stringContaining('<a href="/console/occupations"')])
  expect(body).toContain('This page does not exist.')
})

test('a session of one replica continues at another', async () => {
  const url = temporaryDatabaseUrl()
  const [one, other] = [await startConsole({}, url), await startConsole({}, url)]
  const cookie = await one.signIn()
  await one.service.lifecycle.end()
  expect((await other.send({ url: '/console/changes', headers: { cookie } })).statusCode).toBe(200)
})

test.skipIf(engine === 'sqlite')(
  'while the database is unavailable, a page says so and how to go on',
  async () => {
    const url = new URL(temporaryDatabaseUrl())
    const port = Number(url.port || '5432')
    const proxy = await PausableProxy.start(port)
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const { send, post, signIn } = await startConsole({}, url.href)
    const cookie = await signIn()
    const show = (page: string) => send({ url: `/console${page}`, headers: { cookie } })
    expect((await show('/changes')).statusCode).toBe(200)

    proxy.redirect(await findFreePort())
    const page = await show('/changes?since=1')
    expect([page.statusCode, page.headers['content-type'], page.headers['retry-after']]).toEqual([
      503,
      'text/html; charset=utf-8',
      '1',
    ])
    expect(page.body).toContain('The database does not respond.')
    expect(page.body).toContain('<a href="/console/changes?since=1">Try again</a>')
    const sent = await post('/console/submissions', { returnId: '202512' }, { ...OWN, cookie })
    expect(sent.statusCode).toBe(503)

    proxy.redirect(port)
    await expect.poll(async () => (await show('/changes')).statusCode).toBe(200)
  },
)
