import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import fastify, { type InjectOptions } from 'fastify'
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest'
import { SCOPES } from '../../src/api/access/principal.ts'
import { registerConsole } from '../../src/console/console.ts'
import type { ConsoleServices } from '../../src/console/context.ts'
import { deriveToken, TOKEN_FIELD } from '../../src/console/form-token.ts'
import { Sessions } from '../../src/console/sessions.ts'
import { chromiumPath, startBrowser } from './browser.ts'
import { DEADLINE, untilHolds } from './command.ts'
import { Service } from './service.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The routes of the console as it registers them, such as `POST /console/code`. */
export async function listRoutes(): Promise<readonly string[]> {
  const routes = new Set<string>()
  const app = fastify()
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) if (each !== 'HEAD') routes.add(`${each} ${url}`)
  })
  await registerConsole(app, {} as ConsoleServices)
  await app.ready()
  return [...routes].sort()
}

/** A form as a browser sends it from a page of the session with this cookie; without one, from the sign-in page. */
export function describeForm(fields: Record<string, string>, cookie?: string): InjectOptions {
  const token = cookie === undefined ? {} : { [TOKEN_FIELD]: tokenOf(cookie) }
  return {
    method: 'POST',
    payload: new URLSearchParams({ ...token, ...fields }).toString(),
    headers: {
      host: 'localhost',
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
      ...(cookie !== undefined && { cookie }),
    },
  }
}

/** The token of the forms of a session. */
export const tokenOf = (cookie: string): string => deriveToken(cookie.slice(cookie.indexOf('=') + 1))

let browser: Browser | undefined

/** Tests in a browser, which they share; skipped where there is none. */
export function describeInBrowser(name: string, define: () => void): void {
  describe.skipIf(chromiumPath === undefined)(name, () => {
    beforeAll(async () => {
      browser = await startBrowser()
    })
    afterAll(async () => await browser?.close())
    define()
  })
}

/** A page of a new context, for one test, which waits as long as the slowest machine takes. */
export async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  if (browser === undefined) throw new Error('the test is outside describeInBrowser()')
  const context = await browser.newContext(options)
  onTestFinished(() => context.close())
  context.setDefaultTimeout(DEADLINE)
  return await context.newPage()
}

/** Notes errors of the scripts of a page, and requests to other hosts. */
export function noteTroubles(page: Page, origin: string): string[] {
  const troubles: string[] = []
  page.on('console', (message) => {
    // A browser asks for an icon wherever it goes, and reports each status of an error.
    const isIcon = message.location().url.endsWith('/favicon.ico')
    const isStatus = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isIcon && !isStatus) troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !/^(?:data|blob):/.test(url)) troubles.push(`asked ${url}`)
  })
  return troubles
}

/** What axe finds on a page, by rule: WCAG 2.2 AA with its target sizes, which axe leaves out by default. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Evaluated by the browser's debugger, which the page's policy does not concern.
  await page.evaluate(AXE)
  return await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe
    const { violations } = await axe.run({ rules: { 'target-size': { enabled: true } } })
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 150)).join(' | ')}`,
    )
  })
}

/** A service with the console on, that listens and knows one person who may do everything. */
export class ConsoleService {
  readonly service: Service
  readonly url: string
  readonly keyId: string
  readonly #screen: BrowserContextOptions

  private constructor(service: Service, url: string, keyId: string, screen: BrowserContextOptions) {
    this.service = service
    this.url = url
    this.keyId = keyId
    this.#screen = screen
  }

  static async start(
    settings: Record<string, string> = {},
    screen: BrowserContextOptions = {},
  ): Promise<ConsoleService> {
    const service = await Service.start({ CONSOLE: 'on', ...settings })
    const { id } = await service.createKey({ client: 'adviser', scopes: SCOPES, eids: ['1001'] })
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
    return new ConsoleService(service, url, id, screen)
  }

