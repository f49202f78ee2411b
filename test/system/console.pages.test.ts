import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chromiumPath, startBrowser } from '../support/browser.ts'
import { untilHolds } from '../support/command.ts'
import { type ConsolePage, ConsoleService, listRoutes } from '../support/console.ts'
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
const pasteKey = async (page: Page) => {
  await page.getByLabel('API key').fill('mahi_000000000000_wrong')
  await press(page, 'Sign in')
}
const SIGN_IN = 'Sign in to Mahi'

/**
 * Each page: its route as the console registers it, a path below `/console`, its heading, and what a person comes to
 * it for. CHECKED, WAITING and EMPTY are the tokens of submissions.
 */
const PAGES: readonly (readonly [
  route: string,
  path: string,
  heading: string | RegExp,
  action: `${'button' | 'link' | 'region'} ${string}`,
  tried?: Tried,
])[] = [
  ['GET /console', '', 'Returns', 'link Submissions'],
  ['GET /console/returns', '/returns', 'Returns', 'link Submissions'],
  ['GET /console/occupations', '/occupations', 'Occupations', 'button Search'],
  ['GET /console/occupations', '/occupations?q=kaiako', 'Occupations', 'link Primary School Teacher'],
  ['GET /console/occupations', '/occupations?q=zzzzzz', 'Occupations', 'button Search'],
  ['GET /console/occupations', '/occupations?group=1', 'Occupations', 'link Primary School Teacher'],
  ['GET /console/occupations/:code', '/occupations/A0102', /Primary School Teacher/, 'link compare'],
  [
    'GET /console/occupations/:code',
    '/occupations/A0101',
    'This occupation was removed',
    'link Find another occupation',
    { status: 410 },
  ],
  ['GET /console/compare', '/compare', 'Compare occupations', 'button Search'],
  [
    'GET /console/compare',
    '/compare?code=A0102,A0103,A0201,A0202',
    'Compare occupations',
    'region Comparison',
  ],
  ['GET /console/code', '/code', 'Code my list', 'button Find the codes'],
  [
    'GET /console/code/lists/:list',
    '/code',
    'Coded list',
    'button Download as CSV',
    { send: codeTitles, status: 303 },
  ],
  [
    'POST /console/code/lists/:list',
    '/code',
    'Coded list',
    'link Confirmed titles',
    { send: confirmTitles, status: 303 },
  ],
  ['GET /console/code/lists/:list', '/code/lists/x', 'No such list', 'link Your lists', { status: 404 }],
  ['GET /console/code/confirmed', '/code/confirmed', 'Confirmed titles', 'link Code a list'],
  [
    'POST /console/code/confirmed',
    '/code',
    'Confirmed titles',
    'link Code a list',
    {
      send: async (page) => {
        await confirmTitles(page)
        await page.getByRole('link', { name: 'Confirmed titles' }).click()
        await press(page, 'Withdraw')
      },
      status: 303,
    },
  ],
  ['GET /console/changes', '/changes', 'Changes of the catalogue', 'link 2'],
  ['GET /console/changes/:number', '/changes/2', 'Revision 2', 'link Open the occupation'],
  ['GET /console/submissions', '/submissions', 'Submissions', 'button Start a submission'],
  ['GET /console/submissions/:token', '/submissions/EMPTY', 'Return 202504', 'button Send the file'],
  [
    'GET /console/submissions/:token/files',
    '/submissions/CHECKED/files',
    'Return 202512',
    'button Check the files',
  ],
  [
    'GET /console/submissions/:token/check',
    '/submissions/CHECKED/check',
    'Return 202512',
    'link See the findings',
  ],
  [
    'GET /console/submissions/:token/submit',
    '/submissions/CHECKED/submit',
    'Return 202512',
    'link Submit not yet',
  ],
  [
    'GET /console/submissions/:token/receipt',
    '/submissions/CHECKED/receipt',
    'No receipt',
    'link Back',
    { status: 404 },
  ],
  [
    'GET /console/submissions/:token/activity',
    '/submissions/CHECKED/activity',
    'Return 202512',
    'region Activity',
  ],
  ['GET /console/submissions/:token', '/submissions/WAITING', 'Return 202508', 'button Cancel the check'],
  [
    'GET /console/submissions/:token',
    '/submissions/CHECKED',
    'Return 202512',
    'link Download marked workbook',
  ],
  [
    'GET /console/submissions/:token/delete',
    '/submissions/EMPTY/delete',
    'Delete the submission?',
    'button Delete',
  ],
  [
    'GET /console/submissions/:token/findings',
    '/submissions/CHECKED/findings',
    'Return 202512',
    'link By cause',
  ],
  [
    'GET /console/submissions/:token/findings',
    '/submissions/EMPTY/findings',
    'Return 202504',
    'link Check the files',
  ],
  [
    'GET /console/submissions/:token/repairs',
    '/submissions/CHECKED/repairs',
    'Return 202512',
    'button Apply and check again',
  ],
  [
    'GET /console/submissions/:token/findings/codes',
    '/submissions/CHECKED/findings/codes',
    'Return 202512',
    'region Findings by code',
  ],
  [
    'GET /console/submissions/:token/findings/learners',
    '/submissions/CHECKED/findings/learners',
    'Return 202512',
    'region Learners',
  ],
  [
    'GET /console/submissions/:token/findings/records',
    '/submissions/CHECKED/findings/records?type=Error&page=2',
    'Return 202512',
    'region Records with findings',
  ],
  [
    'GET /console/submissions/:token/findings/records',
    '/submissions/CHECKED/findings/records?new=true',
    'Return 202512',
    'button Show',
  ],
  [
    'GET /console/submissions/:token/compare',
    '/submissions/CHECKED/compare',
    'Return 202512',
    'link Submissions',
  ],
  ['GET /console/rules', '/rules', 'Rules', 'button Show'],
  ['GET /console/rules/:definition/:code', '/rules/sdr/LEA-03-required', 'LEA-03-required', 'link Rules'],
  ['GET /console/rules/:definition/:code', '/rules/sdr/CCO-201', 'CCO-201', 'link Rules'],
  ['GET /console/returns/:return', '/returns/202512', 'No such return', 'link Back', { status: 404 }],
  [
    'GET /console/returns/:return/:organisation',
    '/returns/202512/1001',
    'No such return',
    'link Back',
    { status: 404 },
  ],
  ['GET /console/operator', '/operator', 'Operator', 'region Keys'],
  ['GET /console/operator/organisations', '/operator/organisations', 'Organisations', 'region Organisations'],
  [
    'GET /console/operator/organisations/:organisation',
    '/operator/organisations/1001',
    'Organisation 1001',
    'button Suspend',
  ],
  ['GET /console/*', '/nowhere', 'No such page', 'link Go to the console', { status: 404 }],
  ['GET /console/sign-in', '/sign-in?signed-out=1', SIGN_IN, 'button Sign in', { stranger: true }],
  [
    'POST /console/sign-in',
    '/sign-in',
    SIGN_IN,
    'button Sign in',
    { stranger: true, status: 401, send: pasteKey },
  ],
  [
    'GET /console/sign-in/check',
    '/sign-in/check',
    SIGN_IN,
    'button Sign in',
    { stranger: true, status: 401 },
  ],
  ['GET /console/sign-in/provider', '/sign-in/provider', SIGN_IN, 'button Sign in', { stranger: true }],
  ['GET /console/signed-in', '/signed-in', SIGN_IN, 'button Sign in', { stranger: true, status: 401 }],
  [
    'GET /console/link/:secret(^[\\w-]{43}$)',
    `/link/${'x'.repeat(43)}`,
    SIGN_IN,
    'button Open the console',
    { stranger: true },
  ],
  [
    'POST /console/link/:secret(^[\\w-]{43}$)',
    `/link/${'x'.repeat(43)}`,
    SIGN_IN,
    'button Sign in',
    { stranger: true, status: 401, send: (page) => press(page, 'Open the console') },
  ],
]

