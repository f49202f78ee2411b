import { build } from 'esbuild'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { PROBLEMS } from '../../src/api/request/problems.ts'
import { describeInBrowser, findBarriers, noteTroubles, openPage } from '../support/console.ts'
import { Service } from '../support/service.ts'

const EID = '1001'
/** Opens the reference as the demo shows it. */
const DEMO = 'demo'

describeInBrowser('in a browser', () => {
  /** A service that listens, with a record and a submission, and a page that notes what goes wrong in it. */
  async function open(path: string, options: BrowserContextOptions = {}) {
    const demo = { key: '', eid: EID, token: 'a-submission' }
    const service = await Service.start({}, undefined, path === DEMO ? { demo } : {})
    demo.key = service.key
    await service.import([{ occupationCode: 'A1', titleEnglish: 'Teacher', titleMaori: 'Kaiako' }])
    await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Error' }], { token: 'a-submission' })
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
    const page = await openPage(options)
    const troubles = noteTroubles(page, url)
    await page.goto(url + (path === DEMO ? '/docs' : path))
    return { service, url, page, troubles }
  }

  /** Opens an operation, fills in its parameters, sends the request and reads the response. */
  async function tryOperation(page: Page, operationId: string, parameters: Record<string, string>) {
    const operation = page.locator(`[id$="-${operationId}"]`)
    await operation.locator('.opblock-summary-control').click()
    for (const [name, value] of Object.entries(parameters))
      await operation.getByLabel(name, { exact: true }).fill(value)
    await operation.getByRole('button', { name: 'Execute' }).click()
    const response = operation.locator('.live-responses-table')
    return {
      status: await response.locator('.response-col_status').last().innerText(),
      body: await response.locator('pre').first().innerText(),
      curl: await operation.locator('.curl').innerText(),
    }
  }

  async function authorize(page: Page, key: string) {
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    const dialog = page.locator('.auth-container').filter({ hasText: 'X-API-Key' })
    await dialog.locator('input').fill(key)
    await dialog.getByRole('button', { name: /^apply|^authorize/i }).click()
    await page.keyboard.press('Escape')
    const close = page.locator('.dialog-ux .close-modal')
    if (await close.isVisible()) await close.click()
  }

  test('the reference shows each operation, tries it with a key, and asks no other host', async () => {
    const { service, url, page, troubles } = await open('/docs')
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
    const operations = Object.values(paths).flatMap((each) => Object.keys(each))
    await page.locator('.opblock').first().waitFor()
    expect(await page.locator('.opblock').count()).toBe(operations.length)
    await authorize(page, service.key)
    const results = await tryOperation(page, 'getValidationResults', { submissionToken: 'a-submission', EID })
    expect(results.status).toContain('200')
    expect(results.body).toContain('"localId": "L1"')
    expect(results.curl).toContain(`${url}/v1/submissions/a-submission/validation-results`)
    expect(results.curl).toContain(`EID: ${EID}`)
    const { key } = await service.createKey({ client: 'registry', scopes: ['codings:confirm'] })
    // The page keeps no key.
    await page.reload()
    await authorize(page, key)
    const confirmed = await tryOperation(page, 'confirmCodings', {
      'Request body': '{"items": [{"title": "It\'s a teacher", "occupationCode": "A1"}]}',
    })
    expect(confirmed.status).toContain('200')
    expect(confirmed.body).toContain('"reviewer": "registry"')
    expect(troubles).toEqual([])
  })

  test('the page of the demo has its key, its organisation and its submission filled in, and runs the client', async () => {
    const { service, url, page, troubles } = await open(DEMO)
    expect((await tryOperation(page, 'getValidationResults', {})).status).toContain('200')
    const bundle = await build({
      entryPoints: [new URL('../../client/src/index.ts', import.meta.url).pathname],
      bundle: true,
      format: 'iife',
      globalName: 'mahi',
      write: false,
    })
    const code = bundle.outputFiles[0]?.text ?? ''
    const titles = await page.evaluate(
      async ({ code, url, key, eid }) => {
        const mahi = new Function(`${code}; return mahi`)() as typeof import('../../client/src/index.ts')
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
  })

  test.for([
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 320 },
  ] as const)(
    'axe finds nothing in the reference and an operation: $colorScheme, $width pixels wide',
    async ({ colorScheme, width }) => {
      const { service, page, troubles } = await open('/docs', {
        colorScheme,
        viewport: { width, height: 800 },
      })
      await page.locator('.opblock').first().waitFor()
      expect(await findBarriers(page)).toEqual([])
      await authorize(page, service.key)
      expect((await tryOperation(page, 'listOccupations', {})).status).toContain('200')
      expect(await findBarriers(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      expect(troubles).toEqual([])
    },
  )

  test('axe finds nothing in the pages of problems', async () => {
    const { url, page } = await open('/livez')
    // One page for each way of rendering: the list, an unknown problem, and known ones.
    const paths = [
      '',
      '/unknown',
      ...Object.keys(PROBLEMS)
        .slice(0, 2)
        .map((slug) => `/${slug}`),
    ]
    for (const [index, slug] of paths.entries()) {
      await page.emulateMedia({ colorScheme: index % 2 === 0 ? 'light' : 'dark' })
      await page.goto(`${url}/problems${slug}`)
      expect([slug, await findBarriers(page)]).toEqual([slug, []])
    }
  })
})
