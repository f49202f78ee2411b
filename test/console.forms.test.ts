import { describe, expect, test } from 'vitest'
import { SCOPES } from '../src/access/principal.ts'
import { findFreePort } from './support/free-port.ts'
import { PausableProxy } from './support/pausable-proxy.ts'
import { Service } from './support/service.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'

const LONG = 'x'.repeat(10_000)
/** Still longer than any parameter, but not too long for a URL. */
const SHORTER = 'x'.repeat(7_000)
const TOO_LONG = 'at most 8192 are allowed'

async function startConsole(url?: string) {
  const service = await Service.start({ CONSOLE: 'on' }, url)
  const { key } = await service.createKey({ scopes: SCOPES, eids: ['1001'] })
  let cookie: string | undefined
  /** Requests a page, or sends its form if there are fields. */
  const ask = async (path: string, fields?: Record<string, string>) => {
    const response = await service.app.inject({
      method: fields === undefined ? 'GET' : 'POST',
      url: `/console${path}`,
      headers: {
        host: 'localhost',
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
        ...(cookie !== undefined && { cookie }),
      },
      ...(fields !== undefined && { payload: new URLSearchParams(fields).toString() }),
    })
    return {
      ...response,
      status: response.statusCode,
      headers: response.headers,
      text: toText(response.body),
    }
  }
  const signedIn = await ask('/sign-in', { key })
  cookie = String(signedIn.headers['set-cookie']).split(';', 1)[0] ?? ''
  return { service, key, ask }
}

/** The text of a page, as far as messages need it. */
const toText = (page: string) =>
  page
    .replace(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&')

describe('a field with nothing or with 10,000 characters', () => {
  test('gets the message of the API, on a page', async () => {
    const { service, key, ask } = await startConsole()
    await service.import([{ occupationCode: 'A1', titleEnglish: 'Teacher' }])
    await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Error', fileType: 'Learner' }], {
      token: 'token-of-findings',
    })
    const headers = { 'x-api-key': key, eid: '1001' }
    const json = { ...headers, 'content-type': 'application/json' }
    const post = (url: string, payload: object) =>
      service.request({ method: 'POST', url, headers: json, payload: JSON.stringify(payload) })
    const cases = [
      [ask('/submissions', { returnId: '' }), post('/v1/submissions', { returnId: '' })],
      [ask('/submissions', { returnId: LONG }), post('/v1/submissions', { returnId: LONG })],
      [ask('/code', { titles: LONG }), post('/v1/codings', { items: [{ title: LONG }] })],
      [
        ask(`/occupations?q=${SHORTER}`),
        service.request({ url: `/v1/occupations/search?q=${SHORTER}&Limit=20&Page=1`, headers }),
      ],
      [
        ask(`/submissions/token-of-findings/findings?student=${SHORTER}`),
        service.request({
          url: `/v1/submissions/token-of-findings/validation-results?Filter.StudentId=${SHORTER}&page=1&pageSize=25`,
          headers,
        }),
      ],
    ] as const
    for (const [asked, direct] of cases) {
      const page = await asked
      const response = await direct
      expect(page.headers['content-type']).toMatch(/^text\/html/)
      expect(response.statusCode).toBeGreaterThanOrEqual(400)
      expect(page.status).toBe(response.statusCode)
      expect(page.text).toContain(JSON.parse(response.body).detail)
    }
  })

  test('gets a page with an own message, or without a filter', async () => {
    const { service, ask } = await startConsole()
    await service.import([{ occupationCode: 'A1', titleEnglish: 'Teacher' }])
    const cases = [
      ['/sign-in', { key: '' }, 401, 'This key is not valid.'],
      ['/sign-in', { key: LONG }, 401, 'This key is not valid.'],
      ['/code', { titles: '' }, 200, 'The list is empty.'],
      ['/occupations?q=', undefined, 200, 'Teacher'],
      ['/compare?code=', undefined, 200, 'Compare occupations'],
      [`/compare?code=${SHORTER}`, undefined, 200, 'Choose from 2 to 4 occupations; there is 1.'],
      [`/compare?code=A1,${SHORTER}`, undefined, 400, 'at most 64 are allowed'],
      [`/compare?code=${LONG}`, undefined, 414, TOO_LONG],
      ['/changes/1?since=', undefined, 200, 'New (1 occupation)'],
      [`/changes/1?since=${SHORTER}`, undefined, 404, 'Revisions are whole numbers.'],
      ['/rules?q=', undefined, 200, 'more rules'],
      [`/rules?q=${SHORTER}`, undefined, 200, '0 rules.'],
      [`/rules?q=${LONG}`, undefined, 414, TOO_LONG],
      [`/occupations?q=${LONG}`, undefined, 414, TOO_LONG],
      [`/submissions/token/findings?student=${LONG}`, undefined, 414, TOO_LONG],
    ] as const
    for (const [path, fields, status, message] of cases) {
      const page = await ask(path, fields)
      expect(`${page.status} ${page.text}`, path.slice(0, 30)).toMatch(new RegExp(`^${status} `))
      expect(page.text, path.slice(0, 30)).toContain(message)
    }
  })
})

test('a form has at most 5,000 fields', async () => {
  const { ask } = await startConsole()
  const choices = (count: number) =>
    Object.fromEntries([
      ['titles', ''],
      ...Array.from({ length: count - 1 }, (_, index) => [`choice-${index}`, '']),
    ]) as Record<string, string>
  expect((await ask('/code', choices(5_000))).text).toContain('The list is empty.')
  const refused = await ask('/code', choices(5_001))
  expect(refused.status).toBe(413)
  expect(refused.text).toContain('The form has more than 5000 fields, the most that are allowed.')
})

test.skipIf(engine === 'sqlite')(
  'while the database is unavailable, a page says so and how to go on',
  async () => {
    const url = new URL(temporaryDatabaseUrl())
    const port = Number(url.port || '5432')
    const proxy = await PausableProxy.start(port)
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const { ask } = await startConsole(url.href)
    expect((await ask('/changes')).status).toBe(200)

    proxy.redirect(await findFreePort())
    const page = await ask('/changes?since=1')
    expect([page.status, page.headers['content-type'], page.headers['retry-after']]).toEqual([
      503,
      'text/html; charset=utf-8',
      '1',
    ])
    expect(page.text).toContain('The database does not respond. Try again in a moment.')
    expect(page.body).toContain('<a href="/console/changes?since=1">Try again</a>')
    expect((await ask('/submissions', { returnId: '202512' })).status).toBe(503)

    proxy.redirect(port)
    await expect.poll(async () => (await ask('/changes')).status, { timeout: 20_000 }).toBe(200)
  },
)
