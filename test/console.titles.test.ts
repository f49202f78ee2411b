import { expect, test } from 'vitest'
import { SCOPES, type Scope } from '../src/api/access/principal.ts'
import { explainProblem } from '../src/console/faults.ts'
import { ConsoleService, describeForm, tokenOf } from './support/console.ts'

/** A catalogue with two occupations, and functions that send a list of titles, its choices, and open a page. */
async function start(scopes: readonly Scope[] = SCOPES) {
  const console = await ConsoleService.start({ RATE_LIMIT_CODINGS: 'off' })
  const { service } = console
  await service.import([
    { occupationCode: 'A1', titleEnglish: 'Nurse' },
    { occupationCode: 'B2', titleEnglish: 'Nurse educator' },
  ])
  await console.whenSearchable()
  const { id } = await service.createKey({ client: 'coder', scopes })
  const cookie = await console.signIn(id)
  const send = (fields: Record<string, string>, url = '/console/code', headers = {}) => {
    const form = describeForm(fields, cookie)
    return service.app.inject({ url, ...form, headers: { ...form.headers, ...headers } })
  }
  const open = (url: string, as = cookie) => service.app.inject({ url, headers: { cookie: as } })
  return {
    console,
    cookie,
    service,
    send,
    open,
    /** The page of a new list, the least certain titles first. */
    begin: async (titles: string) => String((await send({ titles })).headers.location),
    /** Sends a file as a browser without scripts does. */
    sendFile: (filename: string, content: string | Buffer, headers = {}) => {
      const part = (name: string) => `--limit\r\ncontent-disposition: form-data; name="${name}"`
      return service.app.inject({
        method: 'POST',
        url: '/console/code',
        headers: {
          host: 'localhost',
          'sec-fetch-site': 'same-origin',
          'content-type': 'multipart/form-data; boundary=limit',
          cookie,
          ...headers,
        },
        payload: Buffer.concat([
          Buffer.from(`${part('form-token')}\r\n\r\n${tokenOf(cookie)}\r\n`),
          Buffer.from(`${part('file')}; filename="${filename}"\r\ncontent-type: text/csv\r\n\r\n`),
          Buffer.from(content),
          Buffer.from('\r\n--limit--\r\n'),
        ]),
      })
    },
    /** The lines of the download of a list. */
    download: async (list: string) =>
      (await send({ download: 'csv' }, list)).body.replace('\ufeff', '').trimEnd().split('\n'),
  }
}

/** The text of a page. */
const toText = (body: string) => body.replace(/<[^>]*>/g, '').replaceAll('&quot;', '"')

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
  const { console, cookie, service, send, open, begin } = await start()
  const list = await begin('Nurse\nzzz\nNURSE\nnurse of vibes\nnurse\nVibe manager')
  const { body } = await open(list)
  // Equal titles once, the least certain first, and those without a candidate last; what is not certain enough has no
  // choice yet.
  expect(readRows(body)).toEqual([
    ['nurse of vibes', undefined],
    ['nurse', 'A1'],
    ['zzz', undefined],
    ['Vibe manager', undefined],
  ])
  // A title that means nothing leaves nothing to choose.
  expect(toText(body)).toContain('6 titles, 4 different: 1 to choose, 1 with a code, 2 without one.')
  expect(toText(body)).toContain('No occupation is like it: it has no code.')
  const json = { accept: 'application/json' }
  const one = await send({ 'choice-0': 'B2', 'other-0': '' }, list, json)
  expect(one.json()).toEqual({ verdict: '6 titles, 4 different: 0 to choose, 2 with a code, 2 without one.' })
  await send({ 'choice-0': '', 'other-0': '', 'other-3': 'A1', 'reviewed-3': 'yes' }, list)
  const kept = await open(list)
  expect(readRows(kept.body).map(([, choice]) => choice)).toEqual(['', 'A1', undefined, undefined])
  expect(kept.body).toContain('name="other-3" value="A1"')
  // One that a person has coded has a code.
  expect(kept.body.match(/it has no code\./g)).toHaveLength(1)
  const shown = async (show: string) =>
    readRows((await open(`${list}?show=${show}`)).body).map(([title]) => title)
  expect([await shown('open'), await shown('coded'), await shown('none')]).toEqual([
    [],
    ['nurse', 'Vibe manager'],
    ['nurse of vibes', 'zzz'],
  ])

  const confirmed = await send({ confirm: 'reviewed' }, list)
  expect(confirmed.headers.location).toBe(list)
  // What was done is said once, and only in the session in which it was.
  const [left = ''] = String(confirmed.headers['set-cookie']).split(';')
  const told = await open(list, `${cookie}; ${left}`)
  expect([told.body, String(told.headers['set-cookie'])]).toEqual([
    expect.stringContaining('>1 decision stored. '),
    expect.stringMatching(/^mahi-notice=;.* Max-Age=0$/),
  ])
  const foreign = await open(`${list}?notice=saved`, `${await console.signIn()}; ${left}`)
  expect(foreign.body).toContain('<div role="status" aria-live="polite" class="notice"></div>')
  expect((await open(list)).body).toMatch(/Confirmed<span[^>]*>: Vibe manager/)
  const again = await send({ confirm: 'reviewed' }, list)
  expect(again.statusCode).toBe(400)
  expect(toText(again.body)).toContain('No title is marked as reviewed.')

  // The threshold can be moved, and the choices stay.
  await send({ threshold: '90' }, list)
  const moved = await open(list)
  expect(moved.body).toMatch(/<option value="90" selected/)
  expect(moved.body).toContain('name="other-3" value="A1"')
  const other = await service.createKey({ scopes: SCOPES })
  const stranger = await console.signIn(other.id)
  expect((await open(list, stranger)).statusCode).toBe(404)
  expect((await open('/console/code')).body).toContain(`href="${list}"`)
  expect((await open('/console/code', stranger)).body).not.toContain(list)
  expect((await send({ delete: 'list' }, list)).headers.location).toBe('/console/code')
  expect((await open(list)).statusCode).toBe(404)
})

