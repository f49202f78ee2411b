import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chromiumPath, startBrowser } from './support/browser.ts'
import { ConsoleService } from './support/console.ts'
import { startWorker } from './support/submission-worker.ts'

const FILES = ['learners', 'courses', 'enrolments', 'course-completions', 'qualification-completions']
const sample = (set: 'clean' | 'faulty', file: string) =>
  new URL(`../samples/sdr/${set}/${file}.csv`, import.meta.url).pathname

describe.skipIf(chromiumPath === undefined)('submissions in the console', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  async function start() {
    const console = await ConsoleService.start()
    await startWorker(console.service.database, ['sdr'])
    return console
  }

  test('five files are sent and checked, corrected and checked again, and submitted', {
    timeout: 180_000,
  }, async () => {
    const console = await start()
    const shown = await console.open(browser)
    const { page } = shown
    await shown.goto('/console/submissions')
    await page.getByLabel('Return').fill('202512')
    await page.getByRole('button', { name: 'Start a submission' }).click()
    const send = async (set: 'clean' | 'faulty') => {
      for (const file of FILES) await page.locator(`input[name="${file}"]`).setInputFiles(sample(set, file))
      await page.getByRole('button', { name: 'Send the files' }).click()
    }

    await send('faulty')
    await page.getByRole('link', { name: 'See the findings' }).click()
    expect(await page.locator('.verdict').textContent()).toMatch(/\d+ kinds of error to fix/)
    const path = new URL(page.url()).pathname
    expect(await shown.findBarriers()).toEqual([])

    await page.getByLabel('Severity').selectOption('Warning')
    await page.waitForURL(/type=Warning/)
    const severities = await page.locator('details.finding summary > span:first-child').allTextContents()
    expect(new Set(severities)).toEqual(new Set(['Warning']))
    await page.locator('details.finding summary').first().click()
    expect(await page.locator('details[open] td').count()).toBeGreaterThan(5)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download as CSV' }).click(),
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
    expect(lines.length).toBeGreaterThan(10)

    await shown.goto(path.replace('/findings', ''))
    await send('clean')
    await page.getByText('No findings.').waitFor({ timeout: 60_000 })
    expect(await page.getByRole('img', { name: /Errors and warnings of each check/ }).count()).toBe(1)
    await page.getByRole('link', { name: 'compare with the newest' }).click()
    expect(await page.locator('.verdict').textContent()).toMatch(/New: 0.*Fixed: \d+.*Still open: 0/)
    expect(await shown.findBarriers()).toEqual([])

    await shown.goto(path.replace('/findings', ''))
    await page.getByRole('button', { name: 'Submit' }).click()
    expect(await page.getByRole('status').first().textContent()).toContain('submitted')
    expect(await page.getByRole('button', { name: 'Send the files' }).count()).toBe(0)
    expect(shown.troubles).toEqual([])
    // The log says who looked at findings, and nothing of them.
    const log = console.service.log.join('')
    expect(log).toContain('findings viewed')
    expect(log).not.toContain('S0000')
  })

  test('all of it works without JavaScript', { timeout: 180_000 }, async () => {
    const console = await start()
    const shown = await console.open(browser, { javaScriptEnabled: false })
    const { page } = shown
    await shown.goto('/console/submissions')
    await page.getByLabel('Return').fill('202512')
    await page.getByRole('button', { name: 'Start a submission' }).click()
    for (const file of FILES) await page.locator(`input[name="${file}"]`).setInputFiles(sample('clean', file))
    await page.getByRole('button', { name: 'Send the files' }).click()
    expect(await page.getByRole('status').first().textContent()).toContain('have arrived')
    await page.getByRole('button', { name: 'Check the files' }).click()
    await page.getByText('No findings.').waitFor({ timeout: 60_000 })
    await page.getByRole('link', { name: 'Delete this submission' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    expect(await page.locator('tbody').textContent()).toContain('Cancelled')
  })

  test('a file that is no CSV is refused by its name, and the rest can still be sent', async () => {
    const console = await start()
    const shown = await console.open(browser)
    const { page } = shown
    await shown.goto('/console/submissions')
    await page.getByLabel('Return').fill('202512')
    await page.getByRole('button', { name: 'Start a submission' }).click()
    await page.locator('input[name="learners"]').setInputFiles({
      name: 'learners.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('PK\u0003\u0004 this is a spreadsheet\u0000\u0000'),
    })
    await page.getByRole('button', { name: 'Send the files' }).click()
    await page.getByText('learners.csv was not accepted.').waitFor()
    expect(await page.getByRole('button', { name: 'Send the files' }).isEnabled()).toBe(true)
  })

  test('nothing in a record or a finding becomes an element', async () => {
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
    const console = await start()
    const entry = {
      localId: hostile,
      errorCode: '<b>E1</b>',
      errorDescription: hostile,
      errorType: 'Error',
      fileType: 'Learner',
      courseCode: hostile,
      studentId: hostile,
      recordText: hostile,
    }
    await console.service.publish([entry], { token: 'hostile-submission' })
    const shown = await console.open(browser)
    expect(await shown.goto('/console/submissions/hostile-submission/findings')).toBe(200)
    expect(await shown.page.locator('main img, main script, main b, [onerror]').count()).toBe(0)
    expect(shown.troubles).toEqual([])
  })
})
