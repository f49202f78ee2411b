import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { storeReturns } from '../../src/submissions/returns/returns.ts'
import { untilHolds } from '../support/command.ts'
import { type ConsolePage, ConsoleService, describeInBrowser, listRoutes } from '../support/console.ts'
import { SDR_FILES } from '../support/sdr/file-types.ts'
import { startWorker } from '../support/submission-worker.ts'

const sample = (file: string) => new URL(`../../samples/${file}`, import.meta.url)

interface Tried {
  readonly status?: number
  /** Sends the form of the page at the path, which leads to the page under test. */
  readonly send?: (page: Page) => Promise<void>
  /** Whether the page is for people who have not signed in. */
  readonly stranger?: true
}

const press = (page: Page, name: string) => page.getByRole('button', { name }).first().click()
const codeTitles = async (page: Page) => {
  await page.getByLabel('Job titles').fill('Kaiako\nNurse\nZzzzzz')
  await press(page, 'Find the codes')
}
const confirmTitles = async (page: Page) => {
  await page.getByLabel('Job titles').fill('Kaiako')
  await press(page, 'Find the codes')
  // What is chosen counts as reviewed.
  await page.getByRole('radio').first().check()
  await press(page, 'Confirm the reviewed titles')
  await page.getByText('1 decision stored.').waitFor()
}
const withdrawTitle = async (page: Page) => {
  await confirmTitles(page)
  await page.getByRole('link', { name: 'Confirmed titles' }).click()
  await press(page, 'Withdraw')
}
const pasteKey = async (page: Page) => {
  await page.getByLabel('API key').fill('mahi_000000000000_wrong')
  await press(page, 'Sign in')
}
const openLink = (page: Page) => press(page, 'Open the console')
const SIGN_IN = 'Sign in to Mahi'
const LINK = `/link/${'x'.repeat(43)}`

/** Each page: a path below `/console`, its heading, and what a person comes to it for. */
const PAGES: readonly (readonly [
  path: string,
  heading: string | RegExp,
  action: `${'button' | 'link' | 'group'} ${string}`,
  tried?: Tried,
])[] = [
  ['', 'Returns', 'link December 2025'],
  ['/returns', 'Returns', 'link December 2025'],
  ['/occupations', 'Occupations', 'button Search'],
  ['/occupations?q=kaiako', 'Occupations', 'link Primary School Teacher'],
  ['/occupations?q=zzzzzz', 'Occupations', 'button Search'],
  ['/occupations?group=1', 'Occupations', 'link Primary School Teacher'],
  ['/occupations/A0102', /Primary School Teacher/, 'link compare'],
  ['/occupations/A0101', 'This occupation was removed', 'link Find another occupation', { status: 410 }],
  ['/compare', 'Compare occupations', 'button Search'],
  ['/compare?code=A0102,A0103,A0201,A0202', 'Compare occupations', 'group Comparison'],
  ['/code', 'Code my list', 'button Find the codes'],
  ['/code', 'Coded list', 'button Download as CSV', { send: codeTitles, status: 303 }],
  ['/code', 'Coded list', 'link Confirmed titles', { send: confirmTitles, status: 303 }],
  ['/code/lists/x', 'No such list', 'link Your lists', { status: 404 }],
  ['/code/confirmed', 'Confirmed titles', 'link Code a list'],
  ['/code', 'Confirmed titles', 'link Code a list', { send: withdrawTitle, status: 303 }],
  ['/changes', 'Changes of the catalogue', 'link 2'],
  ['/changes/2', 'Revision 2', 'link Open the occupation'],
  ['/submissions', 'Submissions', 'button Start a submission'],
  ['/submissions/EMPTY', 'Return 202504', 'button Send the file'],
  ['/submissions/EMPTY/delete', 'Delete the submission?', 'button Delete'],
  ['/submissions/EMPTY/findings', 'Return 202504', 'link Send the files'],
  ['/submissions/WAITING', 'Return 202508', 'button Cancel the check'],
  ['/submissions/CHECKED', /^December 2025 due/, 'link Download marked workbook'],
  ['/submissions/CHECKED/files', /^December 2025 due/, 'button Check the files'],
  ['/submissions/CHECKED/check', /^December 2025 due/, 'link See the findings'],
  ['/submissions/CHECKED/submit', /^December 2025 due/, 'link Submit Not yet: 268 errors left'],
  ['/submissions/CHECKED/receipt', 'No receipt', 'link Go to the console', { status: 404 }],
  ['/submissions/CHECKED/activity', /^December 2025 due/, 'group Activity'],
  ['/submissions/CHECKED/findings', /^December 2025 due/, 'link By cause'],
  ['/submissions/CHECKED/repairs', /^December 2025 due/, 'button Apply and check again'],
  ['/submissions/CHECKED/findings/codes', /^December 2025 due/, 'group Findings by code'],
  ['/submissions/CHECKED/findings/learners', /^December 2025 due/, 'group Learners'],
  [
    '/submissions/CHECKED/findings/records?type=Error&page=2',
    /^December 2025 due/,
    'group Records with findings',
  ],
  ['/submissions/CHECKED/findings/records?new=true', /^December 2025 due/, 'button Show'],
  ['/submissions/CHECKED/compare', /^December 2025 due/, 'link Submissions'],
  ['/rules', 'Rules', 'button Show'],
  ['/rules/sdr/LEA-03-required', 'LEA-03-required', 'link Rules'],
  ['/rules/sdr/CCO-201', 'CCO-201', 'link Rules'],
  ['/returns/202512', 'December 2025', 'link 1001'],
  ['/returns/202512/1001', 'Organisation 1001', 'link Open the submission'],
  ['/returns/202604', 'No such return', 'link Go to the console', { status: 404 }],
  ['/operator', 'Operator', 'group Keys'],
  ['/operator/organisations', 'Organisations', 'group Organisations'],
  ['/operator/organisations/1001', 'Organisation 1001', 'button Suspend'],
  ['/nowhere', 'No such page', 'link Go to the console', { status: 404 }],
  ['/sign-in?signed-out=1', SIGN_IN, 'button Sign in', { stranger: true }],
  ['/sign-in', SIGN_IN, 'button Sign in', { stranger: true, status: 401, send: pasteKey }],
  ['/sign-in/check', SIGN_IN, 'button Sign in', { stranger: true, status: 401 }],
  ['/sign-in/provider', SIGN_IN, 'button Sign in', { stranger: true }],
  ['/signed-in', SIGN_IN, 'button Sign in', { stranger: true, status: 401 }],
  [LINK, SIGN_IN, 'button Open the console', { stranger: true }],
  [LINK, SIGN_IN, 'button Sign in', { stranger: true, status: 401, send: openLink }],
]