test('a file of titles: its column can be chosen, and its rows are downloaded in their order with their codes', async () => {
  const { open, send, sendFile, download } = await start(['occupations:read'])
  const sent = await sendFile(
    'wave 2.csv',
    Buffer.from(
      'Title;Job title;Town\r\nMs;Caf\xe9 nurse;Napier\r\nMr;;Nelson\r\nDr;"Nurse\r\nof wards";Gore\r\nMs;nurse;Bluff\r\n',
      'latin1',
    ),
  )
  const list = String(sent.headers.location)
  const { body } = await open(list)
  expect(
    readRows(body)
      .map(([title]) => title)
      ?.sort(),
  ).toEqual(['Café nurse', 'Nurse of wards', 'nurse'])
  expect(body).toMatch(/<option value="1" selected>In the column Job title</)
  expect(toText(body)).toContain('3 titles: ')
  // Without a script, no key does anything.
  expect(body).toMatch(/<p [^>]*data-keys[^>]* hidden>In a row, the keys 1, 2 and 3 choose/)
  expect((await open('/console/code')).body).toContain(`<a href="${list}">wave 2.csv</a>`)

  const index = readRows(body).findIndex(([title]) => title === 'Nurse of wards')
  const second = new RegExp(`name="choice-${index}" value="B2".*?B2, (\\d+)%`, 's').exec(body)?.[1] ?? ''
  await send({ [`choice-${index}`]: 'B2', threshold: '90' }, list)
  const lines = await download(list)
  expect(lines).toEqual([
    'Title,Job title,Town,occupationCode,occupationTitle,certainty',
    expect.stringMatching(/^Ms,Café nurse,Napier,(?:,,|A1,Nurse,0\.9\d)$/),
    'Mr,,Nelson,,,',
    'Dr,"Nurse\r',
    `of wards",Gore,B2,Nurse educator,${(Number(second) / 100).toFixed(2)}`,
    expect.stringMatching(/^Ms,nurse,Bluff,A1,Nurse,(?:0\.9\d|1\.00)$/),
  ])

  const other = await send({ layout: 'other', column: '2', header: 'yes' }, list)
  const towns = await open(String(other.headers.location))
  expect(readRows(towns.body).map(([title]) => title)).toEqual(['Napier', 'Nelson', 'Gore', 'Bluff'])
  // A choice is not lost by looking at another column; a list without one is.
  expect((await open(list)).statusCode).toBe(200)
  await send({ layout: 'other', column: '', header: 'yes' }, String(other.headers.location))
  expect((await open(String(other.headers.location))).statusCode).toBe(404)
  expect((await send({ layout: 'other', column: '9' }, list)).body).toContain('There are no titles.')
})

test('a file that is no text, or is too large, is refused by what it is', async () => {
  const { open, sendFile } = await start()
  const workbook = await sendFile('survey.xlsx', `PK\x03\x04${'.'.repeat(26)}xl/workbook.xml`)
  expect(workbook.statusCode).toBe(400)
  expect(toText(workbook.body)).toContain(
    'The file is an Excel workbook (XLSX). Save the table with the titles as CSV, and choose that file.',
  )
  expect(workbook.body).toMatch(/<textarea[^>]*><\/textarea>/)
  const large = await sendFile('large.csv', 'nurse\n'.repeat(200_000))
  expect([large.statusCode, large.headers.connection]).toEqual([413, 'close'])
  expect(toText(large.body)).toContain(
    'The file is larger than 1 MB. For longer lists use "mahi occupations code".',
  )
  expect((await open('/console/code')).body).not.toContain('Your lists')
})

