import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chromiumPath, startBrowser } from './support/browser.ts'
import { ConsoleService } from './support/console.ts'

const GROUP = {
  code: 'M1',
  nameEnglish: 'Teaching',
  majorGroups: [{ majorGroupRelationType: 'Primary', majorGroup: { code: 'G1', nameEnglish: 'Education' } }],
}
const minorGroups = [{ minorGroupRelationType: 'Primary', minorGroup: GROUP }]
const pay = (low: number) => ({
  payLowerBound: low,
  payMidLowerBound: low + 10_000,
  payMidUpperBound: low + 30_000,
  payUpperBound: low + 50_000,
})

const RECORDS = [
  {
    occupationCode: 'A1',
    titleEnglish: 'Teacher',
    titleMaori: 'Kaiako',
    altJobTitlesEnglish: ['Schoolteacher'],
    descriptionEnglish: 'Teaches pupils.',
    detailedWorkActivitiesEnglish: ['Plan lessons', 'Mark work'],
    renumeration: pay(50_000),
    minorGroups,
  },
  {
    occupationCode: 'A2',
    titleEnglish: 'Tutor',
    descriptionEnglish: 'Teaches one pupil at a time.',
    renumeration: pay(40_000),
    minorGroups,
  },
  { occupationCode: 'A3', titleEnglish: 'Gardener', descriptionEnglish: 'Grows plants.', minorGroups },
]

const PAGES = [
  '/console/occupations',
  '/console/occupations?q=kaiako',
  '/console/occupations?q=zzzzzz',
  '/console/occupations/A1',
  '/console/occupations/NONE',
  '/console/compare?code=A1,A2,A3',
  '/console/compare',
  '/console/code',
  '/console/changes',
  '/console/changes/1',
  '/console/rules',
  '/console/rules/sdr/LEA-03-required',
  '/console/submissions',
  '/console/operator',
  '/console/sign-in',
  '/console/nowhere',
]