/** What a browser requests and shows no page: files, and data for a script. */
const NO_PAGES = [
  'GET /console/',
  'GET /console/assets/:version/:name',
  'GET /console/submissions/:token/corrected.zip',
  'GET /console/submissions/:token/findings.csv',
  'GET /console/submissions/:token/marked.xlsx',
  'GET /console/submissions/:token/progress',
  'GET /console/submissions/:token/repairs/progress',
  'GET /console/suggestions',
]

/** A catalogue with samples in both languages, and submissions in every state. */
async function start(): Promise<{ console: ConsoleService; tokens: Record<string, string> }> {
  const console = await ConsoleService.start({ RATE_LIMIT_SUBMISSIONS: 'off' })
  const { service } = console
  const records = readFileSync(sample('occupations.ndjson'), 'utf8').trim().split('\n')
  await service.import(records.map((line) => JSON.parse(line) as object))
  const [, second = '', third = ''] = records
  await service.import(
    [
      { ...JSON.parse(second), titlePluralEnglish: 'Teachers of primary schools' },
      JSON.parse(third),
      ...records.slice(3).map((line) => JSON.parse(line) as object),
    ],
    { replace: true },
  )
  await console.whenSearchable()

  const { key } = await service.createKey({
    scopes: ['submissions:write', 'validation-results:read'],
    eids: ['1001'],
  })
  const ask = async (
    method: 'PUT' | 'POST' | 'GET',
    path: string,
    payload?: object | Buffer,
    headers = {},
  ) => {
    const response = await service.request({
      method,
      url: `/v1/submissions${path}`,
      headers: { 'x-api-key': key, eid: '1001', ...headers },
      ...(payload !== undefined && { payload }),
    })
    expect(response.statusCode, response.body).toBeLessThan(300)
    return response.body === '' ? {} : response.json()
  }
  const create = async (returnId: string): Promise<string> =>
    (await ask('POST', '', { returnId })).submissionToken
  const put = async (token: string, set: string, files: readonly string[]) => {
    for (const file of files) {
      await ask('PUT', `/${token}/files/${file}`, readFileSync(sample(`sdr/${set}/${file}.csv`)), {
        'content-type': 'text/csv',
      })
    }
  }
  const check = async (token: string) => {
    const { runId } = await ask('POST', `/${token}/validation-runs`)
    await untilHolds(async () => {
      expect(await ask('GET', `/${token}/validation-runs/${runId}`)).toMatchObject({ status: 'Processed' })
    })
  }
  const worker = await startWorker(service.database, ['sdr'])
  const checked = await create('202512')
  await put(checked, 'faulty', SDR_FILES)
  await check(checked)
  const { undecided } = await ask('GET', `/${checked}/validation-results/summary`)
  expect(undecided).toContainEqual({
    errorCode: 'LEA-102',
    file: 'learners',
    field: 'lastYearAtSchool',
    records: 2,
  })
  await put(checked, 'clean', SDR_FILES.slice(0, 1))
  await check(checked)
  await untilHolds(async () => expect(await ask('GET', `/${checked}/repairs`)).toHaveProperty('changes'))
  await worker.stop()
  const waiting = await create('202508')
  await put(waiting, 'clean', SDR_FILES)
  await ask('POST', `/${waiting}/validation-runs`)
  const empty = await create('202504')
  // Only now, so that the others could be started, and for another organisation, so that its list has no returns.
  const dates = {
    opens: Date.now(),
    due: Date.now() + 86_400_000,
    closes: Date.now() + 172_800_000,
    zone: 'UTC',
  }
  const described = { name: 'December 2025', definition: 'sdr', version: '2025.12.0', type: 'Full' } as const
  await storeReturns(service.database, [{ returnId: '202512', ...described, ...dates, eids: ['1002'] }])
  return { console, tokens: { CHECKED: checked, WAITING: waiting, EMPTY: empty } }
}