test('a title that cannot be coded is one row with its reason, and can be given a code', async () => {
  const { open, send, begin, download } = await start(['occupations:read'])
  const list = await begin(
    `id;Job Title;place\r\n1;"Nurse; ward";Ōtaki\n2;${'x'.repeat(301)};\n3;;\n4;Te\x01acher;\n5;Nurse\x0bof wards;`,
  )
  const { body } = await open(list)
  expect(readRows(body).map(([title]) => title)).toEqual(
    expect.arrayContaining([`${'x'.repeat(60)} …`, 'Nurse; ward', 'Te\x01acher …', 'Nurse of wards']),
  )
  expect(body).toContain('Not coded: it has 301 characters; at most 300 are allowed.')
  expect(body).toContain('Not coded: it has the control character U+0001.')
  expect(toText(body)).toMatch(/4 titles: \d to choose, \d with a code, 2 without one\./)
  const index = readRows(body).findIndex(([title]) => title?.startsWith('xxx'))
  await send({ [`other-${index}`]: 'B2' }, list)
  // Of a code that a person has named, no certainty is known.
  expect((await download(list))[2]).toBe(`2,${'x'.repeat(301)},,B2,Nurse educator,`)
})

test('a row that cannot be saved is named at the top, and says why; the others are saved', async () => {
  const { open, send, begin } = await start()
  const list = await begin('nurse of vibes\nnurse for vibes\nzzz')
  const refused = await send(
    { 'choice-0': 'A1', 'other-1': '', 'reviewed-1': 'yes', 'other-2': ' Z9 ' },
    list,
  )
  expect(refused.statusCode).toBe(400)
  const [, one, two] = readRows(refused.body).map(([title]) => title)
  expect(toText(refused.body)).toContain(`2 rows could not be saved. The others are saved.`)
  expect(toText(refused.body)).toContain(`To correct: ${one}, ${two}`)
  expect(refused.body).toContain('<a href="#title-2">zzz</a>')
  expect(toText(refused.body)).toContain('The code for “zzz” is "Z9", which the catalogue does not have.')
  expect(toText(refused.body)).toContain(`Choose an occupation, or “None of these”, for “${one}” before`)
  expect(refused.body).toMatch(
    /name="other-2" value=" Z9 "[^>]* aria-invalid="true" aria-describedby="wrong-2"/,
  )
  expect(readRows((await open(list)).body).map(([, choice]) => choice)).toEqual(['A1', undefined, undefined])
  const { statusCode, body } = await send({ 'other-2': 'Z9' }, list, { accept: 'application/json' })
  expect([statusCode, body]).toEqual([400, expect.stringContaining('which the catalogue does not have.')])
})

test('no sentence of the API about items of a list is shown as it is', () => {
  const name = 'items[1].title'
  const detail = `${name} has the control character U+000B.`
  const problem = explainProblem({ status: 400, title: '', detail, errors: { [name]: [detail] } })
  expect(problem.detail).toBe('A value has the control character U+000B.')
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
  const marked = { 'other-0': 'A1', 'reviewed-0': 'yes', 'other-1': 'A1', 'reviewed-1': 'yes' }
  const { statusCode, body } = await send({ ...marked, confirm: 'reviewed' }, list)
  expect([statusCode, body]).toEqual([400, expect.stringContaining(message)])
  expect(body).toContain('Nothing was stored.')
})

test('the download of coded titles is text to a spreadsheet: UTF-8 by its byte order mark, and no formula', async () => {
  const { send, begin } = await start()
  const { headers, rawPayload } = await send({ download: 'csv' }, await begin('tapuhi mā\n=1+1\n@x\n=1+1'))
  expect(headers['content-disposition']).toContain('coded-titles.csv')
  const [first, ...lines] = rawPayload.toString('utf8').split('\n')
  expect(first).toBe('\ufefftitle,occupationCode,occupationTitle,certainty')
  // Nor is a title a formula in them. Each line of the list has one, in its order.
  expect(lines.map((line) => line.split(',')[0])).toEqual(['tapuhi mā', "'=1+1", "'@x", "'=1+1", ''])
})

test('a removed code names its successors once, where a title is confirmed and on its own page', async () => {
  const { service, send, open, begin } = await start()
  await send({ 'other-0': 'A1', 'reviewed-0': 'yes', confirm: 'reviewed' }, await begin('nursie'))
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
      /The occupation A1 was removed on <time [^>]*>[^<]+<\/time>, replaced by <a [^>]*>B2<\/a>\. <a /,
    ),
  ])
  expect(removed.body.match(/>B2</g)).toHaveLength(1)
})
