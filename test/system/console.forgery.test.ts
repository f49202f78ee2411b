import { createServer } from 'node:http'
import type { InjectOptions } from 'fastify'
import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { SCOPES } from '../../src/api/access/principal.ts'
import { TOKEN_FIELD } from '../../src/console/form-token.ts'
import { Sessions } from '../../src/console/sessions.ts'
import { chromiumPath, startBrowser } from '../support/browser.ts'
import { listenOn } from '../support/connection.ts'
import { ConsoleService, describeForm, listRoutes, tokenOf } from '../support/console.ts'

const routes = (await listRoutes()).map((route) => {
  const [method = '', path = ''] = route.split(' ')
  return { method, path }
})
const changes = routes.filter(({ method }) => method !== 'GET')
const pages = routes.filter(({ method, path }) => method === 'GET' && !path.startsWith('/console/assets'))

const ENCODINGS = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']

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

describe.skipIf(chromiumPath === undefined)('a page of another origin', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  /** Serves the attacker's page, on another port of the console's host and on another host. */
  async function startEvil() {
    let content = ''
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(content)
    })
    const port = await listenOn(server)
    return {
      origins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
      serve: (html: string) => {
        content = html
      },
    }
  }

  test('cannot send any form of the console', { timeout: 300_000 }, async () => {
    const { console, token, attacker, read } = await start()
    const { origins, serve } = await startEvil()
    const { page } = await console.open(browser)
    const before = await read()
    const fields = {
      [TOKEN_FIELD]: attacker.formToken,
      eid: '1001',
      returnId: '202504',
      run: '1',
      titles: 'Teacher',
      key: attacker.key,
      to: '/console/code',
    }
    const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`)
    const accepted: string[] = []
    const answered: string[] = []
    page.on('response', (response) => {
      const request = response.request()
      const { pathname } = new URL(request.url())
      if (!request.url().startsWith(console.url) || ['GET', 'OPTIONS'].includes(request.method())) return
      answered.push(pathname)
      if (response.status() !== 403) accepted.push(`${request.method()} ${pathname}: ${response.status()}`)
    })
    const values: Readonly<Record<string, string>> = { token, resource: 'learners', secret: attacker.link }
    for (const [index, { method, path }] of changes.entries()) {
      const url = `${console.url}${fill(path, (name) => values[name] ?? '')}?eid=1001`
      for (const [place, origin] of origins.entries()) {
        // The test above sends each form in every encoding; here the browser decides about the origin and the cookie.
        const enctype = ENCODINGS[(index + place) % ENCODINGS.length]
        serve(`<form method="post" enctype="${enctype}" action="${url}">${inputs.join('')}</form>`)
        await page.goto(origin)
        // A form without a script sends GET or POST.
        if (method === 'POST') {
          await Promise.all([
            page.waitForResponse((response) => response.request().method() === 'POST'),
            page.waitForEvent('load'),
            page.evaluate(() => document.forms[0]?.submit()),
          ])
          await page.goto(origin)
        }
        await page.evaluate(
          async ({ method, url, fields }) => {
            for (const mode of ['no-cors', 'cors'] as const) {
              const body = new URLSearchParams(fields)
              await fetch(url, { method, mode, credentials: 'include', body }).catch(() => undefined)
            }
          },
          { method, url, fields },
        )
      }
    }
    expect(accepted).toEqual([])
    const forms = changes.filter(({ method }) => method === 'POST')
    expect(answered.length).toBeGreaterThanOrEqual(forms.length * origins.length)
    expect(await read()).toEqual(before)
    await page.goto(`${console.url}/console/occupations`)
    expect(await page.locator('.who').textContent()).toBe('adviser')
  })

  /** What the forms and links of a page lead to. A page whose script leads on is followed. */
  async function listTargets(tab: Page): Promise<string[]> {
    for (;;) {
      try {
        return await tab.evaluate(() => [
          ...[...document.forms]
            .filter(({ method }) => method === 'post')
            .map(({ action }) => `form ${action}`),
          ...[...document.links].map(({ href }) => `link ${href}`),
        ])
      } catch (error) {
        if (!String(error).includes('context was destroyed')) throw error
        await tab.waitForLoadState('load')
      }
    }
  }

  test('cannot make a page of the console send a form, or lead elsewhere, by what the page reflects', {
    timeout: 300_000,
  }, async () => {
    const { console, token, attacker, read } = await start()
    const { origins, serve } = await startEvil()
    const { page } = await console.open(browser)
    // The names of the parameters that pages read.
    const spies = (['get', 'has', 'getAll'] as const).map((name) => vi.spyOn(URLSearchParams.prototype, name))
    const asAttacker = { host: 'localhost', 'sec-fetch-site': 'none' }
    const cookies = await page.context().cookies(console.url)
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    for (const { path } of pages) {
      const url = fill(path, (name) => (name === 'token' ? token : 'A1'))
      await console.service.app.inject({ url, headers: { ...asAttacker, cookie } })
      await console.service.app.inject({ url, headers: asAttacker })
    }
    const names = new Set(spies.flatMap((spy) => spy.mock.calls.map(([name]) => name)))
    vi.restoreAllMocks()
    expect([...names]).toEqual(expect.arrayContaining(['eid', 'to', 'returnId', 'q', 'since', 'code']))

    const target = `/console/submissions/${token}/delete`
    const hostile = [
      `../submissions/${token}/delete?eid=1001`,
      `${target}?eid=1001#`,
      `//${new URL(origins[0] ?? '').host}/`,
      'javascript:document.forms[0].submit()',
    ]
    const before = await read()
    const faults: string[] = []
    const visit = async (tab: Page, origin: string, path: string, value: string) => {
      const note = (request: Request) => {
        const isOwn = request.url().startsWith(console.url)
        if (request.method() !== 'GET' || !(isOwn || request.url() === `${origin}/`))
          faults.push(`${path} with ${value}: ${request.method()} ${request.url()}`)
      }
      await tab.goto(origin)
      tab.on('request', note)
      const query = new URLSearchParams([...names].map((name) => [name, value]))
      const url = `${console.url}${fill(path, () => value)}?${query}`
      // Later, because the page that is left answers no more.
      await tab.evaluate((url) => {
        setTimeout(() => {
          location.href = url
        })
      }, url)
      await tab.waitForURL(`${console.url}/**`)
      await tab.waitForLoadState('networkidle', { timeout: 30_000 }).catch(() => undefined)
      const led = await listTargets(tab)
      for (const each of led) {
        const [kind = '', href = ''] = each.split(' ')
        const { origin: to, pathname } = new URL(href)
        const isConfirmed = new URL(tab.url()).pathname === target
        if (to !== console.url || (kind === 'form' && pathname === target && !isConfirmed))
          faults.push(`${path} with ${value}: a ${kind} leads to ${href}`)
      }
      tab.off('request', note)
    }
    serve('')
    const [neighbour = '', foreign = ''] = origins
    const visitAll = async (origin: string, value: string) => {
      const tab = await page.context().newPage()
      for (const { path } of pages) await visit(tab, origin, path, value)
    }
    // The browser sends the cookie when a neighbour leads to a page, and after a detour when another site does.
    await Promise.all([
      ...hostile.map((value) => visitAll(neighbour, value)),
      visitAll(foreign, hostile[0] ?? ''),
    ])
    expect(faults).toEqual([])
    expect(await read()).toEqual(before)

    // A link that is valid, to the attacker's own session.
    for (const origin of origins) await visit(page, origin, '/console/link/:secret', attacker.link)
    expect(faults).toEqual([])
    expect(await read()).toEqual(before)
    await page.goto(`${console.url}/console/occupations`)
    expect(await page.locator('.who').textContent()).toBe('adviser')
  })
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
