import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chromiumPath, startBrowser } from '../support/browser.ts'
import { type ConsolePage, ConsoleService } from '../support/console.ts'
import { pack } from '../support/pack.ts'
import { SDR_FILES } from '../support/sdr/file-types.ts'
import { startWorker } from '../support/submission-worker.ts'
import { makeXlsx } from '../support/xlsx.ts'

/** Starts the submission of a return, or opens the one that it already has. */
async function startSubmission({ page, url }: ConsolePage): Promise<void> {
  await page.goto(`${url}/console/submissions`)
  await page.getByLabel('Return').fill('202512')
  await page.getByRole('button', { name: 'Start a submission' }).click()
}

const sample = (set: 'clean' | 'faulty', file: string) =>
  new URL(`../../samples/sdr/${set}/${file}.csv`, import.meta.url).pathname

let browser: Browser
beforeAll(async () => {
  if (chromiumPath !== undefined) browser = await startBrowser()
})
afterAll(() => browser?.close())

async function start(screen?: BrowserContextOptions) {
  const console = await ConsoleService.start({}, screen)
  await startWorker(console.service.database, ['sdr'])
  return console
}

describe.skipIf(chromiumPath === undefined)('submissions in the console', () => {
  test('five files are sent and checked, corrected and checked again, and submitted', async () => {
    const console = await start({ viewport: { width: 320, height: 800 } })
    const shown = await console.open(browser)
    const { page } = shown
    await startSubmission(shown)
    const send = async (set: 'clean' | 'faulty') => {
      for (const file of SDR_FILES)
        await page.locator(`input[name="${file}"]`).setInputFiles(sample(set, file))
      await page.getByRole('button', { name: 'Send the files' }).click()
    }

    await send('faulty')
    await page.waitForURL(/\/findings\?/)
    expect(await page.locator('.verdict').textContent()).toMatch(
      /[\d,]+ errors of [\d,]+ kinds and .*warnings?\./,
    )
    const path = new URL(page.url()).pathname
    expect(await shown.findBarriers()).toEqual([])
    const download = async (name: string) => {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name }).first().click(),
      ])
      return readFileSync(await file.path())
    }
    // Both begin as ZIP archives do.
    for (const name of ['Download marked workbook', 'Download corrected files'])
      expect((await download(name)).subarray(0, 2).toString()).toBe('PK')

    // A cause opens to its records: the concerned field is marked, and the whole record one click away.
    // (That of a header has no cell to mark.)
    const ofCells = '[href*="cause=column"]:not([href$="%3Aheader"]), .causes h2 a[href*="cause=value"]'
    await page.locator(`.causes h2 a${ofCells}`).first().click()
    await page.waitForURL(/findings\/records\?.*cause=/)
    const marked = page.locator('table.grid td.fault')
    expect(await marked.count()).toBeGreaterThan(0)
    // On a narrow screen, the name of the field is beside the value, and must not run into it.
    const wrapping = await marked.first().evaluate((cell) => getComputedStyle(cell, '::before').whiteSpace)
    expect(wrapping).toBe('normal')
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('table.grid dd').first().isVisible()).toBe(false)
    await page.emulateMedia({ media: null })
    await page.locator('table.grid summary').first().click()
    expect(await page.locator('details[open] dd').count()).toBeGreaterThan(5)
    expect(await shown.findBarriers()).toEqual([])

    await page.getByRole('link', { name: 'All causes' }).click()
    await page.getByRole('link', { name: 'All records' }).click()
    // Every row marks the fields of its finding, however many fields the findings of the page have.
    await page.waitForURL(/findings\/records/)
    const rows = page.locator('table.grid tbody tr')
    expect(await rows.count()).toBe(25)
    const header = rows.filter({ hasText: '-00-header' }).first()
    expect(await header.textContent()).toMatch(/header.*Whole header/)
    const unmarked = rows.filter({ hasNot: page.locator('td.fault') }).locator('.wrong > a')
    for (const code of await unmarked.allTextContents()) expect(code).toMatch(/-00-/)
    await page.getByLabel('Severity').selectOption('Warning')
    await page.waitForURL(/type=Warning/)
    const severities = await page.locator('table.grid .tag').allTextContents()
    expect(new Set(severities)).toEqual(new Set(['Warning']))
    const lines = (await download('Download as CSV')).toString().trim().split('\n')
    expect(lines.length).toBeGreaterThan(10)

    await page.getByRole('link', { name: 'By learner' }).click()
    const learner = page.locator('tbody th a').first()
    const studentId = await learner.textContent()
    await learner.click()
    await page.waitForURL(/student=/)
    expect(await page.locator('table.grid').textContent()).toContain(studentId)

    await shown.goto(path.replace('/findings', '/files'))
    await send('clean')
    await page.getByText('No findings.').waitFor()
    await page.getByRole('link', { name: /^Check/ }).click()
    const chart = page.getByRole('img', { name: /Errors and warnings of each check/ })
    expect((await chart.boundingBox())?.height).toBeLessThanOrEqual(120)
    await page.getByRole('link', { name: 'compare with the newest' }).click()
    await page.getByText(/New: 0.*Fixed: \d+.*Still open: 0/).waitFor()
    expect(await shown.findBarriers()).toEqual([])

    await page.getByRole('link', { name: /^Submit/ }).click()
    await page.getByText('Mahi freezes these files. It does not send them to the TEC.').waitFor()
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByRole('heading', { name: /^Submitted by adviser at \d+ \w+ \d+, \d\d:\d\d/ }).waitFor()
    expect(await page.getByRole('button', { name: 'Submit' }).count()).toBe(0)
    const submitted = page.getByRole('group', { name: 'Files' }).locator('tbody tr')
    expect(await submitted.allTextContents()).toEqual(Array(5).fill(expect.stringContaining('adviser')))
    await shown.goto(path.replace('/findings', '/files'))
    expect(await page.getByRole('button', { name: 'Send the files' }).count()).toBe(0)
    await shown.goto(path.replace('/findings', '/activity'))
    expect(await page.locator('tbody tr').first().textContent()).toMatch(/adviser.*Submitted/)
    expect(shown.troubles).toEqual([])
    // The log says who looked at findings, and nothing of them.
    const log = console.service.log.join('')
    expect(log).toContain('findings viewed')
    expect(log).not.toContain('S0000')
  })

  test('a submission goes from nothing to submitted with the keyboard alone', async () => {
    const console = await start({ colorScheme: 'dark', viewport: { width: 1920, height: 800 } })
    const shown = await console.open(browser)
    const { page } = shown
    /** Moves with the Tab key, and fails if the focus is ever lost or hidden. */
    const tabTo = async (role: 'button' | 'link' | 'textbox' | 'combobox', name: string | RegExp) => {
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
    await press('link', 'Submissions')
    await tabTo('textbox', 'Return')
    await page.keyboard.type('202512')
    await page.keyboard.press('Enter')
    // The dialog in which files are chosen is the browser's own.
    for (const file of SDR_FILES)
      await page.locator(`input[name="${file}"]`).setInputFiles(sample('faulty', file))
    await press('button', 'Send the files')
    await page.waitForURL(/\/findings\?/)
    await press('link', 'All records')
    await tabTo('combobox', 'Severity')
    await page.keyboard.press('ArrowDown')
    await page.waitForURL(/type=/)
    await shown.goto(new URL(page.url()).pathname.replace('/findings/records', '/files'))
    for (const file of SDR_FILES)
      await page.locator(`input[name="${file}"]`).setInputFiles(sample('clean', file))
    await press('button', 'Send the files')
    await page.getByText('No findings.').waitFor()
    await press('link', /^Check/)
    await press('link', 'compare with the newest')
    await page.getByText(/Fixed: \d+/).waitFor()
    await press('link', /^Submit/)
    // A pressed key does not wait for the page that it asks for, as a click does.
    await press('button', 'Submit')
    await page.getByRole('heading', { name: /^Submitted by/ }).waitFor()
    await press('button', 'Sign out')
    await page.getByRole('status').filter({ hasText: 'You have signed out.' }).waitFor()
  })

  test('all of it works without JavaScript', async () => {
    const console = await start()
    const shown = await console.open(browser, { javaScriptEnabled: false })
    const { page } = shown
    await startSubmission(shown)
    // The switch is for the script that follows it.
    expect(await page.getByText('Check them when all have arrived').isVisible()).toBe(false)
    for (const file of SDR_FILES)
      await page.locator(`input[name="${file}"]`).setInputFiles(sample('clean', file))
    await page.getByRole('button', { name: 'Send the files' }).click()
    await page.getByRole('status').filter({ hasText: 'have arrived' }).waitFor()
    await page.getByRole('button', { name: 'Check the files' }).click()
    const verdict = page.locator('.verdict', { hasText: 'No findings.' })
    await expect
      .poll(
        async () => {
          const refresh = page.getByRole('link', { name: 'Refresh' })
          if (await refresh.isVisible()) await refresh.click()
          return await verdict.isVisible()
        },
        { interval: 500 },
      )
      .toBe(true)
    await page.getByRole('link', { name: /^Files/ }).click()
    await page.getByRole('link', { name: 'Delete this submission' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    expect(await page.locator('tbody').textContent()).toContain('Deleted')
  })

  test('files that are dropped are recognised by name and sent, and the progress is shown', async () => {
    const console = await start()
    const shown = await console.open(browser)
    const { page } = shown
    await startSubmission(shown)
    const files = [...SDR_FILES.map((file) => `${file}.csv`), 'holiday.csv'].map((name) => ({
      name,
      text: name === 'holiday.csv' ? '' : readFileSync(sample('clean', name.replace('.csv', '')), 'utf8'),
    }))
    const dropped = await page.evaluateHandle((given) => {
      const transfer = new DataTransfer()
      for (const { name, text } of given) transfer.items.add(new File([text], name, { type: 'text/csv' }))
      return transfer
    }, files)
    const form = page.locator('form[data-upload]')
    await form.getByLabel('Check them when all have arrived').waitFor()
    await form.dispatchEvent('dragover', { dataTransfer: dropped })
    expect(await form.getAttribute('class')).toBe('drop over')
    await form.dispatchEvent('drop', { dataTransfer: dropped })
    expect(await form.getAttribute('class')).toBe('drop')
    expect(await form.getByRole('status').textContent()).toBe(
      'Not recognised by name: holiday.csv. Choose these files in the list.',
    )
    const chosen = await page
      .locator('input[type="file"]:not([data-container])')
      .evaluateAll((inputs) =>
        inputs.map((input) => [input.getAttribute('name'), (input as HTMLInputElement).files?.[0]?.name]),
      )
    expect(chosen.toSorted()).toEqual(SDR_FILES.map((file) => [file, `${file}.csv`]).toSorted())

    // The second file waits here, so that the state between two files can be seen.
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    let requests = 0
    await page.route('**/files/*', async (route) => {
      if (++requests === 2) await isReleased
      await route.continue()
    })
    const bar = page.getByRole('progressbar', { name: 'Progress of the upload' })
    expect(await bar.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Send the files' }).click()
    await expect.poll(() => requests).toBe(2)
    expect(await form.getByRole('status').textContent()).toMatch(/^Sending [\w-]+\.csv …$/)
    expect(await page.getByRole('button', { name: 'Send the files' }).isDisabled()).toBe(true)
    const { value, max } = await bar.evaluate((element) => {
      const { value, max } = element as HTMLProgressElement
      return { value, max }
    })
    expect(max).toBe(files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0))
    expect(value).toBeGreaterThan(0)
    expect(value).toBeLessThan(max)
    release()
    await page.getByText('No findings.').waitFor()
    expect(shown.troubles).toEqual([])
  })

  /** An archive with the clean files, one of them in another encoding, beside another file. */
  const packReturn = async () => {
    const files = SDR_FILES.map(
      (file) => [`return/${file}.csv`, readFileSync(sample('clean', file))] as const,
    )
    const courses = Buffer.from(
      readFileSync(sample('clean', 'courses'), 'utf8').replace(',C', ',\u00c7'),
      'latin1',
    )
    const archive = { ...Object.fromEntries(files), 'return/courses.csv': courses, 'return/plan.txt': 'x' }
    return Buffer.from(await pack(archive))
  }
  const NOTES = [
    'archive.zip/plan.txt was not read: it is no file of the definition sdr.',
    'The file was read as Windows-1252, because it is not UTF-8.',
  ]

  test('a dropped archive or workbook is opened and checked, and what was guessed stays on the page', async () => {
    const read = (file: string) => parse(readFileSync(sample('clean', file))) as string[][]
    const workbook = makeXlsx(Object.fromEntries(SDR_FILES.map((file) => [file, read(file)])))
    for (const [name, bytes, notes] of [
      ['Return of Monday.zip', await packReturn(), NOTES],
      ['Return of Tuesday.xlsx', workbook, []],
    ] as const) {
      const console = await start()
      const shown = await console.open(browser)
      const { page } = shown
      await startSubmission(shown)
      const dropped = await page.evaluateHandle(
        ({ name, text }) => {
          const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
          const transfer = new DataTransfer()
          transfer.items.add(new File([bytes], name))
          return transfer
        },
        { name, text: bytes.toString('base64') },
      )
      await page.locator('form[data-upload]').dispatchEvent('drop', { dataTransfer: dropped })
      // The last file has arrived, so the check starts without a click.
      await page.locator('.verdict').waitFor()
      await page.getByRole('link', { name: /^Files/ }).click()
      await page.getByText('All 5 files are here.').waitFor()
      expect(await page.locator('.note').allTextContents()).toEqual(notes)
      expect(shown.troubles).toEqual([])
    }
  })

  test('an archive is sent without JavaScript, and one that is refused says why', async () => {
    const console = await start()
    const { page, ...shown } = await console.open(browser, { javaScriptEnabled: false })
    await startSubmission({ page, ...shown } as ConsolePage)
    const send = async (buffer: Buffer) => {
      await page
        .getByLabel('All files in one archive or workbook')
        .setInputFiles({ name: 'return.zip', mimeType: 'application/zip', buffer })
      await page.getByRole('button', { name: 'Send the files' }).click()
    }
    await send(Buffer.from(await pack({ 'learners.csv': 'localId\n', '../x.csv': '' })))
    await page.getByText('archive.zip/../x.csv is outside of the archive.').waitFor()
    await page.goBack()
    await send(await packReturn())
    await page.getByText('All 5 files are here.').waitFor()
    expect(await page.locator('.note').allTextContents()).toEqual(NOTES)
  })

  test('a file that is not CSV is refused by name, and the rest can still be sent', async () => {
    const console = await start()
    const shown = await console.open(browser)
    const { page } = shown
    await startSubmission(shown)
    await page.locator('input[name="learners"]').setInputFiles({
      name: 'learners.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('PK\u0003\u0004 this is a spreadsheet\u0000\u0000'),
    })
    await page.getByRole('button', { name: 'Send the files' }).click()
    await page.getByText('learners.csv was not accepted.').waitFor()
    expect(await page.locator('progress').isVisible()).toBe(false)
    expect(await page.getByRole('button', { name: 'Send the files' }).isEnabled()).toBe(true)
  })

  test('two tabs of one submission: the second is told what the first has changed', async () => {
    const console = await start()
    const shown = await console.open(browser)
    const { page } = shown
    await startSubmission(shown)
    // The same return again leads to the same submission.
    const first = new URL(page.url()).pathname.replace(/\/files$/, '')
    await startSubmission(shown)
    expect(new URL(page.url()).pathname).toBe(`${first}/files`)

    const other = await page.context().newPage()
    await other.goto(`${console.url}${first}/delete`)
    await page.locator('input[name="learners"]').setInputFiles(sample('clean', 'learners'))
    await other.getByRole('button', { name: 'Delete' }).click()
    await other.getByText('Deleted').waitFor()
    await page.getByRole('button', { name: 'Send the files' }).click()
    await page.getByText('learners.csv was not accepted.').waitFor()
    await page
      .locator('main')
      .filter({ hasText: /cancelled/i })
      .waitFor()
    // A second press of a button whose work is done says so, and changes nothing.
    await other.goto(`${console.url}${first}/delete`)
    await other.getByRole('button', { name: 'Delete' }).click()
    await other.waitForURL(/\/console\/submissions\?/)
    await other.getByText('Deleted').waitFor()
  })
})
