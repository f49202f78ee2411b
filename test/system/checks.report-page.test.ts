import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { check } from '../support/checking.ts'
import { describeInBrowser, openPage } from '../support/console.ts'
import { renderReport } from '../support/reports.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** 120 members, each with one fault, and one of them with a second. */
const MEMBERS = Array.from({ length: 120 }, (_, index) => `M${index},x,${index === 7 ? '9' : '01'}`)

describeInBrowser('the HTML report in a browser', () => {
  /** The URL of a report. */
  async function writeReport(): Promise<string> {
    const checked = await check({ 'members.csv': `memberId,born,kind\n${MEMBERS.join('\n')}\n` })
    const path = join(temporaryFolder(), 'report.html')
    writeFileSync(path, await renderReport('html', checked))
    return pathToFileURL(path).href
  }

  test('records are found by search and by code, and shown in pages', async () => {
    const page = await openPage({ viewport: { width: 1280, height: 800 } })
    const errors: Error[] = []
    page.on('pageerror', (error) => errors.push(error))
    await page.goto(await writeReport())
    const shown = page.locator('#shown')
    const articles = page.locator('article')
    expect(await shown.textContent()).toBe('121 findings')
    expect(await articles.count()).toBe(50)

    await page.getByRole('button', { name: 'Next' }).click()
    expect(await page.locator('#page').textContent()).toBe('Page 2 of 3')
    // The new page is read from its first record.
    const top = await page.locator('#records').evaluate((section) => section.getBoundingClientRect().top)
    expect(Math.abs(top)).toBeLessThan(1)
    await page.getByRole('button', { name: 'Next' }).click()
    expect(await articles.count()).toBe(21)
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true)

    // The records are grouped by cause, and those of one cause are shown alone.
    const headings = page.locator('#list h3')
    const [first, second] = await headings.allTextContents()
    expect(first).toContain('born')
    expect(second).toContain('kind')
    await page.getByRole('button', { name: 'members.csv:9' }).click()
    expect(await shown.textContent()).toBe('1 finding of one cause')
    expect(await articles.textContent()).toContain('MEM-03-enum')

    await page.getByText('Codes', { exact: true }).click()
    await page.getByRole('button', { name: 'MEM-03-enum' }).click()
    expect(await shown.textContent()).toBe('1 finding of MEM-03-enum')
    expect(await articles.textContent()).toContain('M7,x,9')
    await page.getByRole('button', { name: 'All findings' }).click()
    await page.getByLabel('Search').fill('m110 TYPE')
    expect(await shown.textContent()).toBe('1 finding')
    expect(await articles.textContent()).toContain('M110,x,01')
    expect(errors).toEqual([])
  })

  test('a narrow screen needs no scrolling sideways', async () => {
    const page = await openPage({ viewport: { width: 360, height: 800 } })
    await page.goto(await writeReport())
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  })
})
