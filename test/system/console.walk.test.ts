import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Scope } from '../../src/api/access/principal.ts'
import { storeReturns } from '../../src/submissions/returns/returns.ts'
import { ConsoleService, describeInBrowser } from '../support/console.ts'
import { libreOffice, saveAs } from '../support/libreoffice.ts'
import { renderAsExported } from '../support/sdr/as-exported.ts'
import { startWorker } from '../support/submission-worker.ts'
import { temporaryFolder } from '../support/temporary.ts'

const clean = (file: string) => new URL(`../../samples/sdr/clean/${file}.csv`, import.meta.url).pathname
const RETURN = { returnId: '202512', name: 'December 2025', definition: 'sdr', version: '2025.12.0' } as const
const DAY = 86_400_000
const OCCUPATIONS = [
  {
    occupationCode: 'A1',
    titleEnglish: 'Teacher',
    titleMaori: 'Kaiako',
    descriptionEnglish: 'Teaches pupils.',
  },
  { occupationCode: 'A2', titleEnglish: 'Motor Mechanic', descriptionEnglish: 'Repairs cars.' },
  { occupationCode: 'A3', titleEnglish: 'Gardener', descriptionEnglish: 'Grows plants.' },
]

/** What each action of a person takes, in seconds: to read and decide, to choose files, and to type. */
const SECONDS = { press: 12, files: 30, type: 15 }
/** To correct one cause in the system that the files come from, and to export them again. */
const CORRECTION = 45

