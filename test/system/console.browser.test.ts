import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ConsoleService, describeInBrowser } from '../support/console.ts'

const RECORDS = [
  {
    occupationCode: 'A1',
    titleEnglish: 'Teacher',
    titleMaori: 'Kaiako',
    altJobTitlesEnglish: ['Schoolteacher'],
    descriptionEnglish: 'Teaches pupils.',
  },
  {
    occupationCode: 'A2',
    titleEnglish: 'Tutor',
    descriptionEnglish: 'Teaches one pupil at a time.',
  },
  { occupationCode: 'A3', titleEnglish: 'Gardener', descriptionEnglish: 'Grows plants.' },
]

// The narrowest screen, where the most is hidden.
const screen = { viewport: { width: 320, height: 800 } }

describeInBrowser('the console in a browser', () => {
  async function start() {
    const console = await ConsoleService.start({}, screen)
    await console.service.import(RECORDS)
    await console.whenSearchable()
    return console
  }

  test('signing out leaves nothing in the browser, and Back shows no data', async () => {
    const console = await start()
    const { page, url } = await console.open()
    await page.goto(`${url}/console/occupations/A1`)
    const stored = () =>
      page.evaluate(async () => ({
        local: localStorage.length,
        session: sessionStorage.length,
        databases: (await indexedDB.databases()).length,
        cookie: document.cookie,
      }))
    expect(await stored()).toEqual({ local: 0, session: 0, databases: 0, cookie: '' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/sign-in/)
    expect(await page.context().cookies(url)).toEqual([])
    await page.goBack()
    await page.getByRole('heading', { name: 'Sign in to Mahi' }).waitFor()
    expect(await page.textContent('body')).not.toContain('Kaiako')
  })

  test('the search box offers suggestions that the keyboard reaches', async () => {
    const console = await start()
    const { page, url } = await console.open()
    await page.locator('input[name="q"]').focus()
    await page.keyboard.type('teac')
    // On a machine that is slow to type, the suggestions for fewer letters come before.
    await page
      .locator('[role="option"] mark', { hasText: /^Teac$/ })
      .first()
      .waitFor()
    await page.locator('input[name="q"]').fill('kaiako')
    const maori = page.getByRole('option', { name: 'Kaiako' }).first()
    await maori.waitFor()
    expect(await maori.textContent()).toMatch(/^Kaiako\b.* Teacher$/)
    await page.keyboard.press('ArrowDown')
    const active = await page.locator('input[name="q"]').getAttribute('aria-activedescendant')
    expect(active).toBeTruthy()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${url}/console/occupations/A1`)
  })

  test('a list is coded with one key for each title, and downloaded, and a disagreement of two reviewers is shown', async () => {
    const console = await start()
    const { key } = await console.service.createKey({ client: 'schools', scopes: ['codings:confirm'] })
    await console.service.request({
      method: 'POST',
      url: '/v1/confirmed-codings',
      headers: { 'x-api-key': key },
      payload: { items: [{ title: 'tutor of pupils', occupationCode: 'A1' }] },
    })
    const { page } = await console.open()
    await page.goto(`${console.url}/console/code`)
    await page.getByLabel('Job titles').fill('Schoolteacher\nTutor of pupils\nGrower\nVibe manager')
    await page.getByRole('button', { name: 'Find the codes' }).click()
    // The least certain titles first.
    const rowOf = (title: string) => page.locator('tbody tr', { hasText: title })
    await page.getByText('In a row, the keys').waitFor()
    await rowOf('Schoolteacher').getByRole('radio').first().focus()
    const kept = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.keyboard.press('1')
    await kept
    // Each choice is kept at once, so that Back loses nothing.
    await page.getByRole('link', { name: 'Occupations' }).click()
    await page.goBack()
    expect(await rowOf('Schoolteacher').getByRole('radio').first().isChecked()).toBe(true)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).first().click(),
    ])
    expect(download.suggestedFilename()).toBe('coded-titles.csv')
    await rowOf('Tutor of pupils').getByRole('radio').first().focus()
    await page.keyboard.press('c')
    await page.keyboard.type('Z9')
    await page.getByRole('button', { name: 'Confirm the reviewed titles' }).click()
    expect(await page.getByRole('alert').textContent()).toContain(
      'The code for “Tutor of pupils” is "Z9", which the catalogue does not have.',
    )
    await page.getByLabel('Other code for Tutor of pupils').fill('A2')
    // A row without candidates leaves nothing to choose.
    expect(await rowOf('Vibe manager').getByRole('radio').count()).toBe(0)
    await rowOf('Vibe manager').getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Confirm the reviewed titles' }).click()
    await page.getByText('3 decisions stored; other reviewers disagree about 1 title.').waitFor()
    await page.getByRole('link', { name: 'Confirmed titles' }).click()
    await page.waitForLoadState()
    const rows = await page.locator('tbody tr').allInnerTexts()
    expect(rows.map((text) => text.split(/\s*[\t\n]\s*/).slice(0, 2))).toEqual([
      ['Schoolteacher', 'Confirmed'],
      ['Tutor of pupils', 'Disputed'],
      ['Vibe manager', 'Unknown'],
    ])
    await page.getByLabel('State').selectOption('disputed')
    await page.getByRole('button', { name: 'Withdraw my decision about Tutor of pupils' }).click()
    expect(await page.getByRole('status').first().textContent()).toBe('Your decision is withdrawn.')
  })

  test('rules are filtered while the user types, and the URL follows', async () => {
    const console = await start()
    const shown = await console.open()
    const { page } = shown
    await shown.goto('/console/rules')
    const status = page.getByRole('status').last()
    expect(await status.textContent()).not.toBe('1 rule.')
    const words = page.getByRole('searchbox')
    await words.pressSequentially('LEA-03-required')
    await expect.poll(() => status.textContent()).toBe('1 rule.')
    expect(await page.locator('tbody tr').count()).toBe(1)
    expect(await words.evaluate((element) => element === document.activeElement)).toBe(true)
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('LEA-03-required')
    await page.reload()
    expect(await page.locator('tbody tr').count()).toBe(1)
    // What is too long leads to the page that says so.
    await words.fill('x'.repeat(9_000))
    await page.getByText('at most 8192 are allowed').waitFor()
    expect(shown.troubles).toEqual([])
  })

  test('on a phone, the links of headings are seen: they order rows, and remove an occupation', async () => {
    const console = await start()
    await console.service.createKey({ eids: ['2002'] })
    const shown = await console.open({ javaScriptEnabled: false })
    const { page } = shown
    await shown.goto('/console/operator/organisations')
    // What is clipped has a size, but nothing can point at it.
    const isSeen = (name: string) =>
      page.getByRole('link', { name }).evaluate((link) => {
        link.scrollIntoView()
        const { x, y, width, height } = link.getBoundingClientRect()
        return link.contains(document.elementFromPoint(x + width / 2, y + height / 2))
      })
    expect(await isSeen('Valid keys')).toBe(true)
    await shown.goto('/console/compare?code=A1,A2')
    expect(await isSeen('remove Tutor')).toBe(true)
    expect([await shown.isWithinWidth(), await shown.findBarriers()]).toEqual([true, []])
  })

  test('what is wrong with a field is on lines of its own, between its label and what was typed', async () => {
    const { page, url } = await (await start()).open()
    await page.goto(`${url}/console/submissions`)
    await page.locator('main [name="returnId"]').fill('2025-12')
    await page.getByRole('button', { name: 'Start a submission' }).click()
    const label = page.locator('main label', { hasText: 'Return' })
    await label.locator('.error').waitFor()
    expect(await label.innerText()).toMatch(/^Return, such as 202512\nReturn is not valid: /)
  })

  test('the headings of a long table stay in sight, also once it is ordered', async () => {
    const console = await start()
    const shown = await console.open({ viewport: { width: 1280, height: 800 } })
    const { page } = shown
    await shown.goto('/console/code')
    await page
      .getByLabel('Job titles')
      .fill(Array.from({ length: 100 }, (_, at) => `Teacher ${at}`).join('\n'))
    await page.getByRole('button', { name: 'Find the codes' }).click()
    await page.getByRole('link', { name: 'Title', exact: true }).click()
    await page.waitForURL(/sort=title#rows$/)
    // The reader is at the table.
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(0)
    await page.getByText('Teacher 99', { exact: true }).scrollIntoViewIfNeeded()
    const heading = page.getByRole('columnheader', { name: 'Title' })
    expect((await heading.boundingBox())?.y).toBe(0)
    expect(await shown.isWithinWidth()).toBe(true)
  })

  test('the record of an occupation and the command for it can be copied', async () => {
    const console = await start()
    const shown = await console.open({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page, url } = shown
    await shown.goto('/console/occupations/A1')
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await page.getByRole('button', { name: 'Copy the command' }).click()
    await page.getByText('Copied.').waitFor()
    expect(await copied()).toBe(`curl -H "X-API-Key: $MAHI_API_KEY" "${url}/v1/occupations/A1"`)
    await page.getByText('The record as JSON').click()
    await page.getByRole('button', { name: 'Copy the JSON' }).click()
    await expect.poll(async () => (await copied()).slice(0, 1)).toBe('{')
    expect(JSON.parse(await copied())).toMatchObject({ occupationCode: 'A1', titleEnglish: 'Teacher' })
    expect(shown.troubles).toEqual([])
    const plain = await console.open({ javaScriptEnabled: false })
    await plain.goto('/console/occupations/A1')
    expect(await plain.page.getByRole('button', { name: /^Copy/ }).count()).toBe(0)
  })

  test('a screen reader is told what a page is made of, and of what changes on it', async () => {
    const console = await start()
    const shown = await console.open()
    const { page } = shown
    await shown.goto('/console/occupations')
    await page.locator('input[name="q"]').pressSequentially('teac')
    await page.getByRole('option').first().waitFor()
    expect(await shown.readTree()).toEqual(
      expect.arrayContaining([
        'navigation, Sections',
        'combobox, Find an occupation, false, true',
        'listbox, Suggestions',
        'option, Teacher',
      ]),
    )
    await shown.goto('/console/submissions')
    await page.getByLabel('Return').fill('202512')
    await page.getByRole('button', { name: 'Start a submission' }).click()
    await page
      .locator('input[multiple]')
      .setInputFiles([{ name: 'a.pdf', mimeType: '', buffer: Buffer.from('%PDF') }])
    await page.getByText('It is a PDF.').waitFor()
    expect(await shown.readTree()).toEqual(
      expect.arrayContaining([
        'navigation, Steps',
        'link, Files None stored',
        'rowheader, a.pdf',
        'status, polite',
        'StaticText, There is nothing to send.',
      ]),
    )
    const stranger = await console.open({}, { signedIn: false })
    await stranger.goto('/console/sign-in')
    await stranger.page.getByLabel('API key').fill('wrong')
    await stranger.page.getByRole('button', { name: 'Sign in' }).click()
    await stranger.page.getByRole('alert').waitFor()
    expect(await stranger.readTree()).toEqual(
      expect.arrayContaining([
        'alert, assertive',
        expect.stringMatching(/^textbox, API key, This key is not valid\. .*, true$/),
      ]),
    )
  })

  test('the first page is small and needs two further requests, and the next page none', async () => {
    const console = await start()
    const { page, url } = await console.open()
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const response = await page.goto(`${url}/console/occupations`, { waitUntil: 'networkidle' })
    expect(await response?.headerValue('content-encoding')).toMatch(/^(?:br|gzip)$/)
    expect(gzipSync((await response?.text()) ?? '').length).toBeLessThan(30_000)
    // The icon is the browser's own wish.
    expect(asked.filter((path) => !path.endsWith('icon.svg'))).toEqual([
      '/console/occupations',
      expect.stringMatching(/^\/console\/assets\/[\w-]+\/console\.css$/),
      expect.stringMatching(/^\/console\/assets\/[\w-]+\/console\.js$/),
    ])
    await page.goto(`${url}/console/changes`, { waitUntil: 'networkidle' })
    const sent = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map((entry) => (entry as PerformanceResourceTiming).transferSize),
    )
    expect(new Set(sent)).toEqual(new Set([0]))
  })
})
