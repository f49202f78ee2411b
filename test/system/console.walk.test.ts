import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { storeReturns } from '../../src/submissions/returns/returns.ts'
import { chromiumPath } from '../support/browser.ts'
import { ConsoleService, useBrowser } from '../support/console.ts'
import { libreOffice, saveAs } from '../support/libreoffice.ts'
import { renderAsExported } from '../support/sdr/as-exported.ts'
import { startWorker } from '../support/submission-worker.ts'
import { temporaryFolder } from '../support/temporary.ts'

const clean = (file: string) => new URL(`../../samples/sdr/clean/${file}.csv`, import.meta.url).pathname
const RETURN = { returnId: '202512', name: 'December 2025', definition: 'sdr', version: '2025.12.0' } as const
const DAY = 86_400_000

describe.skipIf(chromiumPath === undefined)('an analyst with a messy export', () => {
  useBrowser()

  test('comes to a signed return in two rounds, with at most eight causes to correct by hand', async () => {
    const console = await ConsoleService.start()
    const { database } = console.service
    await startWorker(database, ['sdr'])
    const now = Date.now()
    const dates = { opens: now - DAY, due: now + DAY, closes: now + 2 * DAY, zone: 'UTC' }
    await storeReturns(database, [{ ...RETURN, ...dates, type: 'Full', eids: ['1001'] }])
    const scopes = ['submissions:write', 'validation-results:read'] as const
    const { id: keyId } = await console.service.createKey({ client: 'analyst', scopes, eids: ['1001'] })
    const { page, url, troubles } = await console.open({}, { keyId })
    const press = (role: 'button' | 'link', name: string | RegExp) =>
      page.getByRole(role, { name }).first().click()
    const send = async (files: readonly string[]) => {
      await page.locator('input[multiple]').setInputFiles([...files])
      await press('button', /^Send /)
    }
    const folder = temporaryFolder()
    const exported = Object.entries(renderAsExported()).map(([name, content]) => {
      const file = join(folder, name)
      writeFileSync(file, content)
      // What a spreadsheet program makes of a file that it opens and saves.
      const isSaved = name === 'enrolments.csv' && libreOffice !== undefined
      return isSaved ? saveAs('xlsx', file, folder) : file
    })

    await page.goto(`${url}/console`)
    await press('button', /^Start/)
    await send(exported)
    await page.getByText('Missing: Qualification completions.').waitFor()
    await send([clean('qualification-completions')])
    await page.waitForURL(/\/findings\?/)
    await press('link', 'See the repairs')
    await press('button', 'Apply and check again')
    await page.waitForURL(/\/findings\?/)

    // The rest is corrected where it came from.
    const left = await page.locator('.causes h2').count()
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(8)
    await press('link', /^Files/)
    await send(['learners', 'courses', 'enrolments', 'course-completions'].map(clean))
    await page.waitForURL(/\/findings\?/)
    await press('link', 'Go on to submit')
    await press('button', 'Submit')
    await page.getByRole('heading', { name: /^Submitted by analyst/ }).waitFor()
    expect(troubles).toEqual([])
  })
})
