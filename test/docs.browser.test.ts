import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROBLEMS } from '../src/api/contract/problems.ts'
import { chromiumPath, startBrowser } from './support/browser.ts'
import { Service } from './support/service.ts'

const EID = '1001'
/** Opens the reference as the demo shows it. */
const DEMO = 'demo'

describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  /** A service that listens, with a record and a submission, and a page that notes what goes wrong in it. */
  async function open(path: string) {
    const demo = { key: '', eid: EID, token: 'a-submission' }
    const service = await Service.start({}, undefined, path === DEMO ? { demo } : {})
    demo.key = service.key
    await service.import([{ occupationCode: 'A1', titleEnglish: 'Teacher', titleMaori: 'Kaiako' }])
    await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Error' }], { token: 'a-submission' })
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
    const page = await browser.newPage()
    const troubles: string[] = []
    page.on('console', (message) => {
      // A browser asks for an icon wherever it goes.
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
        troubles.push(message.text())
    })
    page.on('pageerror', (error) => troubles.push(error.message))
    page.on('request', (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(url))
        troubles.push(request.url())
    })
    await page.goto(url + (path === DEMO ? '/docs' : path))
    return { service, url, page, troubles }
  }

  /** Opens an operation, fills in its parameters, sends the request and reads the answer. */
  async function tryOperation(page: Page, operationId: string, parameters: Record<string, string>) {
    const operation = page.locator(`[id$="${operationId}"]`)
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    for (const [name, value] of Object.entries(parameters)) {
      await operation.locator(`tr[data-param-name="${name}"] input`).fill(value)
    }
    await operation.getByRole('button', { name: 'Execute' }).click()
    const live = operation.locator('.live-responses-table .response')
    await live.waitFor()
    return {
      status: await live.locator('.response-col_status').innerText(),
      body: await live.locator('.highlight-code').first().innerText(),
    }
  }

  test('the reference tries each operation with a key and shows the answer, and asks no other host', async () => {
    const { service, page, troubles } = await open('/docs')
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    const dialog = page.locator('.modal-ux')
    await dialog.locator('input').first().fill(service.key)
    await dialog.getByRole('button', { name: 'Apply credentials' }).first().click()
    await dialog.getByRole('button', { name: 'Close' }).first().click()

    const occupations = await tryOperation(page, 'listOccupations', { Limit: '1' })
    expect(occupations.status).toContain('200')
    expect(occupations.body).toContain('Kaiako')
    const results = await tryOperation(page, 'getValidationResults', { submissionToken: 'a-submission', EID })
    expect(results.status).toContain('200')
    expect(results.body).toContain('"localId": "L1"')
    expect(troubles).toEqual([])
    await page.close()
  })

  test('the client runs in a page', async () => {
    // A page that may ask: what is no page for people may do nothing.
    const { service, url, page, troubles } = await open('/docs/')
    const bundle = await build({
      entryPoints: [new URL('../client/src/index.ts', import.meta.url).pathname],
      bundle: true,
      format: 'iife',
      globalName: 'mahi',
      write: false,
    })
    const code = bundle.outputFiles[0]?.text ?? ''
    const titles = await page.evaluate(
      async ({ code, url, key, eid }) => {
        const mahi = new Function(`${code}; return mahi`)() as typeof import('../client/src/index.ts')
        const client = mahi.createClient({ baseUrl: url, apiKey: key, eid })
        const found: unknown[] = []
        for await (const { titleMaori } of client.occupations.all()) found.push(titleMaori)
        for await (const { localId } of client.validationResults.all('a-submission')) found.push(localId)
        return found
      },
      { code, url, key: service.key, eid: EID },
    )
    expect(titles).toEqual(['Kaiako', 'L1'])
    expect(troubles).toEqual([])
    await page.close()
  })

  test('the reference of the demo has its key, its organisation and its submission filled in', async () => {
    const { page, troubles } = await open(DEMO)
    expect((await tryOperation(page, 'getValidationResults', {})).status).toContain('200')
    expect(troubles).toEqual([])
    await page.close()
  })

  test.for(['light', 'dark'] as const)('the reference is shown in %s mode', async (colorScheme) => {
    const { url, page } = await open('/livez')
    await page.emulateMedia({ colorScheme })
    await page.goto(`${url}/docs`)
    await page.locator('.opblock').first().waitFor()
    expect((await page.locator('html').getAttribute('class')) ?? '').toBe(
      colorScheme === 'dark' ? 'dark-mode' : '',
    )
    expect(await page.locator('img[alt="Swagger UI"], .topbar').count()).toBe(0)
    await page.close()
  })

  test('axe finds no serious fault in the pages of problems', async () => {
    const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    const { url, page } = await open('/livez')
    const paths = ['', '/unknown', ...Object.keys(PROBLEMS).map((slug) => `/${slug}`)]
    for (const [index, slug] of paths.entries()) {
      await page.emulateMedia({ colorScheme: index % 2 === 0 ? 'light' : 'dark' })
      await page.goto(`${url}/problems${slug}`)
      const violations = await page.evaluate(async (source) => {
        const run = new Function(`${source}; return axe`)() as {
          run(): Promise<{ violations: { impact: string; id: string }[] }>
        }
        return (await run.run()).violations
      }, axe)
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      expect(serious.map(({ id }) => `${slug}: ${id}`)).toEqual([])
    }
    await page.close()
  })
})
