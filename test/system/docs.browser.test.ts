import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROBLEMS } from '../../src/api/contract/problems.ts'
import { chromiumPath, startBrowser } from '../support/browser.ts'
import { Service } from '../support/service.ts'

const EID = '1001'
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds in a page. */
async function findViolations(page: Page): Promise<string[]> {
  const violations = await page.evaluate(async (source) => {
    const run = new Function(`${source}; return axe`)() as {
      run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>
    }
    return (await run.run()).violations
  }, AXE)
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
}

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

  /** Fills in the form of an operation, sends the request and reads the answer. */
  async function tryOperation(page: Page, operationId: string, parameters: Record<string, string>) {
    const operation = page.locator(`section[id="${operationId}"]`)
    await operation.locator('summary').last().click()
    for (const [name, value] of Object.entries(parameters))
      await operation.getByLabel(name, { exact: true }).fill(value)
    const curl = await operation.locator('[data-curl]').innerText()
    await operation.getByRole('button', { name: 'Send the request' }).click()
    await operation.locator('[data-answer]').waitFor()
    return {
      status: await operation.locator('[data-status]').innerText(),
      body: await operation.locator('[data-answer]').innerText(),
      curl,
    }
  }

  test('the reference tries each operation with a key and shows the answer, and asks no other host', async () => {
    const { service, url, page, troubles } = await open('/docs')
    await page.getByLabel('API key').fill(service.key)
    const occupations = await tryOperation(page, 'listOccupations', { Limit: '1' })
    expect(occupations.status).toContain('200')
    expect(occupations.body).toContain('Kaiako')
    const results = await tryOperation(page, 'getValidationResults', { submissionToken: 'a-submission', EID })
    expect(results.status).toContain('200')
    expect(results.body).toContain('"localId": "L1"')
    const { key } = await service.createKey({ client: 'registry', scopes: ['codings:confirm'] })
    await page.getByLabel('API key').fill(key)
    const confirmed = await tryOperation(page, 'confirmCodings', {
      'Body (application/json)': '{"items": [{"title": "It\'s a teacher", "occupationCode": "A1"}]}',
    })
    expect(confirmed.status).toContain('200')
    expect(confirmed.body).toContain('"reviewer": "registry"')
    expect(confirmed.curl).toContain(`"It'\\''s a teacher"`)
    // A link to a section opens its parts, which are closed on a narrow screen.
    await page.setViewportSize({ width: 390, height: 800 })
    await page.reload()
    const fields = page.getByRole('group', { name: 'Fields of OccupationPage', exact: true })
    expect(await fields.isVisible()).toBe(false)
    await page
      .locator('a[href="#schema-OccupationPage"]')
      .first()
      .evaluate((link: HTMLElement) => link.click())
    await fields.waitFor()
    // The command has what was typed, but not the key.
    expect(results.curl).toContain(`-H 'EID: ${EID}' '${url}/v1/submissions/a-submission/validation-results'`)
    expect(results.curl).not.toContain(service.key)
    expect(troubles).toEqual([])
    await page.close()
  })

  test('the client runs in a page', async () => {
    // A page that may ask: what is no page for people may do nothing.
    const { service, url, page, troubles } = await open('/docs/')
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
    await page.close()
  })

  test('the reference of the demo has its key, its organisation and its submission filled in', async () => {
    const { page, troubles } = await open(DEMO)
    expect((await tryOperation(page, 'getValidationResults', {})).status).toContain('200')
    expect(troubles).toEqual([])
    await page.close()
  })

  test.for([
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 1280 },
    { colorScheme: 'light', width: 320 },
  ] as const)(
    'axe finds nothing in the reference: $colorScheme, $width pixels wide',
    async ({ colorScheme, width }) => {
      const { page, troubles } = await open('/docs')
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      // Its script opens parts by the width that it begins with.
      await page.reload()
      await page.locator('#listOccupations details').evaluateAll((all: HTMLDetailsElement[]) => {
        for (const each of all) each.open = true
      })
      expect(await findViolations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      // On a narrow screen, the parts of all sections are closed until somebody opens them.
      if (width === 320)
        expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(70_000)
      expect(troubles).toEqual([])
      await page.close()
    },
  )

  test('the reference can be read without JavaScript, with a curl command for each operation', async () => {
    const { url } = await open('/docs')
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(`${url}/docs#getOccupation`)
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
    const count = Object.values(paths).flatMap((operations) => Object.keys(operations)).length
    expect(await page.locator('section.operation').count()).toBe(count)
    expect(await page.locator('[data-curl]').allTextContents()).toHaveLength(count)
    expect(await page.locator('section#getOccupation [data-curl]').textContent()).toBe(
      'curl -H "X-API-Key: $KEY" "$URL/v1/occupations/{code}"',
    )
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0)
    await context.close()
  })

  test('axe finds nothing in the pages of problems', async () => {
    const { url, page } = await open('/livez')
    const paths = ['', '/unknown', ...Object.keys(PROBLEMS).map((slug) => `/${slug}`)]
    for (const [index, slug] of paths.entries()) {
      await page.emulateMedia({ colorScheme: index % 2 === 0 ? 'light' : 'dark' })
      await page.goto(`${url}/problems${slug}`)
      expect([slug, await findViolations(page)]).toEqual([slug, []])
    }
    await page.close()
  })
})