/** Routes that show no page: files, data for a script, and forms that lead to a page above. */
const NO_PAGES = [
  'GET /console/',
  'GET /console/assets/:version/:name',
  'GET /console/suggestions',
  'GET /console/submissions/:token/progress',
  'GET /console/submissions/:token/repairs/progress',
  'POST /console/submissions/:token/repairs',
  'POST /console/submissions/:token/repairs/undo',
  'GET /console/submissions/:token/findings.csv',
  'GET /console/submissions/:token/marked.xlsx',
  'GET /console/submissions/:token/corrected.zip',
  'POST /console/sign-out',
  'POST /console/submissions',
  'POST /console/submissions/:token/files',
  'PUT /console/submissions/:token/files',
  'PUT /console/submissions/:token/files/:resource',
  'POST /console/submissions/:token/runs',
  'POST /console/submissions/:token/cancel-run',
  'POST /console/submissions/:token/submit',
  'POST /console/submissions/:token/explain',
  'POST /console/submissions/:token/withdraw',
  'POST /console/submissions/:token/reopen',
  'POST /console/submissions/:token/delete',
  'POST /console/code',
  'POST /console/returns/:return/:organisation/reopen',
  'POST /console/operator/organisations/:organisation/suspend',
  'POST /console/operator/organisations/:organisation/resume',
]

