import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { MahiError } from '../client/src/errors.ts'
import { checkMirror, mirrorOccupations } from '../src/mirror/mirror.ts'
import { createSource } from '../src/mirror/source.ts'
import { Installation } from './support/command.ts'
import { packed, repeated } from './support/hostile.ts'
import { runMeasured } from './support/measured.ts'

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
const GOOD = { totalCount: 2, resultsCount: 2, data: [record('A'), record('B')] }

const HOSTILE_MESSAGE = {
  page: 'The answer is no page of a catalogue',
  json: 'The answer is not JSON',
  back: 'The pages of the catalogue lead back to where they came from',
  long: 'The answer is longer than 134217728 bytes',
}

const report: string[] = []
afterAll(() => {
  if (FULL) process.stderr.write(`${report.join('\n')}\n`)
})

/** A folder with a copy of a good service. */
async function makeCopy() {
  const mahi = new Installation()
  const good = await serve((response) => send(response, JSON.stringify(GOOD)))
  const folder = join(mahi.folder, 'copy')
  await mirror(good, folder)
  return { mahi, folder, copy: () => mahi.read('copy/occupations.ndjson') }
}

async function mirror(url: string, folder: string): Promise<void> {
  await mirrorOccupations({ url, folder, fetchPage: createSource(url, undefined) })
}

/** Mirrors another service into such a folder, by the command. */
async function mirrorAfter(url: string) {
  const { mahi, copy } = await makeCopy()
  const before = copy()
  const { code, stdout, stderr, peak } = await runMeasured(mahi, ['mirror', url, 'copy'])
  expect([code, stdout, stderr.includes('should not have happened')]).toEqual([1, '', false])
  expect(copy()).toBe(before)
  return { stderr: stderr.replace(url, 'URL'), peak }
}

describe('an answer without end ends a mirror, and leaves the copy', () => {
  test.each([
    [
      'as it is',
      (response: ServerResponse) => Readable.from(repeated(' ', BYTES, '{"data":["', '"]}')).pipe(response),
    ],
    [
      'packed',
      (response: ServerResponse) => {
        response.setHeader('content-encoding', 'gzip')
        void pipeline(packed(repeated('x', BYTES, '{"data":["', '"]}')), response).catch(() => undefined)
      },
    ],
    [
      'packed, as a problem',
      (response: ServerResponse) => {
        response.statusCode = 400
        response.setHeader('content-encoding', 'gzip')
        void pipeline(packed(repeated('x', BYTES, '{"title":"', '"}')), response).catch(() => undefined)
      },
    ],
  ])('%s', { timeout: 300_000 }, async (name, answer) => {
    const begun = performance.now()
    const { stderr, peak } = await mirrorAfter(await serve(answer))
    report.push(
      `mirror, endless, ${name}: ${Math.round(peak / 1e6)} MB, ${((performance.now() - begun) / 1000).toFixed(1)} s`,
    )
    expect(stderr).toBe(`URL: ${HOSTILE_MESSAGE.long}\n`)
    expect(peak).toBeLessThan(MOST)
  })
})

test('whatever else a service may answer ends a mirror, and leaves the copy', {
  timeout: 120_000,
}, async () => {
  const page = (data: unknown, more: object = {}) => JSON.stringify({ totalCount: 1, data, ...more })
  const answers: [string, string][] = [
    ['<html>', HOSTILE_MESSAGE.json],
    ['null', HOSTILE_MESSAGE.json],
    ['"text"', HOSTILE_MESSAGE.json],
    [`${'['.repeat(100_000)}`, HOSTILE_MESSAGE.json],
    [page(1), HOSTILE_MESSAGE.page],
    [page('text'), HOSTILE_MESSAGE.page],
    [page({ length: 1e9 }), HOSTILE_MESSAGE.page],
    [page([null]), HOSTILE_MESSAGE.page],
    [page([[]]), HOSTILE_MESSAGE.page],
    [page([{ lastUpdatedDate: '2026-01-01T00:00:00.000Z' }]), HOSTILE_MESSAGE.page],
    [page([record('A', { occupationCode: 5 })]), HOSTILE_MESSAGE.page],
    [page([record('A', { lastUpdatedDate: 'now' })]), HOSTILE_MESSAGE.page],
    [page([record('A', { lastUpdatedDate: '2026-99-01T00:00:00.000Z' })]), HOSTILE_MESSAGE.page],
    [page([record('A', { minorGroups: 'x' })]), HOSTILE_MESSAGE.page],
    [page([record('A', { minorGroups: [{ minorGroup: { code: {} } }] })]), HOSTILE_MESSAGE.page],
    [page([record('B'), record('A')]), HOSTILE_MESSAGE.page],
    [page([record('A'), record('A')]), HOSTILE_MESSAGE.page],
    [page([record('A')], { totalCount: 1e308 }), HOSTILE_MESSAGE.page],
    [page([record('A')], { totalCount: '1' }), HOSTILE_MESSAGE.page],
    [page([record('A')], { nextCursor: 1 }), HOSTILE_MESSAGE.page],
    [page([record('A')], { nextCursor: 'A' }), HOSTILE_MESSAGE.page],
    [page([], { nextCursor: 'A' }), HOSTILE_MESSAGE.back],
  ]
  const { folder, copy } = await makeCopy()
  const before = copy()
  for (const [body, message] of answers) {
    const url = await serve((response) => send(response, body))
    const failure = await mirror(url, folder).catch((error: unknown) => error)
    expect([body.slice(0, 100), failure]).toEqual([body.slice(0, 100), expect.any(MahiError)])
    expect([body.slice(0, 100), (failure as MahiError).message]).toEqual([body.slice(0, 100), message])
    expect(copy()).toBe(before)
  }
})

