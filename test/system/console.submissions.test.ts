import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { type ConsolePage, ConsoleService, describeInBrowser } from '../support/console.ts'
import { pack } from '../support/pack.ts'
import { SDR_FILES } from '../support/sdr/file-types.ts'
import { startWorker } from '../support/submission-worker.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { makeXlsx } from '../support/xlsx.ts'

/** Starts the submission of a return, or opens the one that it already has. */
async function startSubmission({ page, url }: ConsolePage): Promise<void> {
  await page.goto(`${url}/console/submissions`)
  await page.getByLabel('Return').fill('202512')
  await page.getByRole('button', { name: 'Start a submission' }).click()
}

const sample = (set: 'clean' | 'faulty', file: string) =>
  new URL(`../../samples/sdr/${set}/${file}.csv`, import.meta.url).pathname

async function start(screen?: BrowserContextOptions) {
  const console = await ConsoleService.start({}, screen)
  await startWorker(console.service.database, ['sdr'], { inProcesses: true })
  return console
}

/** The page of the files of a new submission. */
async function openFiles() {
  const console = await start()
  const shown = await console.open()
  await startSubmission(shown)
  await shown.page.getByText('Check them when all have arrived').waitFor()
  return { console, shown, page: shown.page }
}

describeInBrowser('submissions in the console', () => {
  test('five files are sent and checked, and corrected and checked again', async () => {
    const console = await start({ viewport: { width: 320, height: 800 } })
    const shown = await console.open()
    const { page } = shown
    await startSubmission(shown)
    const send = async (set: 'clean' | 'faulty') => {
      await page.locator('input[multiple]').setInputFiles(SDR_FILES.map((file) => sample(set, file)))
      await page.getByRole('button', { name: 'Send 5 files' }).click()
    }

    await send('faulty')
    await page.waitForURL(/\/findings\?/)
    expect(await page.locator('.verdict').textContent()).toMatch(
      /^\s*[\d,]+ errors and [\d,]+ warnings?, from [\d,]+ causes\./,
    )
    const path = new URL(page.url()).pathname
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
    await page.getByRole('link', { name: 'compare with the newest' }).click()
    await page.getByText(/New: 0.*Fixed: \d+.*Still open: 0/).waitFor()

    expect(shown.troubles).toEqual([])
    // The log says who looked at findings, and nothing of them.
    const log = console.service.log.join('')
    expect(log).toContain('findings viewed')
    expect(log).not.toContain('S0000')
  })

  /** Drops files on the page. */
  const drop = async (page: Page, files: Readonly<Record<string, string | Buffer>>) => {
    const given = Object.entries(files).map(([name, content]) => ({
      name,
      text: Buffer.from(content).toString('base64'),
    }))
    const dropped = await page.evaluateHandle((all) => {
      const transfer = new DataTransfer()
      for (const { name, text } of all) {
        const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
        transfer.items.add(new File([bytes], name))
      }
      return transfer
    }, given)
    await page.locator('form[data-upload]').dispatchEvent('dragover', { dataTransfer: dropped })
    await page.locator('form[data-upload]').dispatchEvent('drop', { dataTransfer: dropped })
  }
  const clean = (file: string) => readFileSync(sample('clean', file))
  const readRows = (file: string) => parse(clean(file)) as string[][]

  test('all that is dropped is listed with what it is, and nothing is sent before its place is known', async () => {
    const console = await start()
    const shown = await console.open({ viewport: { width: 390, height: 800 } })
    const { page } = shown
    await startSubmission(shown)
    await page.getByText('Check them when all have arrived').waitFor()
    const sent: string[] = []
    const texts: string[] = []
    page.on('request', (request) => {
      if (request.method() !== 'PUT') return
      sent.push(new URL(request.url()).pathname.replace(/.*\/files/, ''))
      texts.push(request.postDataBuffer()?.toString() ?? '')
    })
    const [header = '', ...learners] = clean('learners').toString().split('\n')
    const half = Math.ceil(learners.length / 2)
    const workbook = makeXlsx({
      'About this': [['A note'], ['for people']],
      'Sheet 1': [['Courses of the year'], ...readRows('courses')],
      'Completed &amp; done': readRows('course-completions'),
    })
    await drop(page, {
      [`${'n'.repeat(290)} 2025 FINAL v2.csv`]: `${clean('enrolments')}Total,1\n`,
      'first half.csv': [header, ...learners.slice(0, half)].join('\n'),
      'second half.csv': Buffer.from([header, ...learners.slice(half), 'Café'].join('\n'), 'latin1'),
      'jobs.xlsx': workbook,
      'quals.zip': Buffer.from(
        await pack({ 'a/export 7.csv': clean('qualification-completions'), 'a/plan.txt': 'x' }),
      ),
      'guide.pdf': '%PDF-1.7',
      'old.xls': Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      'empty.csv': '',
    })
    const rows = page.locator('[data-found] tbody tr')
    await expect.poll(() => rows.count()).toBe(11)
    const listed = await rows.evaluateAll((all) =>
      all.map((row) => [
        row.querySelector('th')?.firstChild?.textContent?.slice(-20),
        row.querySelector('td')?.textContent,
        row.querySelector('select')?.value,
        [...row.querySelectorAll('.note')].map((note) => note.textContent?.split('.')[0]).join('; '),
      ]),
    )
    const count = (file: string, more = 0) => (readRows(file).length - 1 + more).toLocaleString('en-NZ')
    expect(listed).toEqual([
      [
        'nnnnn 2025 FINAL v2.csv'.slice(-20),
        count('enrolments', 1),
        'enrolments',
        'The last line is a total',
      ],
      ['first half.csv', String(half), 'learners', ''],
      ['second half.csv', String(learners.length - half), 'learners', ''],
      ['jobs.xlsx/About this', '1', '', ''],
      ['jobs.xlsx/Sheet 1', count('courses'), 'courses', 'The first line is not the header'],
      ['lsx/Completed & done', count('course-completions'), 'course-completions', ''],
      ['s.zip/a/export 7.csv', count('qualification-completions'), 'qualification-completions', ''],
      ['quals.zip/a/plan.txt', '0', '', ''],
      ['guide.pdf', '', undefined, ''],
      ['old.xls', '', undefined, ''],
      ['empty.csv', '', undefined, ''],
    ])
    expect(await page.getByText(/^Cannot be sent\./).allTextContents()).toEqual([
      expect.stringContaining('It is a PDF.'),
      expect.stringContaining('the old format (.xls), or one with a password'),
      expect.stringContaining('It is empty.'),
    ])
    const status = page.locator('form[data-upload] [data-text]')
    const button = page.getByRole('button', { name: /^Send/ })
    expect(await status.textContent()).toBe(
      'Choose what each is: jobs.xlsx/About this, quals.zip/a/plan.txt.',
    )
    expect(await shown.findBarriers()).toEqual([])
    expect(await shown.isWithinWidth()).toBe(true)
    await page.setViewportSize({ width: 1280, height: 800 })
    expect(await shown.isWithinWidth()).toBe(true)
    await page.getByRole('button', { name: 'Leave out these 2' }).click()
    expect(await status.textContent()).toBe('Only one file of a kind can be sent: Learners.')
    expect([await button.isDisabled(), sent]).toEqual([true, []])
    await page.getByRole('button', { name: 'Only this one' }).last().click()
    expect(await page.getByLabel('What first half.csv is').inputValue()).toBe('-')
    await page.getByLabel('What first half.csv is').selectOption('learners')
    await page.getByRole('button', { name: 'Join them' }).click()
    await page.getByRole('button', { name: 'Take them apart' }).click()
    expect(await status.textContent()).toBe('Only one file of a kind can be sent: Learners.')
    await page.getByRole('button', { name: 'Join them' }).click()
    expect(await rows.nth(1).locator('td').first().textContent()).toBe(String(learners.length))
    expect(await rows.nth(2).textContent()).toContain('Joined to first half.csv.')
    expect(await rows.nth(2).locator('td').last().getAttribute('class')).toBe('')

    // An upload that breaks changes nothing about the others, and is sent again alone.
    await page.route('**/files/courses?*', (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: 'Send 5 files' }).click()
    await page.getByText(/^Stored: (?:[^,]+, ){3}[^,]+\. Not sent yet: jobs\.xlsx\/Sheet 1\.$/).waitFor()
    expect(await page.getByText(/^Stored\.$/).count()).toBe(4)
    expect(await page.getByText('No files are stored.').count()).toBe(0)
    expect(await page.locator('[data-state]').textContent()).toContain('Missing: Course register.')
    await page.getByRole('button', { name: 'Send the file' }).click()
    await page.locator('.verdict').waitFor()
    expect(sent).toEqual([
      ...['/enrolments', '/learners', '/courses', '/course-completions', '/qualification-completions'],
      '/courses',
    ])
    expect(texts[1]).toMatch(/^Café$/m)
    await page.getByRole('link', { name: /^Files/ }).click()
    await page.getByText('All 5 files are here.').waitFor()
    const stored = page.locator('table.files').first().locator('tbody tr')
    expect(await stored.locator('td.number').allTextContents()).toEqual(
      ['learners', 'courses', 'enrolments', 'course-completions', 'qualification-completions'].map((file) =>
        (
          readRows(file).length -
          1 +
          (['learners', 'courses', 'enrolments'].includes(file) ? 1 : 0)
        ).toLocaleString('en-NZ'),
      ),
    )
    expect(shown.troubles.filter((each) => !each.includes('ERR_FAILED'))).toEqual([])
  })

  test('thirty files at once, and two of one name, are all listed, and can all be left out', async () => {
    const { shown, page } = await openFiles()
    const names = Array.from({ length: 30 }, (_, at) => `notes ${at}.csv`)
    await drop(page, Object.fromEntries(names.map((name) => [name, 'a,b\n1,2\n'])))
    const rows = page.locator('[data-found] tbody tr')
    await expect.poll(() => rows.count()).toBe(30)
    await drop(page, { 'notes 0.csv': 'a,b\n1,2\n3,4\n' })
    await expect.poll(() => rows.count()).toBe(31)
    expect(await rows.filter({ hasText: 'notes 0.csv' }).locator('td.number').allTextContents()).toEqual([
      '1',
      '2',
    ])
    await page.getByRole('button', { name: 'Leave out these 31' }).click()
    await page.getByText('There is nothing to send.').waitFor()
    expect(await page.getByRole('button', { name: /^Send/ }).isDisabled()).toBe(true)
    // Joined to itself, a file would have each record twice.
    await drop(page, { 'one.csv': clean('learners'), 'copy.csv': clean('learners') })
    await expect.poll(() => page.getByRole('button', { name: 'Only this one' }).count()).toBe(2)
    expect(await page.getByRole('button', { name: 'Join them' }).count()).toBe(0)
    expect(shown.troubles).toEqual([])
  })

  test.for([
    ['arrives', 'Stored.', 'Not sent yet: courses.csv.'],
    ['breaks', /^Not sent: The connection failed\./, 'Not sent yet: learners.csv, courses.csv.'],
  ] as const)(
    'what is dropped while a file that %s is sent stays listed, and is sent next',
    async ([how, outcome, said]) => {
      const { page } = await openFiles()
      const held = Promise.withResolvers<void>()
      await page.route(
        '**/files/learners?*',
        async (route) => {
          await held.promise
          await (how === 'arrives' ? route.continue() : route.abort())
        },
        { times: 1 },
      )
      await drop(page, { 'learners.csv': clean('learners') })
      const button = page.getByRole('button', { name: /^Send/ })
      await button.click()
      await page.getByText('Sending learners.csv …').waitFor()
      await drop(page, { 'courses.csv': clean('courses') })
      const rows = page.locator('[data-found] tbody tr')
      await expect.poll(() => rows.count()).toBe(2)
      expect(await button.isDisabled()).toBe(true)
      expect(await rows.nth(0).locator('td').last().textContent()).toBe('Sending …')
      // Whoever leaves the page meanwhile is asked first.
      const asked = page.waitForEvent('dialog')
      const left = page.goto('about:blank').catch(() => 'stayed')
      const dialog = await asked
      expect(dialog.type()).toBe('beforeunload')
      await dialog.dismiss()
      expect(await left).toBe('stayed')
      held.resolve()
      await page.getByText(said, { exact: true }).waitFor()
      expect(await rows.nth(0).locator('td').last().textContent()).toMatch(outcome)
      await button.click()
      await page.getByText(/^Missing: Course enrolments, /).waitFor()
    },
  )

  test('a file that changes while others are sent is named, and is sent once it is chosen again', async () => {
    const { page } = await openFiles()
    const folder = temporaryFolder()
    const [header = '', ...records] = clean('learners').toString().trim().split('\n')
    /** Writes a file that was saved so many days ago: a browser compares whole seconds. */
    const save = (name: string, days: number, content: string | Buffer) => {
      const path = join(folder, name)
      writeFileSync(path, content)
      const at = Date.now() / 1000 - days * 86_400
      utimesSync(path, at, at)
      return path
    }
    const choose = (...paths: string[]) => page.locator('input[multiple]').setInputFiles(paths)
    const book = makeXlsx({ Notes: [['a note']], Sheet: readRows('course-completions') })
    await choose(
      save('courses.csv', 2, clean('courses')),
      save('enrolments.csv', 2, clean('enrolments')),
      save('one.csv', 2, [header, ...records.slice(1)].join('\n')),
      save('two.csv', 2, [header, ...records.slice(0, 1)].join('\n')),
      save('completions.xlsx', 2, book),
    )
    await page.getByRole('button', { name: 'Join them' }).click()
    await page.getByLabel('What completions.xlsx/Notes is').selectOption('-')
    const held = Promise.withResolvers<void>()
    const hold = async (route: Route) => {
      await held.promise
      await route.continue()
    }
    await page.route('**/files/courses?*', hold, { times: 1 })
    await page.getByRole('button', { name: 'Send 4 files' }).click()
    await page.getByText('Sending courses.csv …').waitFor()
    const later = [
      save('enrolments.csv', 1, clean('enrolments')),
      save('two.csv', 1, [header, ...records.slice(0, 1)].join('\n')),
      save('completions.xlsx', 1, book),
    ]
    held.resolve()
    const status = page.locator('form[data-upload] [data-text]')
    await expect
      .poll(() => status.textContent())
      .toBe(
        'Stored: courses.csv. Not sent yet: one.csv. Choose again: enrolments.csv, two.csv, completions.xlsx/Sheet.',
      )
    expect(await page.getByText(/^Not sent: It has changed since it was chosen\./).count()).toBe(3)
    await choose(...later)
    await page.getByRole('button', { name: 'Join them' }).click()
    await page.getByLabel('What completions.xlsx/Notes is').last().selectOption('-')
    await page.getByRole('button', { name: 'Send 3 files' }).click()
    await page.getByText('Missing: Qualification completions.').waitFor()
    const counts = page.locator('table.files').first().locator('td.number')
    expect((await counts.allTextContents())[0]).toBe(records.length.toLocaleString('en-NZ'))
  })

  test('what was chosen is kept when the session has ended, and is sent after the sign-in', async () => {
    const { console, shown, page } = await openFiles()
    await drop(page, { 'learners.csv': clean('learners') })
    await page.context().clearCookies()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.method()))
    const button = page.getByRole('button', { name: 'Send the file' })
    await button.click()
    await page.getByText('Your session has ended.').waitFor()
    await page.getByText('Not sent yet: learners.csv.').waitFor()
    // The refusal of the file says it: nothing is asked before.
    expect(requests).toEqual(['PUT'])
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('target')).toBe('_blank')
    const [name = '', value = ''] = (await console.signIn()).split('=')
    await page.context().addCookies([{ name, value, url: shown.url }])
    await button.click()
    await page.getByText(/^Missing: /).waitFor()
    expect(await page.getByText(/^Missing: /).textContent()).not.toContain('Learners')
  })

  test('without JavaScript, an archive or a file that is refused says why beside its form', async () => {
    const console = await start()
    const shown = await console.open({ javaScriptEnabled: false })
    const { page } = shown
    await startSubmission(shown)
    const send = async (kind: string, name: string, buffer: Buffer) => {
      await page.getByLabel('What it is').selectOption(kind)
      await page.getByLabel('Files', { exact: true }).setInputFiles({ name, mimeType: '', buffer })
      await page.getByRole('button', { name: 'Send the file' }).click()
    }
    await send('*', 'return.zip', Buffer.from(await pack({ 'learners.csv': 'localId\n', '../x.csv': '' })))
    await page
      .getByRole('alert')
      .filter({ hasText: 'archive.zip/../x.csv is outside of the archive.' })
      .waitFor()
    await send('learners', 'learners.csv', Buffer.from('a spreadsheet\u0000\u0000'))
    await page.getByRole('alert').filter({ hasText: 'NUL characters' }).waitFor()
    const files = SDR_FILES.map((file) => [`return/${file}.csv`, clean(file)] as const)
    const courses = Buffer.from(clean('courses').toString().replace(',C', ',\u00c7'), 'latin1')
    const archive = { ...Object.fromEntries(files), 'return/courses.csv': courses, 'return/plan.txt': 'x' }
    await send('*', 'return.zip', Buffer.from(await pack(archive)))
    await page.getByText('All 5 files are here.').waitFor()
    // What was guessed stays on the page.
    expect(await page.locator('.note').allTextContents()).toEqual([
      'archive.zip/plan.txt was not read: it is no file of the definition sdr.',
      'The file was read as Windows-1252, because it is not UTF-8.',
    ])
  })

  test('two tabs of one submission: the second is told what the first has changed', async () => {
    const console = await start()
    const shown = await console.open()
    const { page } = shown
    await startSubmission(shown)
    // The same return again leads to the same submission.
    const first = new URL(page.url()).pathname.replace(/\/files$/, '')
    await startSubmission(shown)
    expect(new URL(page.url()).pathname).toBe(`${first}/files`)

    const other = await page.context().newPage()
    await other.goto(`${console.url}${first}/delete`)
    await page.locator('input[multiple]').setInputFiles(sample('clean', 'learners'))
    await other.getByRole('button', { name: 'Delete' }).click()
    await other.getByText('Deleted').waitFor()
    await page.getByRole('button', { name: 'Send the file' }).click()
    await page.getByText(/^Refused: .*(?:cancelled|deleted)/i).waitFor()
    // A second press of a button whose work is done says so, and changes nothing.
    await other.goto(`${console.url}${first}/delete`)
    await other.getByRole('button', { name: 'Delete' }).click()
    await other.waitForURL(/\/console\/submissions\?/)
    await other.getByText('Deleted').waitFor()
  })
})