describe.skipIf(chromiumPath === undefined)('the console in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  async function start() {
    const console = await ConsoleService.start()
    await console.service.import(RECORDS)
    await console.whenSearchable()
    return console
  }

  test.each(['light', 'dark'] as const)(
    'every page is free of barriers and of violations of its policy: %s',
    async (colorScheme) => {
      const console = await start()
      const shown = await console.open(browser, { colorScheme })
      for (const path of PAGES) {
        await shown.goto(path)
        expect(await shown.findBarriers(), path).toEqual([])
      }
      expect(shown.troubles).toEqual([])
    },
  )

  test.each([320, 768, 1920])('every page fits a screen of %i px', async (width) => {
    const console = await start()
    const shown = await console.open(browser, { viewport: { width, height: 800 } })
    for (const path of PAGES) {
      await shown.goto(path)
      expect(await shown.isWithinWidth(), path).toBe(true)
    }
  })

  test('every page works without JavaScript', async () => {
    const console = await start()
    const { page, troubles } = await console.open(browser, { javaScriptEnabled: false })
    await page.getByRole('searchbox').fill('kaiako')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('link', { name: 'Teacher' }).click()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Kaiako')
    await page.getByRole('link', { name: 'Code my list' }).click()
    await page.getByLabel('Job titles').fill('Teacher\nGardener')
    await page.getByRole('button', { name: 'Find the codes' }).click()
    expect(await page.getByRole('radio').count()).toBeGreaterThan(3)
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.getByRole('status').first().textContent()).toBe('You have signed out.')
    expect(troubles).toEqual([])
  })

  test('the search box offers suggestions that the keyboard reaches', async () => {
    const console = await start()
    const { page, url } = await console.open(browser)
    await page.keyboard.press('/')
    await page.keyboard.type('teac')
    await page.getByRole('option', { name: 'Teacher' }).first().waitFor()
    await page.keyboard.press('ArrowDown')
    const active = await page.locator('input[name="q"]').getAttribute('aria-activedescendant')
    expect(active).toBeTruthy()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${url}/console/occupations/A1`)
  })

  test('a list of titles is coded with the keys 1, 2 and 3, and downloaded', async () => {
    const console = await start()
    const { page } = await console.open(browser)
    await page.goto(`${console.url}/console/code`)
    await page.getByLabel('Job titles').fill('Teacher\nTutor of pupils')
    await page.getByRole('button', { name: 'Find the codes' }).click()
    await page.getByRole('radio').first().focus()
    await page.keyboard.press('2')
    const first = page.locator('tbody tr').first().getByRole('radio')
    expect(await first.nth(1).isChecked()).toBe(true)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).first().click(),
    ])
    expect(download.suggestedFilename()).toBe('coded-titles.csv')
  })

  test('the URL is the state: back and forward lead to what was there', async () => {
    const console = await start()
    const { page, url } = await console.open(browser)
    await page.goto(`${url}/console/occupations?q=teacher`)
    await page.getByRole('link', { name: 'Teacher', exact: true }).click()
    await page.goBack()
    expect(await page.locator('input[name="q"]').inputValue()).toBe('teacher')
    await page.goForward()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Teacher')
  })

  test('a removed occupation leads to its successor', async () => {
    const console = await start()
    await console.service.import([RECORDS[0], RECORDS[1]], { replace: true })
    const shown = await console.open(browser)
    expect(await shown.goto('/console/occupations/A3')).toBe(410)
    expect(await shown.page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'This occupation was removed',
    )
  })

  test('nothing in any field of a record becomes an element', async () => {
    const hostile = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>"'\u202e\u2066 ${'x'.repeat(300)}`
    const console = await ConsoleService.start()
    const list = [hostile]
    await console.service.import([
      {
        occupationCode: '<b>A1</b>',
        titleEnglish: hostile,
        titleMaori: hostile,
        altJobTitlesEnglish: list,
        altJobTitlesMaori: list,
        descriptionEnglish: hostile,
        descriptionMaori: hostile,
        kaupapaDescriptionEnglish: hostile,
        kaupapaDescriptionMaori: hostile,
        detailedWorkActivitiesEnglish: list,
        detailedWorkActivitiesMaori: list,
        trainingDuration: hostile,
        lifeOnTheJobEnglish: list,
        lifeOnTheJobMaori: list,
        entryRequirements: {
          entrySummaryEnglish: hostile,
          entrySummaryMaori: hostile,
          entryInSchoolEnglish: hostile,
          entryInSchoolMaori: hostile,
          entryYouNeedEnglish: list,
          entryYouNeedMaori: list,
          entryYouMayNeedEnglish: list,
          entryYouMayNeedMaori: list,
        },
        minorGroups: [
          {
            minorGroupRelationType: 'Primary',
            minorGroup: {
              code: '<i>M</i>',
              nameEnglish: hostile,
              majorGroups: [
                { majorGroupRelationType: 'Primary', majorGroup: { code: '<i>G</i>', nameEnglish: hostile } },
              ],
            },
          },
        ],
        registrationAuthority: {
          nameEnglish: hostile,
          nameMaori: hostile,
          email: hostile,
          telephone: hostile,
          websiteUrl: "javascript:document.title='broken'",
        },
      },
    ])
    await console.whenSearchable()
    const shown = await console.open(browser, { viewport: { width: 320, height: 800 } })
    const code = encodeURIComponent('<b>A1</b>')
    const words = encodeURIComponent('<img src=x')
    for (const path of [
      '/occupations',
      `/occupations?q=${words}`,
      `/occupations/${code}`,
      '/changes/1',
      `/compare?code=${code},${words}`,
      `/rules?q=${words}`,
    ]) {
      await shown.goto(`/console${path}`)
      expect(await shown.page.locator('img, main script, main b, main i, [onerror]').count(), path).toBe(0)
      expect(await shown.page.locator('a[href^="javascript"]').count(), path).toBe(0)
      expect(await shown.page.title(), path).not.toBe('broken')
      expect(await shown.isWithinWidth(), path).toBe(true)
    }
    expect(shown.troubles).toEqual([])
  })

  test('the first page is small, and needs two further requests', async () => {
    const console = await start()
    const { page, url } = await console.open(browser)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const response = await page.goto(`${url}/console/occupations`, { waitUntil: 'networkidle' })
    expect(gzipSync((await response?.text()) ?? '').length).toBeLessThan(30_000)
    // The icon is the browser's own wish.
    expect(asked.filter((path) => !path.endsWith('icon.svg'))).toEqual([
      '/console/occupations',
      '/console/assets/console.css',
      '/console/assets/console.js',
    ])
  })
})
