import { expect, test } from 'vitest'
import { DEFAULT_SCOPES, SCOPES } from '../../src/api/access/principal.ts'
import { Sessions } from '../../src/console/sessions.ts'
import { describeInBrowser, openPage } from '../support/console.ts'
import { findFreePort } from '../support/free-port.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { Service } from '../support/service.ts'

describeInBrowser('signing in with an identity provider', () => {
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
    return { service, publicUrl }
  }

  test.each([
    ['reader', DEFAULT_SCOPES],
    ['everything', SCOPES],
  ])(
    'returns %s to the requested page, with the scopes that the provider lists, by default those to read',
    async (login, scopes) => {
      const { service, publicUrl } = await start()
      const page = await openPage()
      await page.goto(`${publicUrl}/console/changes`)
      await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
      await page.locator('input[name="login"]').fill(login)
      expect(await page.context().cookies(publicUrl)).toContainEqual(
        expect.objectContaining({ name: 'mahi-signing-in', httpOnly: true, sameSite: 'Lax' }),
      )
      await page.locator('input[name="password"]').fill('any')
      await page.locator('button[type="submit"]').click()
      await page.locator('button[type="submit"]').click()
      await page.waitForURL(`${publicUrl}/console/changes`)
      expect(await page.locator('.who').textContent()).toBe('A Person')
      const cookies = await page.context().cookies(publicUrl)
      expect(cookies.filter(({ name }) => name.includes('mahi'))).toMatchObject([
        { name: 'mahi-session', httpOnly: true, sameSite: 'Strict' },
      ])
      const session = await service.database.get<{ principal: string }>(
        'select principal from console_session',
      )
      expect(JSON.parse(session?.principal ?? '{}')).toMatchObject({ scopes })
      // Who a person is stays out of the log.
      for (const secret of ['A Person', login]) expect(service.log.join('')).not.toContain(secret)
    },
  )

  test('does not begin because another site leads to it, ends the session before, and needs a beginning', async () => {
    const { service } = await start()
    const send = (path: string, headers: Record<string, string>) =>
      service.app.inject({ url: `/console/${path}`, headers: { host: '127.0.0.1', ...headers } })
    for (const site of ['cross-site', 'same-site']) {
      const { headers } = await send('sign-in/provider', { 'sec-fetch-site': site })
      expect([headers.location, headers['set-cookie']]).toEqual(['/console/sign-in', undefined])
    }
    const sessions = new Sessions(service.database)
    const { id } = await service.createKey({})
    const cookie = `mahi-session=${await sessions.openLink(await sessions.createLink(id))}`
    const own = await send('sign-in/provider', { 'sec-fetch-site': 'same-origin', cookie })
    expect(own.headers.location).toContain('code_challenge_method=S256')
    expect(await service.database.all('select hash from console_session')).toEqual([])
    const stolen = await send('signed-in?code=stolen&state=guessed', {})
    expect([stolen.statusCode, stolen.body]).toEqual([401, expect.stringContaining('did not confirm')])
    expect(await service.database.all('select hash from console_session')).toEqual([])
  })
})

test('a provider that does not respond is said to be so', async () => {
  const service = await Service.start({
    ...{ CONSOLE: 'on', PUBLIC_URL: 'http://localhost', OIDC_CLIENT_ID: 'mahi' },
    OIDC_ISSUER: 'http://127.0.0.1:9',
  })
  const headers = { host: 'localhost', 'sec-fetch-site': 'same-origin' }
  const { body } = await service.app.inject({ url: '/console/sign-in/provider', headers })
  expect(body).toContain('does not respond')
})
