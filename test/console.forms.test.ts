import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import Fastify from 'fastify'
import { describe, expect, test, vi } from 'vitest'
import type { Delegations } from '../src/api/access/delegation.ts'
import { type Principal, SCOPES, type Scope } from '../src/api/access/principal.ts'
import { InFlight } from '../src/api/serving/in-flight.ts'
import { Api, ApiProblem } from '../src/console/api.ts'
import { Sessions } from '../src/console/sessions.ts'
import { DatabaseFull } from '../src/foundation/database/database.ts'
import { Exhausted } from '../src/foundation/slots.ts'
import { ConsoleService, describeForm, tokenOf } from './support/console.ts'
import { Service } from './support/service.ts'

const LONG = 'x'.repeat(10_000)
/** Still longer than any parameter, but not too long for a URL. */
const SHORTER = 'x'.repeat(7_000)
const TOO_LONG = 'at most 8192 are allowed'

async function startConsole(settings: Record<string, string> = {}) {
  const service = await Service.start({ CONSOLE: 'on', ...settings })
  const { key } = await service.createKey({ scopes: SCOPES, eids: ['1001'] })
  let cookie: string | undefined
  /** Requests a page, or sends its form if there are fields. */
  const ask = async (path: string, fields?: Record<string, string>) => {
    const page = { headers: { host: 'localhost', ...(cookie !== undefined && { cookie }) } }
    const response = await service.app.inject({
      url: `/console${path}`,
      ...(fields === undefined ? page : describeForm(fields, cookie)),
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

/** What only the API calls so. No page says it. */
const API =
  /items\[|organisations\[|request body|\bsetting\b|Filter\.|newSince|header|\b(?:returnId|errorCode|pageSize)\b|parameter/i

test('what cannot be used is said in the words of the page, and a form keeps what was typed', async () => {
  const { service, ask } = await startConsole()
  await service.import([{ occupationCode: 'A1', titleEnglish: 'Teacher' }])
  await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Error', fileType: 'Learner' }], {
    token: 'token-of-findings',
  })
  const submission = '/submissions/token-of-findings'
  const tooLong = `${SHORTER.length} characters long; at most`
  const cases = [
    ['/sign-in', { key: '' }, 401, 'This key is not valid.'],
    ['/sign-in', { key: LONG }, 401, 'This key is not valid.'],
    ['/submissions', { returnId: '' }, 400, 'Return is missing.'],
    ['/submissions', { returnId: 'a b' }, 400, 'Return must be at most 64 visible ASCII characters'],
    ['/submissions', { returnId: LONG }, 413, 'What was entered is too long.'],
    ['/code', { titles: '' }, 400, 'There are no titles.'],
    ['/code', { titles: 'x\n'.repeat(3_001) }, 400, 'The list has 3,001 rows; at most 3,000'],
    [
      '/operator/organisations/1001/suspend',
      { reason: 'x'.repeat(300) },
      400,
      'Reason is 300 characters long; at most 200',
    ],
    [
      `${submission}/reopen`,
      { token: 'token-of-findings', reason: LONG },
      413,
      'What was entered is too long.',
    ],
    [
      `${submission}/reopen`,
      { token: 'token-of-findings', reason: 'x' },
      409,
      'The submission is not submitted',
    ],
    [`${submission}/submit`, {}, 409, 'published'],
    [`${submission}/findings/records?student=${SHORTER}`, undefined, 400, `Learner is ${tooLong} 200`],
    [`${submission}/findings/records?page=99`, undefined, 400, 'The page number is 99, past the last page'],
    [`${submission}/findings.csv?type=Foo`, undefined, 400, 'Severity must be Error or Warning'],
    [`${submission}/receipt?number=x`, undefined, 400, 'The number of the receipt must be'],
    ['/returns/202512', undefined, 404, 'The service does not collect this return.'],
    [`/occupations?q=${SHORTER}`, undefined, 400, `The search is ${tooLong} 200`],
    ['/occupations?q=a&page=11', undefined, 400, 'The page number must be a whole number from 1 to 10'],
    ['/occupations?q=', undefined, 200, 'Teacher'],
    ['/compare?code=', undefined, 200, 'Compare occupations'],
    [
      '/compare?code=1,2,3,4,5',
      undefined,
      200,
      'At most 4 occupations can be compared, and 5 are chosen. Remove 1:',
    ],
    [`/compare?code=A1,${SHORTER}`, undefined, 200, `No such occupation: ${SHORTER}.`],
    [`/occupations?group=${SHORTER}`, undefined, 400, 'The address of this page has a value'],
    [`/compare?code=${LONG}`, undefined, 414, TOO_LONG],
    ['/changes/1?since=', undefined, 200, 'New (1 occupation)'],
    [`/changes/1?since=${SHORTER}`, undefined, 404, 'Revisions are whole numbers.'],
    ['/rules?q=', undefined, 200, 'more rules'],
    ['/rules/sdr/CCO-201', undefined, 200, 'FileCourse completions'],
    ['/rules/sdr/CCO-201', undefined, 200, 'Finds records 1, 2, 3.'],
    [`/rules?q=${SHORTER}`, undefined, 200, '0 rules.'],
    [`${submission}?eid=2002`, undefined, 401, 'No submission of your organisations has this address'],
    ['/submissions?eid=2002', undefined, 401, 'covers organisation 1001, not 2002'],
  ] as const
  for (const [path, fields, status, message] of cases) {
    const { headers, text, ...page } = await ask(path, fields)
    expect(headers['content-type']).toMatch(/^text\/html/)
    expect(`${page.status} ${text}`, path.slice(0, 60)).toMatch(new RegExp(`^${status} `))
    expect(text, path.slice(0, 60)).toContain(message)
    if (status >= 400) expect(text, path.slice(0, 60)).not.toMatch(API)
    for (const [name, value] of Object.entries(fields ?? {})) {
      // A key is not shown again; this page has no form to reopen what is not submitted.
      if (status === 401 || path.endsWith('/reopen')) continue
      // Beside its field, too, whose description it is.
      expect(page.body).toContain(value)
      if (message.startsWith('Re'))
        expect(page.body).toMatch(
          new RegExp(`name="${name}"[^>]* aria-invalid="true" aria-describedby="fault"`),
        )
    }
  }
})

test('findings that a command published have no files to send, and nothing to submit', async () => {
  const { service, ask } = await startConsole()
  await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Warning', fileType: 'Learner' }], {
    token: 'token-of-findings',
  })
  const submission = '/submissions/token-of-findings'
  const { text } = await ask(`${submission}/submit`)
  expect(text).toContain('A command published these findings.')
  expect(text).not.toMatch(/Before you submit|Ready to submit/)
  expect((await ask(`${submission}/files`)).text).not.toMatch(/Send the file|Delete this submission/)
})

test('a form has at most 10,000 fields', async () => {
  const { ask } = await startConsole()
  const choices = (count: number) =>
    Object.fromEntries([
      ['titles', ''],
      // And the token of the session.
      ...Array.from({ length: count - 1 }, (_, index) => [`choice-${index}`, '']),
    ]) as Record<string, string>
  expect((await ask('/code', choices(9_999))).text).toContain('There are no titles.')
  const refused = await ask('/code', choices(10_000))
  expect(refused.status).toBe(413)
  expect(refused.text).toContain('The form has more than 10,000 fields, the most that are allowed.')
})

test('a form with files that is not well-formed is refused, and no failure of the service', async () => {
  const console = await ConsoleService.start()
  const cookie = await console.signIn()
  const created = await console.service.app.inject({
    url: '/console/submissions',
    ...describeForm({ returnId: '202512' }, cookie),
  })
  const url = `${String(created.headers.location).split('?')[0]}/files`
  const send = async (boundary: string, payload: string) => {
    const headers = {
      host: 'localhost',
      'sec-fetch-site': 'same-origin',
      'content-type': `multipart/form-data; boundary=${boundary}`,
      cookie,
    }
    return (await console.service.app.inject({ method: 'POST', url, headers, payload })).statusCode
  }
  const part = (name: string, content: string) =>
    `--limit\r\ncontent-disposition: form-data; ${name}\r\n\r\n${content}\r\n`
  const token = part('name="form-token"', tokenOf(cookie))
  const statuses = [
    await send('limit', 'x'),
    await send('limit', token),
    await send(
      'limit',
      `${token}${part('name="kind"', 'learners')}--limit\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nx`,
    ),
    await send('limit', `${token}${part('name="a"', 'b').repeat(2_000)}--limit--\r\n`),
    await send('l'.repeat(300), 'x'),
  ]
  expect(statuses).toEqual([400, 400, 400, 400, 400])
  expect(console.service.log.join('')).not.toContain('the request failed')
})

describe('a browser that leaves', () => {
  async function start() {
    const console = await ConsoleService.start({
      RATE_LIMIT_SUBMISSIONS: 'off',
      RATE_LIMIT_OCCUPATIONS: 'off',
    })
    const { port } = new URL(console.url)
    const cookie = await console.signIn()
    /** Sends the beginning of a request, and leaves once `leaves` resolves. */
    const visit = async (head: string, body: string, leave: (socket: Socket) => Promise<unknown>) => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
      socket.write(`${head} HTTP/1.1\r\nhost: localhost\r\ncookie: ${cookie}\r\n${body}`)
      await leave(socket)
      socket.destroy()
    }
    const readUse = async (budget: string) => {
      const metrics = await console.service.metrics.registry.metrics()
      return Number(new RegExp(`^mahi_slots_used\\{slots="${budget}"\\} (\\d+)$`, 'm').exec(metrics)?.[1])
    }
    return { console, cookie, visit, readUse }
  }

  test('frees the slot of its download', async () => {
    const { console, cookie, visit, readUse } = await start()
    const recordText = 'x'.repeat(4_000)
    const findings = Array.from({ length: 5_000 }, (_, index) => ({
      localId: `L${index}`,
      errorCode: 'E1',
      errorType: 'Error',
      fileType: 'Learner',
      recordText,
    }))
    await console.service.publish(findings, { token: 'many-findings' })
    const path = '/console/submissions/many-findings/findings.csv'
    const statuses = new Set<string>()
    for (let count = 0; count < 5; count++) {
      await visit(`GET ${path}`, '\r\n', async (socket) => {
        const [head] = (await once(socket, 'data')) as [Buffer]
        socket.pause()
        statuses.add(head.toString('latin1').slice(0, 12))
        expect(await readUse('downloads')).toBeGreaterThan(0)
      })
    }
    await expect.poll(() => readUse('downloads')).toBe(0)
    expect([...statuses]).toEqual(['HTTP/1.1 200'])
    const read = async (query: string) =>
      (await console.service.app.inject({ url: path + query, headers: { host: 'localhost', cookie } })).body
    const whole = await read('')
    expect(whole.length).toBeGreaterThan(findings.length * recordText.length)
    // Spreadsheet programs read it as UTF-8.
    const head = /^\ufeff\w.*,errorCode,.*\n/
    expect([head.test(whole), (await read('?code=E2')).replace(head, '')]).toEqual([true, ''])
  })

  test('ends the coding of its list', async () => {
    const { console, cookie, visit, readUse } = await start()
    await console.service.import([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
    await console.service.index()
    const titles = Array.from({ length: 3_000 }, (_, at) => `nurse ${at}`).join('\n')
    const list = { url: '/console/code', ...describeForm({ titles }, cookie) }
    const payload = String(list.payload)
    const fields = Object.entries(list.headers ?? {}).filter(([name]) => !['host', 'cookie'].includes(name))
    const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    await visit(
      'POST /console/code',
      `${head}content-length: ${payload.length}\r\n\r\n${payload}`,
      async (socket) => {
        await expect.poll(() => readUse('bytes'), { interval: 1 }).toBeGreaterThan(0)
        // One that only sends no more still gets its response.
        socket.resetAndDestroy()
      },
    )
    // A list of the same user takes turns with it, and so ends after it.
    expect((await console.service.app.inject(list)).statusCode).toBe(303)
    const counts = /^mahi_http_requests_total\{operation="codings",status="200"\} (\d+)$/m.exec(
      await console.service.metrics.registry.metrics(),
    )
    // Of the ten requests of a whole list, those of the list that nobody waits for are few.
    expect(Number(counts?.[1])).toBeLessThan(15)
    await expect.poll(() => readUse('bytes')).toBe(0)
    expect(console.service.log.join('')).not.toContain('the request failed')
  })

  test('in the middle of a form is no failure of the service', async () => {
    const { console, visit, cookie } = await start()
    const form = `sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\nexpect: 100-continue\r\n`
    const body = `form-token=${tokenOf(cookie)}&returnId=2025`
    for (const leave of ['end', 'resetAndDestroy'] as const)
      await visit(
        'POST /console/submissions',
        `${form}content-length: 500\r\n\r\n${body}`,
        async (socket) => {
          // A page that was asked for later has been sent: by then, the form is being read.
          await once(socket, 'data')
          await console.service.app.inject({
            url: '/console/changes',
            headers: { host: 'localhost', cookie },
          })
          socket[leave]()
        },
      )
    const find = () =>
      Array.from(
        console.service.log.join('').matchAll(/"route":"\/console\/submissions".*?"status":(\d+)/g),
        ([, status]) => Number(status),
      )
    await expect.poll(() => find().length).toBe(2)
    expect(Math.max(...find())).toBeLessThan(500)
    expect(console.service.log.join('')).not.toContain('"level":"error"')
  })

  test('frees the slot of its upload', async () => {
    const { console, cookie, visit, readUse } = await start()
    const created = await console.service.app.inject({
      url: '/console/submissions',
      ...describeForm({ returnId: '202512' }, cookie),
    })
    const path = String(created.headers.location).split('?')[0]
    const own = `sec-fetch-site: same-origin\r\ncontent-length: 5000000\r\nexpect: 100-continue\r\n`
    const put = `content-type: text/csv\r\nx-form-token: ${tokenOf(cookie)}\r\n`
    const part = (name: string) => `--limit\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`
    const form = `${part('form-token')}${tokenOf(cookie)}\r\n${part('kind')}learners\r\n${part('file"; filename="learners.csv').replace('\r\n\r\n', '\r\ncontent-type: text/csv\r\n\r\n')}`
    const rows = `learner_id\n${'1\n'.repeat(200_000)}`
    const multipart = 'content-type: multipart/form-data; boundary=limit\r\n'
    for (let count = 0; count < 6; count++) {
      const flushed = async (socket: Socket) => {
        await once(socket, 'data')
        await new Promise<unknown>((resolve) => socket.write(rows, resolve))
      }
      await visit(`PUT ${path}/files/learners`, `${own}${put}\r\n`, flushed)
      await visit(`POST ${path}/files`, `${own}${multipart}\r\n${form}`, flushed)
    }
    await expect.poll(() => readUse('uploads')).toBe(0)
    expect(console.service.log.join('')).not.toContain('the request failed')
  })
})

test('the log of viewed findings names only organisations that the caller may see', async () => {
  const { service, ask } = await startConsole()
  await service.publish([{ localId: 'L1', errorCode: 'E1', errorType: 'Error', fileType: 'Learner' }], {
    token: 'token-of-findings',
  })
  const path = '/submissions/token-of-findings'
  for (const eid of ['2002', 'Hana Te Ao, student 123', '']) {
    for (const page of ['findings', 'findings.csv', 'compare'])
      expect((await ask(`${path}/${page}?${new URLSearchParams({ eid })}`)).status, eid).toBe(401)
  }
  expect(service.log.join('')).not.toMatch(/findings viewed|Hana/)
  expect((await ask(`${path}/findings?eid=1001`)).status).toBe(200)
  expect(service.log.filter((line) => line.includes('"audit":"findings viewed"'))).toEqual([
    expect.stringContaining('"eid":"1001"'),
  ])
})

test('a page that there is not, or that is no number, is said to be so', async () => {
  const { ask } = await startConsole({ TIME_ZONE: 'Pacific/Auckland' })
  expect((await ask('/submissions')).text).toContain('Organisation 1001 has no submissions yet.')
  await ask('/submissions', { returnId: '202512' })
  expect((await ask('/submissions?page=99')).text).toContain('The page number is 99, past the last page, 1.')
  const refused = await ask('/submissions?page=abc')
  expect([refused.status, refused.text]).toEqual([
    400,
    expect.stringContaining('whole number from 1, not "abc"'),
  ])
  // As the foot of every page.
  expect(refused.text).toContain('Times are in Pacific/Auckland.')
  expect((await ask('/')).headers.location).toBe('/console')
})

test('the rules are those of the configured definitions, for whom the API shows them to', async () => {
  const service = await Service.start({ CONSOLE: 'on', DEFINITIONS: 'gtfs' })
  const sessions = new Sessions(service.database)
  const visit = async (scopes: readonly Scope[], path: string) => {
    const { id, key } = await service.createKey({ scopes, eids: ['1001'] })
    const cookie = `mahi-session=${await sessions.openLink(await sessions.createLink(id))}`
    const page = await service.app.inject({ url: `/console${path}`, headers: { host: 'localhost', cookie } })
    const shown = path.replace(/^\/rules\/(\w+)\//, '/rules/').replace(/\?.*/, '')
    const direct = await service.request({
      url: `/v1${shown}?${new URLSearchParams({ definition: /rules\/(\w+)\/|definition=(\w+)/.exec(path)?.slice(1).find(Boolean) ?? '' })}`,
      headers: { 'x-api-key': key },
    })
    expect(page.statusCode, path).toBe(direct.statusCode)
    return { page, direct }
  }
  const { page, direct } = await visit(['validation-results:read'], '/rules')
  const { definition, rules } = direct.json<{ definition: { title: string }; rules: { code: string }[] }>()
  expect(page.body).toContain(definition.title)
  for (const { code } of rules.slice(0, 20)) expect(page.body).toContain(`/console/rules/gtfs/${code}`)
  expect(page.body).not.toContain('Single Data Return')
  const code = rules[0]?.code
  expect((await visit(['validation-results:read'], `/rules/gtfs/${code}`)).page.statusCode).toBe(200)
  for (const path of ['/rules?definition=sdr', '/rules/sdr/LEA-03-required', '/rules/gtfs/NONE'])
    expect((await visit(['validation-results:read'], path)).page.statusCode).toBe(404)
  for (const path of ['/rules', `/rules/gtfs/${code}`]) {
    expect((await visit(['submissions:write'], path)).page.statusCode).toBe(401)
    expect((await visit(['occupations:read'], path)).page.statusCode).toBe(401)
  }
})

test('a page says of a failure what the API would say', async () => {
  const { service, ask } = await startConsole()
  const call = vi.spyOn(Api.prototype, 'call').mockRejectedValueOnce(new DatabaseFull('no space'))
  const full = await ask('/occupations?q=teacher')
  call.mockRestore()
  expect(full).toMatchObject({ status: 503, headers: { 'retry-after': '30' } })
  expect(full.body).toContain('The service has no disk space left. Nothing was changed.')
  expect(service.log.join('')).toContain('the database fails')
  const room = { capacity: 1, detail: 'Too many large bodies are arriving.', retryAfter: 7 }
  const hold = vi.spyOn(InFlight.prototype, 'hold').mockImplementationOnce(() => {
    throw new Exhausted(room, false)
  })
  const crowded = await ask('/code', { titles: 'teacher' })
  hold.mockRestore()
  expect(crowded).toMatchObject({ status: 503, headers: { 'retry-after': '7' } })
  expect(crowded.body).toContain(room.detail)
})

test('a page whose request the API is too busy for can be tried again, and is no failure of the console', async () => {
  const { service, ask } = await startConsole()
  const busy = { status: 503, title: 'The service is temporarily unavailable', detail: 'Try again in 1 s.' }
  const call = vi.spyOn(Api.prototype, 'call').mockRejectedValueOnce(new ApiProblem(busy))
  const refused = await ask('/occupations?q=teacher')
  call.mockRestore()
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  expect(refused.body).toMatch(/Try again in 1 s\..*>Try again<\/a>/s)
  expect(service.log.join('')).not.toContain('the request failed')
  expect((await ask('/occupations')).status).toBe(200)
})

test('a download takes no more memory the larger it is', async () => {
  const app = Fastify()
  let most = 0
  app.get('/v1/large', (_request, reply) => {
    async function* write() {
      for (let piece = 0; piece < 1024; piece++) {
        most = Math.max(most, reply.raw.writableLength)
        yield Buffer.alloc(65_536)
        await setImmediate()
      }
    }
    return reply.send(Readable.from(write(), { objectMode: false }))
  })
  const delegations = { issue: () => 'credential', release: () => undefined } as unknown as Delegations
  const api = new Api(app, delegations, {} as Principal)
  let bytes = 0
  for await (const piece of await api.stream('/large')) bytes += piece.length
  expect(bytes).toBe(64 * 2 ** 20)
  expect(most).toBeLessThan(2 * 2 ** 20)
})