  /** The cookie of a new session, of the person who may do everything unless a key is named. */
  async signIn(keyId = this.keyId): Promise<string> {
    const sessions = new Sessions(this.service.database)
    return `mahi-session=${await sessions.openLink(await sessions.createLink(keyId))}`
  }

  /** Indexes the catalogue, and waits until the search knows it. */
  async whenSearchable(): Promise<void> {
    await this.service.index()
    const { body } = await this.service.get('/v1/occupations?Limit=1')
    const code = (JSON.parse(body) as { data: { occupationCode: string; titleEnglish: string }[] }).data[0]
    const words = encodeURIComponent(code?.titleEnglish.slice(0, 100) ?? '')
    await untilHolds(async () => {
      const response = await this.service.get(`/v1/occupations/search?q=${words}`)
      expect(response.statusCode).toBe(200)
      expect(response.body).toContain(JSON.stringify(code?.occupationCode))
    })
  }

  /**
   * A page of a new browser context, signed in by a one-time link unless `signedIn` is false. Everything that goes
   * wrong in it is noted.
   */
  async open(
    { javaScriptEnabled = true, ...options }: BrowserContextOptions = {},
    { signedIn = true, keyId = this.keyId } = {},
  ): Promise<ConsolePage> {
    const page = await openPage({ ...this.#screen, ...options })
    const troubles = noteTroubles(page, this.url)
    // The browser's own reports, which it makes without scripts too.
    const devTools = await page.context().newCDPSession(page)
    devTools.on('Audits.issueAdded', ({ issue }) => {
      if (issue.code === 'ContentSecurityPolicyIssue') troubles.push(JSON.stringify(issue.details))
    })
    await devTools.send('Audits.enable')
    const shown = new ConsolePage(page, this.url, troubles, devTools, javaScriptEnabled)
    await shown.allowScripts(javaScriptEnabled)
    if (!signedIn) return shown
    const secret = await new Sessions(this.service.database).createLink(keyId)
    await page.goto(`${this.url}/console/link/${secret}`)
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Open the console' }).click()
    await page.waitForURL(({ pathname }) => !pathname.startsWith('/console/link/'))
    await page.goto(`${this.url}/console/occupations`)
    return shown
  }
}

export class ConsolePage {
  readonly page: Page
  readonly url: string
  /** Errors of scripts, violations of the policy and requests to other hosts. */
  readonly troubles: readonly string[]
  readonly #devTools: CDPSession
  readonly #hasScripts: boolean

  constructor(
    page: Page,
    url: string,
    troubles: readonly string[],
    devTools: CDPSession,
    hasScripts: boolean,
  ) {
    this.page = page
    this.url = url
    this.troubles = troubles
    this.#devTools = devTools
    this.#hasScripts = hasScripts
  }

  /** Not by the option of the context, which axe cannot lift once a page has been loaded. */
  async allowScripts(allowed: boolean): Promise<void> {
    await this.#devTools.send('Emulation.setScriptExecutionDisabled', { value: !allowed })
  }

  async goto(path: string): Promise<number | undefined> {
    return (await this.page.goto(this.url + path))?.status()
  }

  async findBarriers(): Promise<string[]> {
    await this.allowScripts(true)
    const barriers = await findBarriers(this.page)
    await this.allowScripts(this.#hasScripts)
    return barriers
  }

  /** What Chromium tells a screen reader: the role and the name of each node, and how it announces changes. */
  async readTree(): Promise<string[]> {
    const { nodes } = await this.#devTools.send('Accessibility.getFullAXTree')
    return nodes
      .filter(({ ignored }) => !ignored)
      .map(({ role, name, description, properties = [] }) => {
        const told = properties.filter(({ name }) => /^(?:expanded|invalid|live)$/.test(name))
        const words = [role, name, description, ...told.map(({ value }) => value)].map((each) => each?.value)
        return words.filter((each) => each !== undefined && each !== '').join(', ')
      })
  }

  /** Whether the page can be read without scrolling sideways. */
  async isWithinWidth(): Promise<boolean> {
    return await this.page.evaluate(
      () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
    )
  }
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string }[]
  }[]
}
