import type { InjectOptions } from 'fastify'
import { expect, test, vi } from 'vitest'
import { SCOPES } from '../src/api/access/principal.ts'
import { TOKEN_FIELD } from '../src/console/form-token.ts'
import { Sessions } from '../src/console/sessions.ts'
import { ConsoleService, describeForm, listRoutes, tokenOf } from './support/console.ts'

const routes = (await listRoutes()).map((route) => {
  const [method = '', path = ''] = route.split(' ')
  return { method, path }
})
const changes = routes.filter(({ method }) => method !== 'GET')
const pages = routes.filter(({ method, path }) => method === 'GET' && !path.startsWith('/console/assets'))

/** Sent before there is a session: they carry a key or the secret of a link instead of a token. */
const SIGNING_IN = /^\/console\/(?:sign-in|link\/.*)$/

/** A service with a submission that can be changed in every way, and the attacker's own session at it. */
async function start() {
  const console = await ConsoleService.start({ RATE_LIMIT_SUBMISSIONS: 'off' })
  const { service } = console
  await service.import([{ occupationCode: 'A1', titleEnglish: 'Teacher' }])
  const { key } = await service.createKey({ client: 'vendor', scopes: SCOPES, eids: ['1001'] })
  const call = async (method: 'PUT' | 'POST' | 'GET', path: string, payload?: string, type?: string) => {
    const headers = { 'x-api-key': key, eid: '1001', ...(type !== undefined && { 'content-type': type }) }
    const url = `/v1/submissions${path}`
    return await service.request({ method, url, headers, ...(payload !== undefined && { payload }) })
  }
  const { submissionToken: token } = (
    await call('POST', '', '{"returnId":"202503"}', 'application/json')
  ).json()
  await call('PUT', `/${token}/files/learners`, 'learner_id\n1\n', 'text/csv')
  await call('POST', `/${token}/validation-runs`)
  const other = await service.createKey({ client: 'attacker', scopes: SCOPES, eids: ['2002'] })
  const sessions = new Sessions(service.database)
  const own = await console.signIn(other.id)
  return {
    console,
    token,
    attacker: { key: other.key, formToken: tokenOf(own), link: await sessions.createLink(other.id) },
    /** Everything that a form of the console can change. */
    read: async () => ({
      submissions: (await call('GET', '')).json(),
      submission: (await call('GET', `/${token}`)).json(),
      sessions: await service.database.all('select hash, key_id from console_session order by hash'),
      links: await service.database.all('select hash from console_link order by hash'),
    }),
  }
}

/** The path of a route with a value for each of its parameters. */
const fill = (path: string, find: (name: string) => string) =>
  path
    .replace('*', 'nowhere')
    .replaceAll(/:(\w+)(?:\([^)]*\))?/g, (_, name) => encodeURIComponent(find(name)))

test('a form without the token of its session changes nothing', async () => {
  const { console, token, attacker, read } = await start()
  const cookie = await console.signIn()
  const before = await read()
  const fields = { eid: '1001', returnId: '202504', run: '1', titles: 'Teacher' }
  const boundary = 'limit'
  const files = (formToken: string) =>
    Object.entries({ ...fields, [TOKEN_FIELD]: formToken, learners: '2' })
      .map(
        ([name, value]) =>
          `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      )
      .join('')
  let tried = 0
  for (const { method, path } of changes.filter((each) => !SIGNING_IN.test(each.path))) {
    const url = `${fill(path, (name) => (name === 'token' ? token : 'learners'))}?eid=1001`
    for (const formToken of ['', attacker.formToken]) {
      const form = describeForm({ ...fields, [TOKEN_FIELD]: formToken }, cookie)
      const types: readonly InjectOptions[] = [
        form,
        {
          headers: { ...form.headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
          payload: `${files(formToken)}--${boundary}--\r\n`,
        },
        {
          headers: { ...form.headers, 'content-type': 'text/csv', 'x-form-token': formToken },
          payload: 'learner_id\n2\n',
        },
        {
          headers: { ...form.headers, 'content-type': 'text/plain' },
          payload: `${TOKEN_FIELD}=${formToken}\r\neid=1001\r\n`,
        },
      ]
      for (const type of types) {
        const { statusCode } = await console.service.app.inject({
          ...form,
          ...type,
          method: method as 'POST',
          url,
        })
        expect(statusCode, `${method} ${path}`).toBe(403)
        tried++
      }
    }
  }
  expect(tried).toBeGreaterThan(50)
  expect(await read()).toEqual(before)
})

test('no page leads elsewhere, or to a change, by what it reflects', async () => {
  const { console, token, read } = await start()
  const cookie = await console.signIn()
  const headers = { host: 'localhost', cookie }
  const { app, files } = console.service
  const show = async (url: string) => (await files.during(app.inject({ url, headers }))).body
  // The names of the parameters that pages read.
  const spies = (['get', 'has', 'getAll'] as const).map((name) => vi.spyOn(URLSearchParams.prototype, name))
  for (const { path } of pages) await show(fill(path, (name) => (name === 'token' ? token : 'A1')))
  const names = new Set(spies.flatMap((spy) => spy.mock.calls.map(([name]) => name)))
  for (const spy of spies) spy.mockRestore()
  expect([...names]).toEqual(expect.arrayContaining(['eid', 'to', 'returnId', 'q', 'since', 'code']))
  const target = `/console/submissions/${token}/delete`
  const before = await read()
  for (const value of [
    `../submissions/${token}/delete?eid=1001`,
    `${target}?eid=1001#`,
    '//evil.example/',
    'https://evil.example/',
    'javascript:document.forms[0].submit()',
    '"><form action="https://evil.example/">',
  ])
    for (const { path } of pages) {
      const query = new URLSearchParams([...names].map((name) => [name, value]))
      const at = fill(path, () => value)
      const body = await show(`${at}?${query}`)
      const targets = [...body.matchAll(/<form[^>]* action="([^"]*)"|<a[^>]* href="([^"]*)"/g)]
      for (const [, action, href = ''] of targets) {
        const url = new URL((action ?? href).replaceAll('&amp;', '&'), `http://localhost${at}`)
        expect([path, value, url.origin]).toEqual([path, value, 'http://localhost'])
        if (action !== undefined) expect([path, value, url.pathname]).not.toEqual([path, value, target])
      }
    }
  expect(await read()).toEqual(before)
})

test('the path of a one-time link has one form', async () => {
  const { console } = await start()
  for (const secret of [
    'none',
    'x'.repeat(42),
    'x'.repeat(44),
    `${'x'.repeat(43)}%2f`,
    `..%2f${'x'.repeat(40)}`,
  ]) {
    const url = `/console/link/${secret}`
    const shown = await console.service.app.inject({ url, headers: { host: 'localhost' } })
    expect([shown.statusCode, shown.body.includes('data-submit')]).toEqual([404, false])
    expect((await console.service.app.inject({ url, ...describeForm({}) })).statusCode).toBe(405)
  }
})