test('every route of the console is a page that is tried here, or shows no page', async () => {
  expect(await listRoutes()).toEqual([...new Set(PAGES.map(([route]) => route)), ...NO_PAGES].sort())
})

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
  return { console, tokens: { CHECKED: checked, WAITING: waiting, EMPTY: await create('202504') } }
}

const WIDE = { width: 1920, height: 800 }
const NARROW = { width: 320, height: 800 }

describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  test('every page is complete, accessible and within its policy, and fits in each width', async () => {
    const { console, tokens } = await start()
    const light = { colorScheme: 'light', viewport: WIDE } as const
    const dark = { colorScheme: 'dark', viewport: NARROW } as const
    const signedIn = [await console.open(browser, light), await console.open(browser, dark)] as const
    const plain = { ...light, javaScriptEnabled: false }
    const stranger = await console.open(browser, plain, { signedIn: false })
    const faults: string[] = []
    for (const [index, [route, path, heading, action, tried = {}]] of PAGES.entries()) {
      const shown = tried.stranger === true ? stranger : signedIn[index % 2 === 0 ? 0 : 1]
      const at = path.replace(/[A-Z]{5,}/, (token) => tokens[token] ?? token)
      const found = await findFaults(shown, { path: at, heading, action, ...tried })
      faults.push(...found.map((fault) => `${route}, ${path}: ${fault}`))
    }
    expect(faults).toEqual([])
  })

  test('targets that are too small are found', async () => {
    const shown = await (await ConsoleService.start()).open(browser)
    await shown.page.evaluate(() => {
      for (const name of ['One', 'Two']) {
        const button = document.createElement('button')
        button.textContent = name
        Object.assign(button.style, { minHeight: '0', height: '20px', width: '20px', padding: '0' })
        document.querySelector('main')?.append(button)
      }
    })
    expect(await shown.findBarriers()).toEqual([expect.stringMatching(/^target-size: .*One.*Two/)])
  })
})

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
    ...(await shown.findBarriers()),
  ]
  const size = page.viewportSize() ?? WIDE
  for (const viewport of [NARROW, { width: 768, height: 800 }, size]) {
    await page.setViewportSize(viewport)
    if (!(await shown.isWithinWidth())) faults.push(`wider than ${viewport.width} px`)
  }
  return [...faults, ...troubles.slice(known)]
}
