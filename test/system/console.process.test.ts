import type { BrowserContextOptions } from 'playwright-core'
import { expect, test } from 'vitest'
import { COURSES, makeCollectionDefinition, makeLearners } from '../support/collection.ts'
import { ConsoleService, describeInBrowser } from '../support/console.ts'
import { startWorker } from '../support/submission-worker.ts'

/** An explanation that would become elements, if a page did not escape it, and what they would be. */
const HOSTILE = `<img src=x onerror="document.title=1"><script>document.title=1</script> <b>Longer</b> notes are right.`
const ELEMENTS = 'main img, main script, main b, [onerror]'

/** The process of a collecting agency, as the public pages describe it, by the pages of the console alone. */
describeInBrowser('a return from its first file to its last signature', () => {
  async function start(options: BrowserContextOptions) {
    const definition = makeCollectionDefinition()
    const console = await ConsoleService.start({ DEFINITIONS: definition })
    await startWorker(console.service.database, [definition], { inProcesses: true })
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    const { key } = await console.service.createKey({ client: 'agency', scopes: ['operate'] })
    await console.service.request({
      method: 'PUT',
      url: '/v1/returns/202512',
      headers: { 'x-api-key': key },
      payload: {
        ...{ name: 'December return', definition: 'collected', organisations: ['1001', '1002'] },
        ...{ opens: inDays(-1), due: inDays(1), closes: inDays(2) },
      },
    })
    const shown = await console.open(options)
    await shown.goto('/console/submissions')
    return shown
  }

  const toFiles = (texts: Record<string, string>) =>
    Object.entries(texts).map(([name, text]) => ({
      ...{ name: `${name}.csv`, mimeType: 'text/csv', buffer: Buffer.from(text) },
    }))

  test('needs no JavaScript: create, upload, check, fix, explain, submit, receipt, reopen, submit again', async () => {
    const shown = await start({ javaScriptEnabled: false })
    const { page, url } = shown
    const send = async (files: Record<string, string>) => {
      for (const file of toFiles(files)) {
        await page.getByLabel('What it is').selectOption(file.name.replace('.csv', ''))
        await page.getByLabel('Files', { exact: true }).setInputFiles([file])
        await page.getByRole('button', { name: 'Send the file' }).click()
        await page.getByRole('status').filter({ hasText: 'Stored: ' }).waitFor()
      }
      await page.getByRole('button', { name: 'Check the files' }).click()
      const findings = page.getByRole('link', { name: 'See the findings' })
      await expect
        .poll(
          async () => {
            const refresh = page.getByRole('link', { name: 'Refresh' })
            if (await refresh.isVisible()) await refresh.click()
            return await findings.isVisible()
          },
          { interval: 500 },
        )
        .toBe(true)
      await findings.click()
    }

    // Create and upload; the check finds a fault in three records, and notes that need an explanation.
    expect(await page.getByRole('group', { name: 'Submissions' }).textContent()).toMatch(
      /December return.*\d+ \w+ \d{4}.*Not started/,
    )
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('No files are stored.').waitFor()
    // Nothing can be dropped.
    await page.getByText('Choose a file: CSV').waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(
      /^December return due \d+ \w+ \d{4}$/,
    )
    expect(await page.title()).toContain('December return')
    await send({ learners: makeLearners({ faults: 3, notes: 4 }), courses: COURSES })
    const cause = page.getByRole('link', { name: /K9/ })
    await cause.click()
    await page.waitForLoadState()
    expect(await page.locator('td.fault').allTextContents()).toEqual(Array(3).fill('Concerned: K9'))
    await page.getByRole('link', { name: /^Submit/ }).click()
    await page.getByRole('link', { name: '3 errors', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Submit', exact: true }).count()).toBe(0)

    // Fix.
    await page.getByRole('link', { name: /^Files/ }).click()
    await send({ learners: makeLearners({ notes: 4 }) })
    await page.getByText('No errors and 4 warnings, from 1 cause.').waitFor()

    // Without the explanation, every page says what is open, and the last step where that is done.
    await page.getByRole('link', { name: 'Submit Not yet: 4 warnings to explain' }).waitFor()
    await page.getByRole('link', { name: /^Submit/ }).click()
    await page.getByRole('link', { name: 'Explain 4 warnings of LEA-note' }).click()
    await page.locator('.explain summary').click()
    await page.getByLabel('Reason').selectOption('Verified')
    await page.getByLabel('In words, without naming learners').fill(HOSTILE)
    await page.getByRole('button', { name: 'Save the explanation' }).click()
    await page.locator('.explain[open]', { hasText: HOSTILE }).waitFor()
    expect(await page.locator(ELEMENTS).count()).toBe(0)
    expect(await shown.findBarriers()).toEqual([])

    // It is the explanation of each cause of the code too.
    await page.getByRole('link', { name: 'By cause' }).click()
    await page.getByText('No errors are left, and all warnings are explained.').waitFor()
    await page.getByRole('link', { name: 'Submit Ready' }).waitFor()
    await page.getByRole('link', { name: 'Explained' }).first().click()
    await page.getByRole('link', { name: 'All causes' }).waitFor()
    expect(await page.locator('.explain[open]').textContent()).toContain('For all warnings of LEA-note.')

    // Submit, once confirmed.
    await page.getByRole('link', { name: /^Submit/ }).click()
    await page.getByText('Mahi freezes these files. It does not send them anywhere.').waitFor()
    await page.getByText('The receipt names who submits them: adviser.').waitFor()
    await page.getByText('4 warnings will be submitted as they are, with 1 explanation.').waitFor()
    // What had to be done before is no longer shown.
    expect(await page.getByText('Before you submit').count()).toBe(0)
    expect(await shown.findBarriers()).toEqual([])
    await page.getByRole('button', { name: 'Submit', exact: true }).click()
    await page.getByRole('heading', { name: /^Submitted by adviser at \d+ \w+ \d+, \d\d:\d\d/ }).waitFor()
    expect(await page.getByRole('button', { name: /^(?:Submit|Send)/ }).count()).toBe(0)
    await page.getByRole('link', { name: 'Receipt', exact: true }).click()
    const receipt = page.locator('article')
    expect(await receipt.textContent()).toMatch(
      /Receipt 1 for return 202512.*adviser.*0 errors, 4 warnings.*LEA-note.*Longer/s,
    )
    expect(await receipt.getByText(/^[0-9a-f]{64}$/).count()).toBe(2)
    // The files are in the order of the definition.
    expect(await receipt.locator('tbody th').allTextContents()).toEqual(['learners', 'courses'])
    expect(await page.locator(ELEMENTS).count()).toBe(0)
    expect(await shown.findBarriers()).toEqual([])

    // The agency opens it again, and the organisation submits it a second time.
    await page.getByRole('link', { name: 'The submission' }).click()
    await page.locator('summary', { hasText: 'Reopen' }).click()
    await page.getByLabel('Reason').fill('A course is missing.')
    await page.getByRole('button', { name: 'Reopen the submission' }).click()
    await page.getByText(/^Reopened by adviser, .*: A course is missing\.$/).waitFor()
    await page.getByRole('heading', { name: 'Submit again' }).waitFor()
    await page.getByRole('button', { name: 'Submit', exact: true }).click()
    await page.getByRole('link', { name: 'Receipt', exact: true }).click()
    await page.getByRole('heading', { name: 'Receipt 2 for return 202512' }).waitFor()
    await page.getByRole('link', { name: 'Receipt 1' }).click()
    await page.getByText('A course is missing.').waitFor()
    await page.getByRole('link', { name: 'The submission' }).click()
    await page.getByRole('link', { name: 'Activity' }).click()
    const done = await page.locator('tbody tr td:last-child').allTextContents()
    for (const event of [
      'Started the submission',
      /^Sent/,
      /^Check 1: 3 errors/,
      /^Explained/,
      'Submitted',
      /^Reopened/,
    ])
      expect(done.some((each) => (typeof event === 'string' ? each === event : event.test(each)))).toBe(true)
    // The agency sees how far everyone is.
    await page.goto(`${url}/console/returns`)
    const progress = page.locator('tr', { hasText: 'December return' })
    expect(await progress.locator('td.number').allTextContents()).toEqual(['1 of 2', '1'])
    expect(await shown.findBarriers()).toEqual([])
    await page.getByRole('link', { name: 'December return' }).click()
    expect(await page.getByRole('group', { name: 'Organisations' }).textContent()).toMatch(/1001.*Submitted/)
    expect(await shown.findBarriers()).toEqual([])
    expect(shown.troubles).toEqual([])
  })

  test('needs no mouse: the focus is never lost or hidden on the way to a submission', async () => {
    const shown = await start({ colorScheme: 'dark', viewport: { width: 1920, height: 800 } })
    const { page } = shown
    /** Moves with the Tab key, and fails if the focus is ever lost or hidden. */
    const tabTo = async (role: 'button' | 'link' | 'combobox', name: string | RegExp) => {
      const wanted = page.getByRole(role, { name }).first()
      await wanted.waitFor()
      for (let presses = 0; presses < 200; presses++) {
        if (await wanted.evaluate((element) => element === document.activeElement)) return
        await page.keyboard.press('Tab')
        const focus = await page.evaluate(() => {
          const element = document.activeElement
          if (element === null || element === document.body) return 'passing the end of the page'
          const { top, bottom, width, height } = element.getBoundingClientRect()
          const isOn = bottom > 0 && top < innerHeight && width > 0 && height > 0
          const isMarked = getComputedStyle(element).outlineStyle !== 'none'
          return isOn && isMarked ? 'visible' : `hidden: ${element.outerHTML.slice(0, 100)}`
        })
        expect(focus).toMatch(/^(?:visible|passing)/)
      }
      throw new Error(`the Tab key does not reach ${name}`)
    }
    const press = async (role: 'button' | 'link', name: string | RegExp) => {
      await tabTo(role, name)
      await page.keyboard.press('Enter')
    }
    // The dialog in which files are chosen is the browser's own.
    const send = async (files: Record<string, string>) => {
      await page.locator('input[multiple]').setInputFiles(toFiles(files))
      await press('button', /^Send /)
      await page.waitForURL(/\/findings\?/)
    }
    await press('button', 'Start')
    await send({ learners: makeLearners({ faults: 3, remarks: 1 }), courses: COURSES })
    await press('link', 'All records')
    await tabTo('combobox', 'Severity')
    await page.keyboard.press('ArrowDown')
    await page.waitForURL(/type=/)
    await shown.goto(new URL(page.url()).pathname.replace('/findings/records', '/files'))
    await send({ learners: makeLearners({}) })
    await press('link', /^Check/)
    await press('link', 'compare with the newest')
    await page.getByText(/Fixed: \d+/).waitFor()
    await press('link', /^Submit/)
    // A pressed key does not wait for the page that it asks for, as a click does.
    await press('button', 'Submit')
    await page.getByRole('heading', { name: /^Submitted by/ }).waitFor()
    await press('button', 'Sign out')
    await page.getByRole('status').filter({ hasText: 'You are signed out.' }).waitFor()
    expect(shown.troubles).toEqual([])
  })
})