test('what a service says of itself does nothing to a terminal, and is not endless', async () => {
  const title = `\u001b[2J\u009b1m\r\nmahi: all is well${'x'.repeat(100_000)}`
  const url = await serve((response) => {
    response.statusCode = 400
    response.end(JSON.stringify({ title }))
  })
  const { stderr } = await mirrorAfter(url)
  expect(stderr).toMatch(/^URL: {2}\[2J 1m mahi: all is wellx+…\n/)
  expect(stderr.length).toBeLessThan(700)
})

test('names that every object has are mirrored as they are, and refused by an import', async () => {
  const mahi = new Installation()
  const text = `{"occupationCode":"A","__proto__":{"titleEnglish":"polluted"},"constructor":1,"lastUpdatedDate":"2026-01-01T00:00:00.000Z"}`
  const url = await serve((response) => send(response, `{"totalCount":1,"data":[${text}]}`))
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

test('a copy that was damaged is fetched anew, and so is what a first run left behind', async () => {
  const { mahi, folder, copy } = await makeCopy()
  const url = await serve((response) => send(response, JSON.stringify(GOOD)))
  await mirror(url, folder)
  const whole = copy()

  // What a file may hold whose blocks did not reach the disk.
  for (const damaged of [
    `${whole}\0\0\0\0\n`,
    `${'\0'.repeat(4096)}\n`,
    '{"occupationCode":1}\n',
    'null\n',
  ]) {
    mahi.write('copy/occupations.ndjson', damaged)
    await expect(checkMirror({ url, folder, fetchPage: createSource(url, undefined) })).rejects.toThrow(
      /copy\/occupations\.ndjson:[13]: is damaged: fetch everything anew with --full$/,
    )
    await mirror(url, folder)
    expect(copy()).toBe(whole)

    const other = new Installation()
    other.write('copy/occupations.ndjson.part', damaged)
    other.write('copy/mirror.part.json', JSON.stringify({ url, revision: '1' }))
    other.write('copy/mirror.lock', '')
    await mirror(url, join(other.folder, 'copy'))
    expect(other.read('copy/occupations.ndjson')).toBe(whole)
  }
  mahi.write('copy/mirror.json', '\0\0\0')
  expect(await mahi.run(['mirror', url, 'copy'])).toMatchObject({ code: 0 })
  expect(copy()).toBe(whole)
})

describe('findings of a service that is none', () => {
  const fetchFrom = async (body: string) => {
    const url = await serve((response) => send(response, body))
    const mahi = new Installation()
    const outcome = await mahi.run([
      'results',
      'fetch',
      url,
      'a-token',
      '--eid',
      '1001',
      '--format',
      'ndjson',
    ])
    return { ...outcome, stderr: outcome.stderr.replace(url, 'URL') }
  }

  test.each([
    [{ results: 1, totalCount: 1 }, 'The answer lacks the entries that its total count tells of'],
    [{ results: 'text', totalCount: 1 }, 'The answer lacks the entries that its total count tells of'],
    [{ results: [], totalCount: 1e308 }, 'The answer lacks the entries that its total count tells of'],
    [{ results: [null], totalCount: 1 }, 'The answer holds something that is no entry'],
    [{ results: [] }, 'The answer lacks an ETag or a total count'],
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
