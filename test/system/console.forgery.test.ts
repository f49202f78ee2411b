import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { TOKEN_FIELD } from '../../src/console/form-token.ts'
import { listenOn } from '../support/connection.ts'
import { ConsoleService, describeInBrowser } from '../support/console.ts'

describeInBrowser('a page of another origin', () => {
  // test/console.forgery.test.ts sends each form in every encoding; here the browser decides about origin and cookie.
  test('cannot send a form of the console, by itself or by a script', async () => {
    const console = await ConsoleService.start()
    const { page } = await console.open()
    let content = ''
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(content)
    })
    const port = await listenOn(server)
    const statuses: number[] = []
    page.on('response', (response) => {
      const isForm = response.request().method() === 'POST' && response.url().startsWith(console.url)
      if (isForm) statuses.push(response.status())
    })
    const url = `${console.url}/console/sign-out`
    for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`])
      for (const enctype of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) {
        content = `<form method="post" enctype="${enctype}" action="${url}"><input name="${TOKEN_FIELD}" value="x"></form>`
        await page.goto(origin)
        await Promise.all([
          page.waitForResponse((response) => response.request().method() === 'POST'),
          page.waitForEvent('load'),
          page.evaluate(() => document.forms[0]?.submit()),
        ])
        await page.goto(origin)
        await page.evaluate(async (url) => {
          for (const mode of ['no-cors', 'cors'] as const)
            await fetch(url, { method: 'POST', mode, credentials: 'include', body: 'x=1' }).catch(
              () => undefined,
            )
        }, url)
      }
    expect(statuses.length).toBeGreaterThanOrEqual(6)
    expect(new Set(statuses)).toEqual(new Set([403]))
    await page.goto(`${console.url}/console/occupations`)
    expect(await page.locator('.who').textContent()).toBe('adviser')
  })
})