describeInBrowser('five people', () => {
  /** A person with a key of their own, and what they do in their browser. */
  async function enter(console: ConsoleService, scopes: readonly Scope[], eids: readonly string[]) {
    const { id: keyId } = await console.service.createKey({ client: 'person', scopes, eids })
    const { page, url, troubles } = await console.open({}, { keyId })
    await page.goto(`${url}/console`)
    let seconds = 0
    let requests = 0
    // Pages, forms and uploads: what a page asks about progress depends on the machine.
    page.on('request', (request) => {
      if (request.resourceType() === 'document' || request.method() !== 'GET') requests++
    })
    const press = async (role: 'button' | 'link' | 'radio', name: string | RegExp) => {
      seconds += SECONDS.press
      await page.getByRole(role, { name }).first().click()
    }
    const send = async (files: readonly string[]) => {
      seconds += SECONDS.files
      await page.locator('input[multiple]').setInputFiles([...files])
      await press('button', /^Send /)
    }
    const type = async (label: string, text: string) => {
      seconds += SECONDS.type
      await page.getByLabel(label).first().fill(text)
    }
    const download = async (role: 'button' | 'link', name: string) => {
      const [file] = await Promise.all([page.waitForEvent('download'), press(role, name)])
      return readFileSync(await file.path(), 'utf8')
    }
    const see = (text: string | RegExp) => page.getByText(text).first().waitFor()
    const spent = (more = 0) => ({ minutes: (seconds + more) / 60, requests })
    return { page, press, send, type, download, see, troubles, spent }
  }

  test('an analyst, a manager and the agency bring a messy export to a signed return, twice', async () => {
    const console = await ConsoleService.start()
    const { database } = console.service
    await startWorker(database, ['sdr'], { inProcesses: true })
    const now = Date.now()
    const dates = { opens: now - DAY, due: now + DAY, closes: now + 20 * DAY, zone: 'UTC' }
    await storeReturns(database, [{ ...RETURN, ...dates, type: 'Full', eids: ['1001', '1002'] }])
    const folder = temporaryFolder()
    const exported = Object.entries(renderAsExported()).map(([name, content]) => {
      const file = join(folder, name)
      writeFileSync(file, content)
      // What a spreadsheet program makes of a file that it opens and saves.
      const isSaved = name === 'enrolments.csv' && libreOffice !== undefined
      return isSaved ? saveAs('xlsx', file, folder) : file
    })

    // The analyst needs two rounds, and at most eight causes to correct by hand.
    const analyst = await enter(console, ['submissions:write', 'validation-results:read'], ['1001'])
    await analyst.press('button', /^Start/)
    await analyst.send(exported)
    await analyst.see('Missing: Qualification completions.')
    await analyst.send([clean('qualification-completions')])
    await analyst.page.waitForURL(/\/findings\?/)
    await analyst.press('link', 'See the repairs')
    await analyst.press('button', 'Apply and check again')
    await analyst.page.waitForURL(/\/findings\?/)
    const left = await analyst.page.locator('.causes h2').count()
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(8)
    await analyst.press('link', /^Files/)
    await analyst.send(['learners', 'courses', 'enrolments', 'course-completions'].map(clean))
    await analyst.page.waitForURL(/\/findings\?/)
    await analyst.press('link', 'Go on to submit')
    await analyst.press('button', 'Submit')
    await analyst.see(/^Submitted by person/)
    const { minutes, requests } = analyst.spent(left * CORRECTION)
    expect(minutes).toBeLessThanOrEqual(15)
    expect(requests).toBeLessThanOrEqual(30)

    // The manager reads the receipt, and has nothing to change.
    const manager = await enter(console, ['validation-results:read'], ['1001'])
    await manager.see(/Submitted/)
    await manager.press('link', /December 2025/)
    await manager.press('link', 'Receipt')
    await manager.see('Receipt 1')
    expect(await manager.page.getByRole('button', { name: /Submit|Reopen|Delete/ }).count()).toBe(0)

    // The agency sees how far all are, reminds the other one, and opens this one again.
    const agency = await enter(console, ['operate'], [])
    await agency.see('1 of 2')
    await agency.press('link', 'December 2025')
    await agency.page.getByText('1 organisation not started').click()
    expect(await agency.page.locator('pre').textContent()).toBe('1002')
    await agency.press('link', '1001')
    await agency.type('Reason', 'A course is missing.')
    await agency.type('Until the end of this day.', new Date(now + 3 * DAY).toISOString().slice(0, 10))
    await agency.press('button', 'Reopen the submission')
    await agency.see(/Reopened until /)

    // Both are told why; the analyst sends one file more, and signs again.
    await manager.page.goto(`${console.url}/console/submissions`)
    await manager.see(/Reopened until /)
    await analyst.page.goto(`${console.url}/console/submissions`)
    await analyst.press('link', /December 2025/)
    await analyst.see(/A course is missing\./)
    await analyst.press('link', /^Files/)
    await analyst.send([clean('courses')])
    await analyst.page.waitForURL(/\/findings\?/)
    await analyst.press('link', 'Go on to submit')
    await analyst.press('button', 'Submit')
    await analyst.see(/^Submitted by person/)
    await analyst.press('link', 'Receipt')
    await analyst.see('Receipt 2')
    expect([analyst, manager, agency].flatMap(({ troubles }) => troubles)).toEqual([])
  })

  test('a career adviser finds, compares and codes; a statistician reads what has changed', async () => {
    const console = await ConsoleService.start()
    await console.service.import(OCCUPATIONS)
    await console.service.import([{ ...OCCUPATIONS[1], descriptionEnglish: 'Repairs cars and vans.' }])
    await console.whenSearchable()
    const adviser = await enter(console, ['occupations:read', 'codings:confirm'], [])
    await adviser.type('Find an occupation', 'fixing cars')
    await adviser.press('button', 'Search')
    await adviser.press('link', 'Motor Mechanic')
    await adviser.press('link', 'Compare with another occupation')
    await adviser.type('Find an occupation to compare', 'teacher')
    await adviser.press('button', 'Search')
    await adviser.press('link', /^add/)
    await adviser.page.getByRole('group', { name: 'Comparison' }).getByText('Teaches pupils.').waitFor()

    // A list as a spreadsheet program saves it, with titles in one of its columns.
    const folder = temporaryFolder()
    const list = join(folder, 'wave 2.csv')
    writeFileSync(
      list,
      'Number,Job title,Town\n1,Teacher,Ōpōtiki\n2,Motor mechanik,Gore\n3,unemployed,Bluff\n',
    )
    await adviser.press('link', 'Code my list')
    await adviser.page.locator('input[type="file"]').setInputFiles([list])
    await adviser.press('button', 'Code the file')
    await adviser.see('In a row, the keys')
    const coded = await adviser.download('button', 'Download as CSV')
    expect(coded.replace('\ufeff', '').trimEnd().split(/\r?\n/)).toEqual([
      'Number,Job title,Town,occupationCode,occupationTitle,certainty',
      expect.stringMatching(/^1,Teacher,Ōpōtiki,A1,Teacher,/),
      expect.stringMatching(/^2,Motor mechanik,Gore,A2,Motor Mechanic,/),
      '3,unemployed,Bluff,,,',
    ])

    const statistician = await enter(console, ['occupations:read'], [])
    await statistician.press('link', 'Changes')
    await statistician.press('link', '2')
    await statistician.see('Repairs cars and vans.')
    expect([adviser, statistician].flatMap(({ troubles }) => troubles)).toEqual([])
  })
})
