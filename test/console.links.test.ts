import { expect, test } from 'vitest'
import { SCOPES, type Scope } from '../src/api/access/principal.ts'
import { Sessions } from '../src/console/sessions.ts'
import { COURSES, makeLearners, startCollection } from './support/collection.ts'
import { describeForm } from './support/console.ts'

const HOUR = 3_600_000

/** An agency with a return that is open, one that is overdue, and organisations that are at different steps of it. */
async function start() {
  const { service, createCaller, provider } = await startCollection({ CONSOLE: 'on' })
  const agency = await createCaller('agency', [], ['operate'])
  const at = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString()
  const describe = (id: string, opens: number, due: number, closes: number) =>
    agency.ask('PUT', `/returns/${id}`, {
      ...{ name: `Return of ${id}`, definition: 'collected', organisations: ['1001', '1002', '1003'] },
      ...{ opens: at(opens), due: at(due), closes: at(closes) },
    })
  for (const [id, opens, due, closes] of [
    ['202508', -99, -50, -40],
    ['202512', -99, -10, 99],
    ['202604', -99, 50, 99],
    ['202608', 200, 300, 400],
  ] as const)
    await describe(id, opens, due, closes)
  const other = await createCaller('other', ['1002'])
  const send = async ({ create, put, check }: typeof provider, learners: string) => {
    const token = await create()
    await put(token, 'learners', learners)
    await put(token, 'courses', COURSES)
    await check(token)
    return token
  }
  const faulty = await send(provider, makeLearners({ faults: 3, notes: 2 }))
  const submitted = await send(other, makeLearners())
  await other.ask('POST', `/submissions/${submitted}/submit`)
  await service.import([
    { occupationCode: 'A1', titleEnglish: 'Nurse' },
    { occupationCode: 'A2', titleEnglish: 'Tutor' },
  ])
  await service.import([{ occupationCode: 'A1', titleEnglish: 'Registered nurse' }])
  const sessions = new Sessions(service.database)
  const enter = async (scopes: readonly Scope[], eids: readonly string[]) => {
    const { id } = await service.createKey({ scopes, eids })
    const cookie = `mahi-session=${await sessions.openLink(await sessions.createLink(id))}`
    return {
      open: (url: string) => service.app.inject({ url, headers: { host: 'localhost', cookie } }),
      send: (url: string, fields: Record<string, string>) =>
        service.app.inject({ url, ...describeForm(fields, cookie) }),
    }
  }
  return { faulty, submitted, enter }
}

/** The text of a page, with one space where there are several. */
const toText = (body: string) => body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')

test('every link that a page shows works for the one who sees it', async () => {
  const { enter } = await start()
  const kinds: readonly (readonly [readonly Scope[], readonly string[], number])[] = [
    [['occupations:read'], [], 6],
    [['occupations:read', 'codings:confirm'], [], 7],
    [['validation-results:read'], ['1001'], 18],
    [['validation-results:read', 'submissions:write'], ['1001', '1002'], 18],
    [['operate'], [], 6],
    [['operate', 'validation-results:read'], [], 7],
    [SCOPES, ['1001', '1002'], 30],
  ]
  const broken: string[] = []
  for (const [scopes, eids, least] of kinds) {
    const { open } = await enter(scopes, eids)
    const seen = new Set<string>()
    const waiting = [{ url: '/console', from: '' }]
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { url, from } = next
      const { statusCode, headers, body } = await open(url)
      const lacks = statusCode === 401 && body.includes('lacks the scope')
      if (![200, 302, 303].includes(statusCode) && !lacks)
        broken.push(`${scopes.join(' ')}: ${url}, which ${from} shows: ${statusCode}`)
      const found = [...body.matchAll(/<a [^>]*href="(\/[^"#]*)[^"]*"/g)].map(([, each = '']) =>
        each.replaceAll('&amp;', '&'),
      )
      for (const each of [...found, ...[headers.location ?? []].flat().map(String)]) {
        // Of links that differ only in what they name, one is followed.
        const { pathname, searchParams } = new URL(each, 'http://localhost')
        const kind = `${pathname.replace(/\/[\w-]{20,}/, '/TOKEN').replace(/rules\/.+/, 'rules/R')}?${[...searchParams.keys()].sort()}`
        if (!seen.has(kind)) waiting.push({ url: each, from: url })
        seen.add(kind)
      }
    }
    expect(seen.size, scopes.join(' ')).toBeGreaterThanOrEqual(least)
  }
  expect(broken).toEqual([])
})

