import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEFAULT_SCOPES, SCOPES } from '../../src/api/access/principal.ts'
import { chromiumPath, startBrowser } from '../support/browser.ts'
import { findFreePort } from '../support/free-port.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { Service } from '../support/service.ts'

describe.skipIf(chromiumPath === undefined)('signing in with an identity provider', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  async function start() {
    const port = await findFreePort()
    const publicUrl = `http://127.0.0.1:${port}`
    const provider = await startIdentityProvider(() => `${publicUrl}/console/signed-in`)
    const service = await Service.start({
      CONSOLE: 'on',
      PUBLIC_URL: publicUrl,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.clientId,
      OIDC_CLIENT_SECRET: provider.clientSecret,
    })
    await service.app.listen({ host: '127.0.0.1', port })
    const page = await (await browser.newContext()).newPage()
    const signIn = async (login: string) => {
      await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
      await page.locator('input[name="login"]').fill(login)
      await page.locator('input[name="password"]').fill('any')
      await page.locator('button[type="submit"]').click()
      await page.locator('button[type="submit"]').click()
    }
    return { service, publicUrl, page, signIn }
  }

  test("returns to the requested page, signed in as the provider's user", async () => {
    const { service, publicUrl, page } = await start()
    await page.goto(`${publicUrl}/console/changes`)
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
    await page.locator('input[name="login"]').waitFor()
    expect(await page.context().cookies(publicUrl)).toContainEqual(
      expect.objectContaining({ name: 'mahi-signing-in', httpOnly: true, sameSite: 'Lax' }),
    )
    await page.locator('input[name="login"]').fill('reader')
    await page.locator('input[name="password"]').fill('any')
    await page.locator('button[type="submit"]').click()
    await page.locator('button[type="submit"]').click()
    await page.waitForURL(`${publicUrl}/console/changes`)
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Changes of the catalogue')
    expect(await page.locator('.who').textContent()).toBe('A Person')
    const cookies = await page.context().cookies(publicUrl)
    expect(cookies.filter(({ name }) => name.includes('mahi'))).toMatchObject([
      { name: 'mahi-session', httpOnly: true, sameSite: 'Strict' },
    ])
    // Who a person is stays out of the log.
    expect(service.log.join('')).not.toContain('A Person')
    expect(service.log.join('')).not.toContain('reader')
  })

  test.each([
    ['reader', DEFAULT_SCOPES],
    ['everything', SCOPES],
  ])('gives %s the scopes that the provider lists, by default those to read', async (login, scopes) => {
    const { service, publicUrl, page, signIn } = await start()
    await page.goto(`${publicUrl}/console/changes`)
    await signIn(login)
    await page.waitForURL(`${publicUrl}/console/changes`)
    const session = await service.database.get<{ principal: string }>('select principal from console_session')
    expect(JSON.parse(session?.principal ?? '{}')).toMatchObject({ scopes })
  })

  test('does not begin because another site leads to it, and ends the session before', async () => {
    const { service } = await start()
    const begin = (headers: Record<string, string>) =>
      service.app.inject({ url: '/console/sign-in/provider', headers: { host: '127.0.0.1', ...headers } })
    for (const site of ['cross-site', 'same-site']) {
      const { headers } = await begin({ 'sec-fetch-site': site })
      expect([headers.location, headers['set-cookie']]).toEqual(['/console/sign-in', undefined])
    }
    const signedIn = await service.app.inject({
      method: 'POST',
      url: '/console/sign-in',
      payload: `key=${service.key}`,
      headers: {
        host: '127.0.0.1',
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
    })
    const cookie = String(signedIn.headers['set-cookie']).split(';', 1)[0] ?? ''
    const own = await begin({ 'sec-fetch-site': 'same-origin', cookie })
    expect(own.headers.location).toContain('code_challenge_method=S256')
    expect(await service.database.all('select hash from console_session')).toEqual([])
  })

  test('a callback without a started sign-in is refused', async () => {
    const { publicUrl, page } = await start()
    const response = await page.goto(`${publicUrl}/console/signed-in?code=stolen&state=guessed`)
    expect(response?.status()).toBe(401)
    expect(await page.getByRole('alert').textContent()).toContain('did not confirm')
    expect(await page.context().cookies(publicUrl)).toEqual([])
  })

  test('a provider that does not respond is said to be so', async () => {
    const { publicUrl, page } = await start()
    const service = await Service.start({
      CONSOLE: 'on',
      PUBLIC_URL: publicUrl,
      OIDC_ISSUER: 'http://127.0.0.1:9',
      OIDC_CLIENT_ID: 'mahi',
    })
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
    await page.goto(`${url}/console/sign-in/provider`)
    expect(await page.getByRole('alert').textContent()).toContain('does not respond')
  })
})