const NARROW = 320

/** What a page is looked at with: colours do not depend on the width, and sizes not on the colours. */
const SCREENS = [
  [NARROW, 'light'],
  [768, 'dark'],
  [1024, 'light'],
] as const

describeInBrowser('in a browser', () => {
  test('every route of a page is complete, accessible and within its policy, and fits in each width', async () => {
    const { console, tokens } = await start()
    const signedIn = await console.open()
    const stranger = await console.open({ javaScriptEnabled: false }, { signedIn: false })
    const faults: string[] = []
    for (const [path, heading, action, tried = {}] of PAGES) {
      const shown = tried.stranger === true ? stranger : signedIn
      const at = path.replace(/[A-Z]{5,}/, (token) => tokens[token] ?? token)
      const found = await findFaults(shown, { path: at, heading, action, ...tried })
      faults.push(...found.map((fault) => `${path}: ${fault}`))
    }
    expect(faults).toEqual([])
    const visited = new Set(console.service.log.map((line) => `GET ${(JSON.parse(line) as Line).route}`))
    const pages = (await listRoutes()).filter((route) => route.startsWith('GET '))
    expect(pages.filter((route) => !visited.has(route) && !NO_PAGES.includes(route))).toEqual([])
  })
})

interface Line {
  readonly route?: string
}

interface Expected extends Tried {
  readonly path: string
  readonly heading: string | RegExp
  readonly action: string
}

async function findFaults(shown: ConsolePage, expected: Expected): Promise<string[]> {
  const { page, troubles } = shown
  const { path, heading, action, send, status = 200 } = expected
  const known = troubles.length
  let got = await shown.goto(`/console${path}`)
  if (send !== undefined) {
    const [response] = await Promise.all([
      page.waitForResponse((each) => each.request().method() === 'POST'),
      page.waitForEvent('load'),
      send(page),
    ])
    got = response.status()
  }
  const [role = '', ...words] = action.split(' ')
  const main = page.getByRole(role as 'link', { name: words.join(' '), exact: true }).first()
  const faults = [
    ...(got === status ? [] : [`status ${got}`]),
    ...((await page.getByRole('heading', { level: 1, name: heading }).isVisible()) ? [] : ['no heading']),
    ...((await main.isVisible()) ? [] : [`no ${action}`]),
    ...((await page.locator('[hidden]:visible').count()) === 0 ? [] : ['shows what is hidden']),
    ...((await page.locator('svg text').count()) === 0 ? [] : ['has text that shrinks with its drawing']),
  ]
  for (const [width, colorScheme] of SCREENS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    faults.push(...(await shown.findBarriers()))
    if (!(await shown.isWithinWidth())) faults.push(`wider than ${width} px`)
    const empty = page
      .locator('.cards tbody td:visible')
      .filter({ hasText: /^\s*$/, hasNot: page.locator('svg, input') })
    if (width !== NARROW) continue
    if ((await empty.count()) > 0) faults.push('a card names what is empty')
    const tables = await page
      .locator('.scroll')
      .evaluateAll((each) => each.map(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth))
    if (tables.includes(true)) faults.push('a table is cut at the edge')
  }
  return [...faults, ...troubles.slice(known)]
}
