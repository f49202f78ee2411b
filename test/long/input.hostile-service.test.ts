import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { MahiError } from '../../client/src/errors.ts'
import { checkMirror, mirrorOccupations } from '../../src/remote/mirror.ts'
import { createSource } from '../../src/remote/source.ts'
import { InstallationHere } from '../support/command-here.ts'
import { packed, repeated } from '../support/hostile.ts'
import { runMeasured } from '../support/measured.ts'

const FULL = process.env.MAHI_TEST_FULL === '1'
/** The length of an answer that is too long, in bytes: more than the 128 MiB that are read. */
const BYTES = FULL ? 2 ** 31 : 160_000_000

/** The most memory that a command may take, in bytes: an answer that is just not too long is held as text. */
const MOST = 500_000_000

/** A service that answers every request in the same way. */
async function serve(answer: (response: ServerResponse, path: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    response.on('error', () => undefined)
    answer(response, request.url ?? '')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return `http://127.0.0.1:${address.port}`
}

function send(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json', etag: 'W/"1-x"' })
  response.end(body)
}

const record = (code: string, more: object = {}) => ({
  occupationCode: code,
  lastUpdatedDate: '2026-01-01T00:00:00.000Z',
  ...more,
})
const line = (code: string) => JSON.stringify(record(code))
const GOOD = `${line('A')}\n${line('B')}\n`

/** Sends text as a snapshot, with the headers of one unless told otherwise. */
function sendSnapshot(
  response: ServerResponse,
  text: string,
  headers: Record<string, string | undefined> = {},
): void {
  const digest = createHash('sha256').update(text).digest('base64')
  const all = {
    'content-type': 'application/x-ndjson',
    etag: 'W/"1-x"',
    'delta-token': 'token',
    'catalogue-revision': '1',
    'total-count': String(text.split('\n').length - 1),
    'ndjson-digest': `sha-256=:${digest}:`,
    ...headers,
  }
  for (const [name, value] of Object.entries(all)) if (value !== undefined) response.setHeader(name, value)
  response.end(text)
}

const HOSTILE_MESSAGE = {
  page: 'The response is not a page of changes',
  snapshot: 'The response is not a catalogue snapshot',
  json: 'The response is not JSON',
  back: 'The pages form a loop',
  long: 'The response is longer than 134217728 bytes',
  endless: 'The last line of the snapshot is incomplete',
}

const report: string[] = []
afterAll(() => {
  if (FULL) process.stderr.write(`${report.join('\n')}\n`)
})

/** A folder with a copy of a good service. */
async function makeCopy() {
  const mahi = new InstallationHere()
  /** What the service answers about changes, as soon as there is a copy. */
  let hostile: ((response: ServerResponse, path: string) => void) | undefined
  const url = await serve((response, path) => {
    if (hostile !== undefined) hostile(response, path)
    else sendSnapshot(response, GOOD)
  })
  const folder = join(mahi.folder, 'copy')
  await mirror(url, folder)
  const become = (answer: typeof hostile) => {
    hostile = answer
  }
  return { mahi, folder, url, become, copy: () => mahi.read('copy/occupations.ndjson') }
}

async function mirror(url: string, folder: string): Promise<void> {
  await mirrorOccupations({ url, folder, source: createSource(url, undefined) })
}

/** Lets the service of such a folder become another, and mirrors it by the command. */
async function mirrorAfter(answer: (response: ServerResponse, path: string) => void, ...flags: string[]) {
  const { mahi, url, become, copy } = await makeCopy()
  const before = copy()
  become(answer)
  const { code, stdout, stderr, peak } = await runMeasured(mahi, ['mirror', url, 'copy', ...flags])
  expect([code, stdout, stderr.includes('internal error')]).toEqual([1, '', false])
  expect(copy()).toBe(before)
  return { stderr: stderr.replace(url, 'URL'), peak }
}

describe('an answer without end ends a mirror, and leaves the copy', () => {
  const snapshotHead = (response: ServerResponse) => {
    response.setHeader('content-type', 'application/x-ndjson')
    for (const name of ['etag', 'delta-token']) response.setHeader(name, 'x')
    for (const name of ['catalogue-revision', 'total-count']) response.setHeader(name, '9')
    response.setHeader('ndjson-digest', 'sha-256=:x:')
  }
  test.each([
    [
      'as it is',
      (response: ServerResponse) =>
        Readable.from(repeated(' ', BYTES, '{"changes":["', '"]}')).pipe(response),
      [],
      HOSTILE_MESSAGE.long,
    ],
    [
      'packed',
      (response: ServerResponse) => {
        response.setHeader('content-encoding', 'gzip')
        void pipeline(packed(repeated('x', BYTES, '{"changes":["', '"]}')), response).catch(() => undefined)
      },
      [],
      HOSTILE_MESSAGE.long,
    ],
    [
      'packed, as a problem',
      (response: ServerResponse) => {
        response.statusCode = 400
        response.setHeader('content-encoding', 'gzip')
        void pipeline(packed(repeated('x', BYTES, '{"title":"', '"}')), response).catch(() => undefined)
      },
      [],
      HOSTILE_MESSAGE.long,
    ],
    [
      'packed, as a line of a snapshot',
      (response: ServerResponse) => {
        snapshotHead(response)
        response.setHeader('content-encoding', 'gzip')
        void pipeline(packed(repeated('x', BYTES, '{"occupationCode":"', '"}')), response).catch(
          () => undefined,
        )
      },
      ['--full'],
      HOSTILE_MESSAGE.endless,
    ],
  ])('%s', { timeout: 300_000 }, async (name, answer, flags, message) => {
    const begun = performance.now()
    const { stderr, peak } = await mirrorAfter(answer, ...flags)
    report.push(
      `mirror, endless, ${name}: ${Math.round(peak / 1e6)} MB, ${((performance.now() - begun) / 1000).toFixed(1)} s`,
    )
    expect(stderr).toBe(`URL: ${message}\n`)
    expect(peak).toBeLessThan(MOST)
  })
})

test('whatever else a service may answer about changes ends a mirror, and leaves the copy', {
  timeout: 120_000,
}, async () => {
  const page = (more: object = {}) =>
    JSON.stringify({ delta: 'x', totalCount: 2, revision: 1, changes: [], resultsCount: 0, ...more })
  const one = (change: unknown) => page({ changes: [change], resultsCount: 1 })
  const created = { change: 'created', occupationCode: 'A', record: record('A') }
  const answers: [string, string][] = [
    ['<html>', HOSTILE_MESSAGE.json],
    ['null', HOSTILE_MESSAGE.json],
    ['"text"', HOSTILE_MESSAGE.json],
    [`${'['.repeat(100_000)}`, HOSTILE_MESSAGE.json],
    // What proxies and other services answer with 200.
    ['{}', HOSTILE_MESSAGE.page],
    ['[]', HOSTILE_MESSAGE.page],
    ['{"status":"ok"}', HOSTILE_MESSAGE.page],
    ['{"data":[]}', HOSTILE_MESSAGE.page],
    [page({ changes: undefined }), HOSTILE_MESSAGE.page],
    [page({ changes: 'text' }), HOSTILE_MESSAGE.page],
    [page({ changes: { length: 1e9 } }), HOSTILE_MESSAGE.page],
    [page({ totalCount: undefined }), HOSTILE_MESSAGE.page],
    [page({ totalCount: '2' }), HOSTILE_MESSAGE.page],
    [page({ totalCount: 1e308 }), HOSTILE_MESSAGE.page],
    [page({ revision: -1 }), HOSTILE_MESSAGE.page],
    [page({ resultsCount: undefined }), HOSTILE_MESSAGE.page],
    [page({ resultsCount: 1 }), HOSTILE_MESSAGE.page],
    [page({ delta: undefined }), HOSTILE_MESSAGE.page],
    [page({ delta: 5 }), HOSTILE_MESSAGE.page],
    [page({ next: 'y' }), HOSTILE_MESSAGE.page],
    [page({ next: 'y', delta: undefined }), HOSTILE_MESSAGE.page],
    [one(null), HOSTILE_MESSAGE.page],
    [one([]), HOSTILE_MESSAGE.page],
    [one({ ...created, change: 'moved' }), HOSTILE_MESSAGE.page],
    [one({ ...created, occupationCode: 5 }), HOSTILE_MESSAGE.page],
    [one({ ...created, occupationCode: 'B' }), HOSTILE_MESSAGE.page],
    [one({ ...created, record: undefined }), HOSTILE_MESSAGE.page],
    [one({ ...created, change: 'removed' }), HOSTILE_MESSAGE.page],
    [page({ next: 'y', delta: undefined, changes: [created], resultsCount: 1 }), HOSTILE_MESSAGE.back],
  ]
  const { folder, url, become, copy } = await makeCopy()
  const before = copy()
  for (const [body, message] of answers) {
    become((response) => send(response, body))
    const failure = await mirror(url, folder).catch((error: unknown) => error)
    expect([body.slice(0, 100), failure]).toEqual([body.slice(0, 100), expect.any(MahiError)])
    expect([body.slice(0, 100), (failure as MahiError).message]).toEqual([
      body.slice(0, 100),
      expect.stringContaining(message),
    ])
    expect(copy()).toBe(before)
  }
  // Without an ETag.
  become((response) => response.end(page()))
  await expect(mirror(url, folder)).rejects.toThrow('it lacks an ETag')
  // A total that the copy does not have: the snapshot settles it, and is asked for once.
  const asked: string[] = []
  become((response, path) => {
    asked.push(path)
    if (path.includes('changes')) send(response, page({ totalCount: 7 }))
    else sendSnapshot(response, GOOD)
  })
  expect(await mirrorOccupations({ url, folder, source: createSource(url, undefined) })).toMatchObject({
    total: 2,
  })
  expect(asked).toEqual(['/v1/occupations/changes?Since=token', '/v1/occupations/snapshot'])
})

test('whatever else a service may answer as a snapshot ends a mirror, and leaves the copy', {
  timeout: 120_000,
}, async () => {
  const { folder, url, become, copy } = await makeCopy()
  const before = copy()
  const fail = async (text: string, headers: Record<string, string | undefined>, message: string) => {
    become((response) => sendSnapshot(response, text, headers))
    const run = mirrorOccupations({ url, folder, full: true, source: createSource(url, undefined) })
    const failure = await run.catch((error: unknown) => error)
    expect([text, headers, failure]).toEqual([text, headers, expect.any(MahiError)])
    expect((failure as MahiError).message).toContain(message)
    expect(copy()).toBe(before)
  }
  for (const [name, value] of [
    ['content-type', 'application/json'],
    ['content-type', undefined],
    ['etag', undefined],
    ['delta-token', undefined],
    ['catalogue-revision', 'x'],
    ['total-count', '-1'],
    ['total-count', undefined],
    ['ndjson-digest', undefined],
    ['ndjson-digest', 'md5=:x:'],
  ] as const)
    await fail(GOOD, { [name]: value }, HOSTILE_MESSAGE.snapshot)
  await fail(GOOD, { 'ndjson-digest': 'sha-256=:AAAA:' }, 'does not match its digest')
  await fail(GOOD, { 'total-count': '1' }, 'does not have the 1 lines that it announces')
  await fail(GOOD, { 'total-count': '3' }, 'does not have the 3 lines that it announces')
  await fail('', { 'total-count': '2' }, 'does not have the 2 lines that it announces')
  await fail(GOOD.trimEnd(), { 'total-count': '1' }, 'does not have the 1 lines that it announces')
  await fail(`${line('B')}\n${line('A')}\n`, {}, 'Line 2 of the snapshot is not a record or is out of order')
  await fail(`${line('A')}\n${line('A')}\n`, {}, 'Line 2 of the snapshot is not a record or is out of order')
  for (const text of ['{}', '[]', 'null', '5', '<html>', '{"occupationCode":5}', '{"occupationCode":"A"'])
    await fail(`${text}\n`, {}, 'Line 1 of the snapshot is not a record or is out of order')
})

test('a redirect is not followed, and its target is named', async () => {
  const { stderr } = await mirrorAfter((response) => {
    response.writeHead(308, { location: 'https://elsewhere.example/v1/occupations/changes' }).end()
  })
  expect(stderr).toBe('URL: HTTP 308 redirects to https://elsewhere.example/v1/occupations/changes\n')
})

test('a service without a change feed gets a specific message', async () => {
  const url = await serve((response) => {
    response.statusCode = 404
    response.end('{"title":"Nothing here"}')
  })
  const { code, stderr } = await new InstallationHere().run(['mirror', url, 'copy'])
  expect(code).toBe(1)
  expect(stderr).toContain('The service has no snapshot of its catalogue: it is an older version of Mahi')
})

test('what a service says of itself does nothing to a terminal, and is not endless', async () => {
  const title = `\u001b[2J\u009b1m\r\nmahi: all is well${'x'.repeat(100_000)}`
  const { stderr } = await mirrorAfter((response) => {
    response.statusCode = 400
    response.end(JSON.stringify({ title }))
  })
  expect(stderr).toMatch(/^URL: {2}\[2J 1m mahi: all is wellx+…\n/)
  expect(stderr.length).toBeLessThan(700)
})

test('names that every object has are mirrored as they are, and refused by an import', async () => {
  const mahi = new InstallationHere()
  const text = `{"occupationCode":"A","__proto__":{"titleEnglish":"polluted"},"constructor":1,"lastUpdatedDate":"2026-01-01T00:00:00.000Z"}`
  const url = await serve((response, path) => {
    if (path.includes('changes'))
      send(response, '{"delta":"x","totalCount":1,"revision":1,"changes":[],"resultsCount":0}')
    else sendSnapshot(response, `${text}\n`)
  })
  for (const format of ['ndjson', 'json', 'csv']) {
    expect(await mahi.run(['mirror', url, 'copy', '--format', format])).toMatchObject({ code: 0 })
  }
  expect(mahi.read('copy/occupations.ndjson')).toBe(`${text}\n`)
  expect(mahi.read('copy/occupations.csv')).not.toContain('polluted')
  const { code, stderr } = await mahi.run(['occupations', 'import', 'copy/occupations.ndjson'])
  expect([code, stderr]).toEqual([
    1,
    'copy/occupations.ndjson:1: has the unknown field "__proto__"\ncopy/occupations.ndjson:1: has the unknown field "constructor"\nNothing was stored: 2 faults.\n',
  ])
})

test('a copy that was damaged is fetched again, and what a first run left behind is not used', async () => {
  const { mahi, folder, url, become, copy } = await makeCopy()
  const whole = copy()
  const change = {
    change: 'updated',
    occupationCode: 'A',
    record: record('A'),
  }
  become((response, path) => {
    if (path.includes('changes'))
      send(
        response,
        JSON.stringify({ delta: 'x', totalCount: 2, revision: 1, changes: [change], resultsCount: 1 }),
      )
    else sendSnapshot(response, GOOD)
  })

  // What a file may hold whose blocks did not reach the disk.
  for (const damaged of [
    `${whole}\0\0\0\0\n`,
    '\0'.repeat(whole.length),
    `${'\0'.repeat(4096)}\n`,
    '{"occupationCode":1}\n',
    'null\n',
  ]) {
    mahi.write('copy/occupations.ndjson', damaged)
    expect(await checkMirror({ url, folder, source: createSource(url, undefined) })).toMatchObject({
      damaged: true,
    })
    await mirror(url, folder)
    expect(copy()).toBe(whole)

    const other = new InstallationHere()
    other.write('copy/occupations.ndjson.part', damaged)
    other.write('copy/mirror.part.json', JSON.stringify({ url, revision: '1' }))
    other.write('copy/mirror.lock', '')
    await mirror(url, join(other.folder, 'copy'))
    expect(other.read('copy/occupations.ndjson')).toBe(whole)
  }
  for (const state of [
    '\0\0\0',
    'null',
    '{}',
    JSON.stringify({ url, seenUntil: '2026-01-01T00:00:00.000Z' }),
  ]) {
    mahi.write('copy/mirror.json', state)
    expect(await mahi.run(['mirror', url, 'copy'])).toMatchObject({ code: 0 })
    expect(copy()).toBe(whole)
  }
})

describe('findings from something other than a service', () => {
  const fetchFrom = async (body: string) => {
    const url = await serve((response) => send(response, body))
    const mahi = new InstallationHere()
    const command = ['results', 'fetch', url, 'a-token', '--eid', '1001', '--format', 'ndjson']
    const outcome = await mahi.run(command, { environment: { MAHI_API_KEY: 'key' } })
    return { ...outcome, stderr: outcome.stderr.replace(url, 'URL') }
  }

  test.each([
    [{ results: 1, totalCount: 1 }, 'The response has fewer entries than its total count'],
    [{ results: 'text', totalCount: 1 }, 'The response has fewer entries than its total count'],
    [{ results: [], totalCount: 1e308 }, 'The response has fewer entries than its total count'],
    [{ results: [null], totalCount: 1 }, 'The response contains an item that is not an entry'],
    [{ results: [] }, 'The response lacks an ETag or a total count'],
  ])('%j', async (body, message) => {
    const { code, stderr } = await fetchFrom(JSON.stringify(body))
    expect([code, stderr]).toEqual([1, `URL: ${message}\n`])
  })

  test('names that every object has are counted like any other', async () => {
    const names = ['__proto__', 'constructor', 'toString', '__proto__']
    const results = names.map((errorCode) => ({ errorCode }))
    const { code, stdout, stderr } = await fetchFrom(
      JSON.stringify({ results, totalCount: 4, pageSize: 1000 }),
    )
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(stderr).toMatch(/By error code\n +2 {2}__proto__\n +1 {2}constructor\n +1 {2}toString\n$/)
  })
})