test('an organisation sees what is to be done first; the agency sees all, reads nothing, and reopens', async () => {
  const { enter, faulty, submitted } = await start()
  const first = await enter(['validation-results:read', 'submissions:write'], ['1001'])
  const list = await first.open('/console/submissions')
  const rows = list.body.slice(list.body.indexOf('<tbody')).split('<tr').slice(1).map(toText)
  expect(rows).toEqual([
    expect.stringMatching(/Return of 202512 .* Overdue Has errors 3 2/),
    expect.stringMatching(/Return of 202604 .* Not started Start /),
    expect.stringMatching(/Return of 202508 .* Missed Not started/),
    expect.stringMatching(/Return of 202608 .* opens .* Not started/),
  ])
  expect(list.body.match(/<table/g)).toHaveLength(1)

  // The causes are one table by file, with all rules of each, and no severity that all have.
  const causes = await first.open(`/console/submissions/${faulty}/findings`)
  expect(toText(causes.body.slice(causes.body.indexOf('<tbody'), causes.body.indexOf('</tbody')))).toMatch(
    /^ learners learners\.csv .*K9&quot;\. .* LEA-00-reference1 3 3 .* Warning Explain.* LEA-note 2 2 $/,
  )
  expect([causes.body.match(/<table/g)?.length, /<table.*tag error/s.test(causes.body)]).toEqual([1, false])
  expect(causes.body).toMatch(/every finding beside its row: correct it there, and <a [^>]*\/files/)
  const agency = await enter(['operate'], [])
  expect((await agency.open('/console')).headers.location).toBe('/console/returns')
  const home = await agency.open('/console/returns')
  expect(toText(home.body)).toMatch(
    /Return of 202512 .* Overdue Submitted 1 Has errors 1 Not started 1 1 of 3 1 Return of 202604/,
  )
  const overview = await agency.open('/console/returns/202512')
  expect(overview.body).toMatch(/<pre[^>]*>1003<\/pre>/)
  expect(toText(overview.body)).toContain('2 submissions created, 1 submitted')
  expect(toText(overview.body)).toMatch(
    / Last activity Submitted 1001 Has errors 3 2 \d+ \w+ \d{4}, \d\d:\d\d 1002 /,
  )
  expect(toText(overview.body)).toMatch(/LEA-note note must have at most 8 characters\. /)
  expect((await agency.open('/console/returns/202608')).body).not.toContain('<pre')
  // No page makes a call that the key refuses, which the operator would be told of.
  const operator = toText((await agency.open('/console/operator')).body)
  expect(operator).not.toContain('Missing scope')
  const path = '/console/returns/202512/1002'
  expect((await agency.open(path)).body).not.toContain('/console/submissions/')
  const empty = await agency.send(`${path}/reopen`, { token: submitted, reason: ' ' })
  expect([empty.statusCode, toText(empty.body)]).toEqual([400, expect.stringContaining('Reason is missing.')])
  // The limit is that of the API, and what was typed stays.
  const long = await agency.send(`${path}/reopen`, { token: submitted, reason: 'x'.repeat(501) })
  expect([long.statusCode, toText(long.body)]).toEqual([400, expect.stringMatching(/Reason .* 500 /)])
  expect(long.body).toContain('x'.repeat(501))
  expect(long.body).not.toContain('maxlength')
  const past = await agency.send(`${path}/reopen`, { token: submitted, reason: 'No', until: '2026-01-31' })
  expect([past.statusCode, toText(past.body)]).toEqual([400, expect.stringContaining('today or later')])
  const until = new Date(Date.now() + 20 * 24 * HOUR).toISOString().slice(0, 10)
  const reason = 'A course is missing.'
  const reopened = await agency.send(`${path}/reopen`, { token: submitted, reason, until })
  expect(reopened.headers.location).toBe(path)
  const day = `${Number(until.slice(8))} `
  for (const url of [path, '/console/returns/202512'])
    expect(toText((await agency.open(url)).body)).toMatch(
      new RegExp(`Reopened until ${day}.*: A course is missing\\.`),
    )

  // The organisation is told, wherever it looks.
  const analyst = await enter(['validation-results:read', 'submissions:write'], ['1002'])
  expect(toText((await analyst.open('/console/submissions')).body)).toMatch(
    // It was submitted before, so it is neither overdue nor missed.
    /Return of 202512 \d+ \w+ \d{4}, \d\d:\d\d Reopened until \d+ \w+ \d{4} : A course is missing\. /,
  )
  // Those who may not write are not asked to send anything.
  const manager = await enter(['validation-results:read'], ['1001'])
  const read = await manager.open(`/console/submissions/${faulty}/findings`)
  expect(read.body).toContain('every finding beside its row.')
  expect(read.body).not.toMatch(/>Explain</)
  for (const step of ['files', 'submit']) {
    const text = toText((await analyst.open(`/console/submissions/${submitted}/${step}`)).body)
    expect(text).toMatch(/Reopened by other, .* until .*: A course is missing\./)
    expect(text).toContain('Submit Not submitted again')
    expect(text).not.toContain('Ready to submit')
    expect(text.includes('No file has changed since the submission was reopened.')).toBe(step === 'submit')
  }
  expect(toText((await analyst.open(`/console/submissions/${submitted}/delete`)).body)).toContain(
    'Once it is deleted, it counts as never submitted: receipt 1 and the reason of the reopening are deleted, too.',
  )
  // What no check covers, or is submitted again, is neither.
  await analyst.send(`/console/submissions/${submitted}/submit`, {})
  expect((await analyst.open('/console/submissions')).body).not.toContain('Reopened')

  // That an organisation is suspended is seen, and keeps nobody from the others.
  await agency.send('/console/operator/organisations/1001/suspend', { reason: '' })
  expect(toText((await agency.open('/console/returns/202512')).body)).toMatch(/ 1001 Suspended Has errors /)
  expect(toText((await agency.open('/console/returns/202512/1001')).body)).toContain('Suspended since')
  const vendor = await enter(['validation-results:read'], ['1001', '1002'])
  const refused = await vendor.open('/console/submissions')
  expect([refused.statusCode, refused.body]).toEqual([401, expect.stringContaining('1001 is suspended')])
  expect(refused.body).toMatch(/<option value="1002"/)
  expect((await vendor.open('/console/submissions?eid=1002')).statusCode).toBe(200)
  const other = await vendor.open(`/console/submissions/${faulty}/files?eid=1001`)
  expect([other.statusCode, toText(other.body)]).toEqual([401, expect.not.stringContaining('Your key')])
  expect(toText(other.body)).toContain('1001 is suspended')
})
