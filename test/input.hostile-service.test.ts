import { expect, test } from 'vitest'
import { createClient } from '../client/src/index.ts'
import { mirrorOccupations } from '../src/remote/mirror.ts'
import { Installation } from './support/command.ts'
import { GOOD, makeCopy, sendSnapshot, serveHostile } from './support/hostile-service.ts'

test('whatever a service responds as a snapshot ends a mirror, and leaves the copy', async () => {
  const { mirror, become, copy } = await makeCopy()
  const cases: [text: string, headers: Record<string, string | undefined>, message: RegExp][] = [
    ...(
      ['content-type', 'etag', 'delta-token', 'catalogue-revision', 'total-count', 'ndjson-digest'] as const
    ).map((name): (typeof cases)[number] => [GOOD, { [name]: undefined }, /is not a catalogue snapshot/]),
    [GOOD, { 'total-count': '-1' }, /is not a catalogue snapshot/],
    [GOOD, { 'ndjson-digest': 'md5=:x:' }, /is not a catalogue snapshot/],
    [GOOD, { 'ndjson-digest': 'sha-256=:AAAA:' }, /does not match its digest/],
    [GOOD, { 'total-count': '1' }, /does not have the 1 lines/],
    [GOOD, { 'total-count': '3' }, /does not have the 3 lines/],
    [GOOD.trimEnd(), { 'total-count': '1' }, /does not have the 1 lines/],
    ...['{}', 'null', '<html>', '{"occupationCode":5}', '{"occupationCode":"A"'].map(
      (text): (typeof cases)[number] => [`${text}\n`, {}, /Line 1 of the snapshot is not a record/],
    ),
  ]
  for (const [text, headers, message] of cases) {
    become((response) => sendSnapshot(response, text, headers))
    await expect(mirror(), JSON.stringify([text, headers])).rejects.toThrow(message)
    expect(copy()).toBe(GOOD)
  }
})

test('a redirect is not followed, and what a service says of itself does nothing to a terminal', async () => {
  const { mahi, url, become } = await makeCopy()
  become((response) => response.writeHead(308, { location: 'https://elsewhere.example/snapshot' }).end())
  const redirected = await mahi.run(['mirror', url, 'copy'])
  expect(redirected.stderr).toBe(`${url}: HTTP 308 redirects to https://elsewhere.example/snapshot\n`)
  const title = `\u001b[2J\u009b1m\r\nmahi: all is well${'x'.repeat(100_000)}`
  become((response) => response.writeHead(400).end(JSON.stringify({ title })))
  const { code, stderr } = await mahi.run(['mirror', url, 'copy'])
  expect([code, stderr.replace(url, 'URL')]).toEqual([
    1,
    expect.stringMatching(/^URL: {2}\[2J 1m mahi: all is wellx+…\n/),
  ])
  expect(stderr.length).toBeLessThan(700)
})

test('names that every object has are mirrored as they are, and refused by an import', async () => {
  const text = '{"occupationCode":"A","__proto__":{"titleEnglish":"polluted"},"constructor":1}\n'
  const url = await serveHostile((response) => sendSnapshot(response, text))
  const mahi = new Installation()
  expect(await mahi.run(['mirror', url, 'copy', '--format', 'csv'])).toMatchObject({ code: 0 })
  expect(mahi.read('copy/occupations.ndjson')).toBe(text)
  expect(mahi.read('copy/occupations.csv')).not.toContain('polluted')
  const { code, stderr } = await mahi.run(['occupations', 'import', 'copy/occupations.ndjson'])
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/"__proto__"\n.*"constructor"\nNothing was stored/),
  ])
})

test('a copy or a state that was damaged is noticed, and fetched again', async () => {
  const { mahi, mirror, become, copy } = await makeCopy()
  // A service that has the same catalogue as before.
  become((response, _, etag) =>
    etag === undefined ? sendSnapshot(response, GOOD) : response.writeHead(304).end(),
  )
  // What a file may hold whose blocks did not reach the disk.
  for (const damaged of [`${GOOD}\0\0\n`, '\0'.repeat(GOOD.length), '{"occupationCode":1}\n', 'null\n', '']) {
    mahi.write('copy/occupations.ndjson', damaged)
    expect(await mirror()).toMatchObject({ changed: true })
    expect(copy()).toBe(GOOD)
  }
  for (const state of ['\0\0\0', 'null', '{}', '']) {
    mahi.write('copy/mirror.json', state)
    expect(await mirror()).toMatchObject({ changed: true })
    expect(copy()).toBe(GOOD)
  }
  expect(await mirror()).toMatchObject({ changed: false, total: 2 })
})

test('the ETag of one service is not sent to another', async () => {
  const { folder, copy } = await makeCopy()
  const other = '{"occupationCode":"OTHER"}\n'
  // Whose first snapshot has the same ETag.
  const url = await serveHostile((response, _, etag) =>
    etag === undefined ? sendSnapshot(response, other) : response.writeHead(304).end(),
  )
  const { occupations } = createClient({ baseUrl: url, cachedPages: 0 })
  expect(await mirrorOccupations({ url, folder, occupations })).toMatchObject({ changed: true, total: 1 })
  expect(copy()).toBe(other)
})

test('a 304 that nobody asked for ends a mirror', async () => {
  const { mahi, mirror, become, copy } = await makeCopy()
  become((response) => response.writeHead(304).end())
  mahi.write('copy/mirror.json', '')
  await expect(mirror()).rejects.toThrow('HTTP 304')
  expect(copy()).toBe(GOOD)
})

test.each([
  [{ results: 1, totalCount: 1 }, 'The response has fewer entries than its total count'],
  [{ results: [], totalCount: 1e308 }, 'The response has fewer entries than its total count'],
  [{ results: [null], totalCount: 1 }, 'The response contains an item that is not an entry'],
  [{ results: [] }, 'The response lacks an ETag or a total count'],
])('findings from something other than a service end a fetch: %j', async (body, message) => {
  const url = await serveHostile((response) =>
    response.setHeader('etag', 'W/"1-x"').end(JSON.stringify(body)),
  )
  const command = ['results', 'fetch', url, 'a-token', '--eid', '1001', '--format', 'ndjson']
  const outcome = await new Installation().run(command, { environment: { MAHI_API_KEY: 'key' } })
  expect(outcome).toMatchObject({ code: 1, stderr: `${url}: ${message}\n` })
})
