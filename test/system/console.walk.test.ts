import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../src/api/access/principal.ts'
import { storeReturns } from '../../src/submissions/returns/returns.ts'
import { chromiumPath } from '../support/browser.ts'
import { type ConsolePage, ConsoleService, useBrowser } from '../support/console.ts'
import { libreOffice, saveAs } from '../support/libreoffice.ts'
import { renderAsExported } from '../support/sdr/as-exported.ts'
import { startWorker } from '../support/submission-worker.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** The seconds that a person takes for an action. The minutes of a walk are their sum, whatever the machine takes. */
const SECONDS = {
  /** Reads a page that is new. */
  read: 15,
  click: 3,
  /** Finds files in a folder, and drops or chooses them. */
  choose: 20,
  /** Understands one cause, or one repair. */
  understand: 10,
  /** Corrects one cause in the spreadsheet: filters, changes, saves. */
  correct: 60,
  /** Exports a file that was forgotten. */
  export: 60,
} as const

/** One person's walk through the console, and what it takes. */
class Walk {
  readonly page: Page
  readonly troubles: readonly string[]
  rounds = 0
  requests = 0
  #seconds = 0

  constructor({ page, troubles }: ConsolePage) {
    this.page = page
    this.troubles = troubles
    page.on('request', () => {
      this.requests++
    })
  }

  get minutes(): number {
    return Math.ceil(this.#seconds / 60)
  }

  spend(action: keyof typeof SECONDS, times = 1): void {
    this.#seconds += SECONDS[action] * times
  }

  async press(role: 'button' | 'link', name: string | RegExp): Promise<void> {
    await this.page.getByRole(role, { name }).first().click()
    this.spend('click')
  }

  async send(files: readonly string[]): Promise<void> {
    await this.page.locator('input[multiple]').setInputFiles([...files])
    this.spend('choose')
    await this.press('button', /^Send /)
  }

  /** A round ends: what was sent has been checked. */
  async seeFindings(): Promise<void> {
    await this.page.waitForURL(/\/findings\?/)
    this.spend('read')
    this.rounds++
  }
}

const clean = (file: string) => new URL(`../../samples/sdr/clean/${file}.csv`, import.meta.url).pathname
const RETURN = { returnId: '202512', name: 'December 2025', definition: 'sdr', version: '2025.12.0' } as const
const DAY = 86_400_000

/** A service that collects a return, and the page of a person with these scopes. */
async function start(client: string, scopes: readonly Scope[]): Promise<Walk> {
  const console = await ConsoleService.start()
  const { database } = console.service
  await startWorker(database, ['sdr'])
  const now = Date.now()
  const dates = { opens: now - DAY, due: now + DAY, closes: now + 2 * DAY, zone: 'UTC' }
  await storeReturns(database, [{ ...RETURN, ...dates, type: 'Full', eids: ['1001'] }])
  const { id: keyId } = await console.service.createKey({ client, scopes, eids: ['1001'] })
  return new Walk(await console.open({}, { keyId }))
}

describe.skipIf(chromiumPath === undefined)('the walk of', () => {
  useBrowser()

  test('an analyst, from a messy export to a signed return in fifteen minutes and two rounds', async () => {
    const walk = await start('analyst', ['submissions:write', 'validation-results:read'])
    const { page } = walk
    const folder = temporaryFolder()
    const exported = Object.entries(renderAsExported()).map(([name, content]) => {
      const file = join(folder, name)
      writeFileSync(file, content)
      // What a spreadsheet program makes of a file that it opens and saves.
      const isSaved = name === 'enrolments.csv' && libreOffice !== undefined
      return isSaved ? saveAs('xlsx', file, folder) : file
    })

    await page.goto(new URL('/console', page.url()).href)
    walk.spend('read')
    await walk.press('button', /^Start/)
    await walk.send(exported)
    await page.getByText('Missing: Qualification completions.').waitFor()
    walk.spend('read')
    walk.spend('export')
    await walk.send([clean('qualification-completions')])
    await walk.seeFindings()

    await walk.press('link', 'See the repairs')
    const apply = page.getByRole('button', { name: 'Apply and check again' })
    await apply.waitFor()
    walk.spend('understand', await page.locator('table.repairs tbody tr').count())
    await walk.press('button', 'Apply and check again')
    await page.waitForURL(/\/findings\?/)
    walk.spend('read')

    // The rest is corrected where it came from.
    const left = await page.locator('.causes h2').count()
    expect(left).toBeGreaterThan(0)
    walk.spend('understand', left)
    walk.spend('correct', left)
    await walk.press('link', /^Files/)
    await walk.send(['learners', 'courses', 'enrolments', 'course-completions'].map(clean))
    await walk.seeFindings()
    await walk.press('link', 'Go on to submit')
    await page.getByRole('button', { name: 'Submit' }).waitFor()
    walk.spend('read')
    await walk.press('button', 'Submit')
    await page.getByRole('heading', { name: /^Submitted by analyst/ }).waitFor()

    const { minutes, rounds, requests } = walk
    process.stdout.write(`The analyst: ${minutes} minutes, ${rounds} rounds, ${requests} requests.\n`)
    expect([minutes, rounds]).toEqual([expect.toSatisfy((given: number) => given <= 15), 2])
    expect(walk.troubles).toEqual([])
  })
})
