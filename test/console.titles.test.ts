import { expect, test } from 'vitest'
import { ConsoleService, describeForm } from './support/console.ts'

/** A catalogue with one occupation, a function that sends a list of titles, and one that opens a page. */
async function start() {
  const console = await ConsoleService.start()
  const { service } = console
  await service.import([{ occupationCode: 'A1', titleEnglish: 'Nurse' }])
  await console.whenSearchable()
  const cookie = await console.signIn()
  return {
    service,
    send: (fields: Record<string, string>) =>
      service.app.inject({ url: '/console/code', ...describeForm(fields, cookie) }),
    open: (url: string) => service.app.inject({ url, headers: { cookie } }),
  }
}

test.each([
  ['k\ufffdhu', 'The title “k\ufffdhu” has U+FFFD'],
  ['kÄ“hu', 'The title “kÄ“hu” is &quot;kÄ“hu&quot;, UTF-8 that was decoded as Windows-1252 or Latin-1'],
  ['M?ori nurse', 'The title “M?ori nurse” has a question mark'],
])('a decision about the title %j is refused by name', async (title, message) => {
  const { send } = await start()
  const titles = `nurse\n${title}`
  const marked = { 'choice-0': 'A1', 'reviewed-0': 'yes', 'choice-1': 'A1', 'reviewed-1': 'yes' }
  const { statusCode, body } = await send({ titles, ...marked, confirm: 'reviewed' })
  expect([statusCode, body]).toEqual([400, expect.stringContaining(message)])
  expect(body).toContain('Nothing was stored.')
})

test('the download of coded titles is text to a spreadsheet: UTF-8 by its byte order mark, and no formula', async () => {
  const { send } = await start()
  const { headers, rawPayload } = await send({ titles: 'tapuhi mā\n=1+1\n@x', download: 'csv' })
  expect(headers['content-disposition']).toContain('coded-titles.csv')
  const [first, ...lines] = rawPayload.toString('utf8').split('\n')
  expect(first).toBe('\ufefftitle,occupationCode,occupationTitle,certainty')
  // Nor is a title a formula in them.
  expect(lines.map((line) => line.split(',')[0])).toEqual(['tapuhi mā', "'=1+1", "'@x", ''])
})

test('a removed code names its successors once, where a title is confirmed and on its own page', async () => {
  const { service, send, open } = await start()
  await send({ titles: 'nursie', 'choice-0': 'A1', 'reviewed-0': 'yes', confirm: 'reviewed' })
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
