import { expect, test } from 'vitest'
import { SCOPES } from '../src/api/access/principal.ts'
import { ConsoleService, describeForm } from './support/console.ts'

/** A catalogue with one occupation, and functions that send a list of titles, its choices, and open a page. */
async function start() {
  const console = await ConsoleService.start({ RATE_LIMIT_CODINGS: 'off' })
  const { service } = console
  await service.import([{ occupationCode: 'A1', titleEnglish: 'Nurse' }])
  await console.whenSearchable()
  const cookie = await console.signIn()
  const send = (fields: Record<string, string>, url = '/console/code') =>
    service.app.inject({ url, ...describeForm(fields, cookie) })
  return {
    console,
    service,
    send,
    open: (url: string, as = cookie) => service.app.inject({ url, headers: { cookie: as } }),
    /** The page of a new list, the least certain titles first. */
    begin: async (titles: string) => String((await send({ titles })).headers.location),
  }
}

/** The titles of a page of a list, in its order, with the choice that is marked. */
const readRows = (body: string) =>
  body
    .slice(body.indexOf('<tbody'))
    .split('<tr')
    .slice(1)
    .map((row) => [
      /<th scope="row">([^<]*)/.exec(row)?.[1],
      /type="radio"[^>]* value(?:="([^"]*)")? checked/
        .exec(row)
        ?.slice(1)
        .map((code) => code ?? '')[0],
    ])

test('a list is a draft of its owner: nothing is lost by Back, a page of it, or a partial confirmation', async () => {
  const { console, service, send, open, begin } = await start()
  const list = await begin('Nurse\nzzz\nNURSE\nVibe manager\nnurse')
  const { body } = await open(list)
  // Equal titles once, the least certain first; what is not certain enough has no choice yet.
  expect(readRows(body)).toEqual([
    ['zzz', undefined],
    ['Vibe manager', undefined],
    ['nurse', 'A1'],
  ])
  expect(body.replace(/<[^>]*>/g, '')).toContain('5 titles, 3 different: 2 to choose, 1 with a code')
  await send({ 'choice-0': '', 'choice-1': 'A1', 'reviewed-1': 'yes' }, list)
  const kept = await open(list)
  // A code that is no candidate is in the field for another one.
  expect(readRows(kept.body).map(([, choice]) => choice)).toEqual(['', undefined, 'A1'])
  expect(kept.body).toContain('name="other-1" value="A1"')
  expect(readRows((await open(`${list}?show=open`)).body)).toEqual([])

  const confirmed = await send({ confirm: 'reviewed' }, list)
  expect(confirmed.headers.location).toBe(`${list}?stored=1&disputed=0`)
  expect((await open(`${list}?stored=1&disputed=0`)).body).toContain('1 decision stored.')
  expect((await open(list)).body).toMatch(/Confirmed<span[^>]*>: Vibe manager/)
  const again = await send({ confirm: 'reviewed' }, list)
  expect([again.statusCode, again.body]).toEqual([
    400,
    expect.stringContaining('No title is marked as reviewed.'),
  ])

  // The threshold can be moved: what was not chosen is open again, and the choices stay.
  await send({ threshold: '90' }, await begin('nurse'))
  const other = await service.createKey({ scopes: SCOPES })
  const stranger = await console.signIn(other.id)
  expect((await open(list, stranger)).statusCode).toBe(404)
  expect((await open('/console/code')).body).toContain(`href="${list}"`)
  expect((await open('/console/code', stranger)).body).not.toContain(list)
  expect((await send({ delete: 'list' }, list)).headers.location).toBe('/console/code')
  expect((await open(list)).statusCode).toBe(404)
})

test('a table of titles is read by its column of titles, and one that is too long is one line', async () => {
  const { open, begin } = await start()
  const list = await begin(`id;Job Title;place\r\n1;"Nurse; ward";Ōtaki\n2;${'x'.repeat(301)};\n3;;\n`)
  const { body } = await open(list)
  expect(readRows(body).map(([title]) => title)).toEqual([`${'x'.repeat(60)}…`, 'Nurse; ward'])
  expect(body).toContain('Not coded: it has 301 characters; at most 300 are allowed.')
})

test('a page has at most 200 titles, whatever the list has', async () => {
  const { open, begin } = await start()
  const list = await begin(Array.from({ length: 3_000 }, (_, at) => `nurse ${at}`).join('\n'))
  for (const [page, rows] of [
    [1, 200],
    [15, 200],
    [16, 0],
  ] as const)
    expect(readRows((await open(`${list}?page=${page}`)).body)).toHaveLength(rows)
})

test.each([
  ['k\ufffdhu', 'The title “k\ufffdhu” has U+FFFD'],
  ['kÄ“hu', 'The title “kÄ“hu” is &quot;kÄ“hu&quot;, UTF-8 that was decoded as Windows-1252 or Latin-1'],
  ['M?ori nurse', 'The title “M?ori nurse” has a question mark'],
])('a decision about the title %j is refused by name', async (title, message) => {
  const { send, begin } = await start()
  const list = await begin(`nurse\n${title}`)
  const marked = { 'choice-0': 'A1', 'reviewed-0': 'yes', 'choice-1': 'A1', 'reviewed-1': 'yes' }
  const { statusCode, body } = await send({ ...marked, confirm: 'reviewed' }, list)
  expect([statusCode, body]).toEqual([400, expect.stringContaining(message)])
  expect(body).toContain('Nothing was stored.')
})

test('the download of coded titles is text to a spreadsheet: UTF-8 by its byte order mark, and no formula', async () => {
  const { send, begin } = await start()
  const { headers, rawPayload } = await send({ download: 'csv' }, await begin('tapuhi mā\n=1+1\n@x\n=1+1'))
  expect(headers['content-disposition']).toContain('coded-titles.csv')
  const [first, ...lines] = rawPayload.toString('utf8').split('\n')
  expect(first).toBe('\ufefftitle,occupationCode,certainty')
  // Nor is a title a formula in them. Each line of the list has one, in its order.
  expect(lines.map((line) => line.split(',')[0])).toEqual(['tapuhi mā', "'=1+1", "'@x", "'=1+1", ''])
})

test('a removed code names its successors once, where a title is confirmed and on its own page', async () => {
  const { service, send, open, begin } = await start()
  await send({ 'choice-0': 'A1', 'reviewed-0': 'yes', confirm: 'reviewed' }, await begin('nursie'))
  expect((await open('/console/code/confirmed')).body).not.toContain('</a>, no longer')
  await service.import([{ occupationCode: 'B2' }, { occupationCode: 'A1', replacedBy: ['B2'] }])
  const { body } = await open('/console/code/confirmed')
  expect(body).toContain(
    '<a href="/console/occupations/A1">A1</a>, no longer in the catalogue, replaced by <a href="/console/occupations/B2">B2</a>',
  )
  const removed = await open('/console/occupations/A1')
  expect([removed.statusCode, removed.body]).toEqual([
    410,
    expect.stringMatching(
      /The occupation A1 was removed on <time [^>]*>[^<]+<\/time>, replaced by <a [^>]*>B2<\/a>\.<\/p>/,
    ),
  ])
  expect(removed.body.match(/>B2</g)).toHaveLength(1)
})
