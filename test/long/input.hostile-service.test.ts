import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { packed, repeated } from '../support/hostile.ts'
import { makeCopy } from '../support/hostile-service.ts'
import { runMeasured } from '../support/measured.ts'

/** The length of a response that is too long, in bytes: more than the 128 MiB that are read. */
const BYTES = process.env.MAHI_TEST_FULL === '1' ? 2 ** 31 : 160_000_000

/** The most memory that a command may take, in bytes: a response that is just not too long is held as text. */
const MOST = 500_000_000

/** A command that reads one response of JSON. */
const RECEIPT = ['submissions', 'receipt', 'a-token', '--url', 'URL', '--eid', '1001']

const sendPacked = (response: ServerResponse, before: string, after: string) => {
  response.setHeader('content-encoding', 'gzip')
  void pipeline(packed(repeated('x', BYTES, before, after)), response).catch(() => undefined)
}

test.each<[name: string, answer: (response: ServerResponse) => void, command: string[], message: string]>([
  [
    'as it is',
    (response) => Readable.from(repeated(' ', BYTES, '{"receipt":["', '"]}')).pipe(response),
    RECEIPT,
    'The response is longer than 134217728 bytes',
  ],
  [
    'packed',
    (response) => sendPacked(response, '{"receipt":["', '"]}'),
    RECEIPT,
    'The response is longer than 134217728 bytes',
  ],
  [
    'packed, as a line of a snapshot',
    (response) => {
      response.setHeader('content-type', 'application/x-ndjson')
      for (const name of ['etag', 'delta-token']) response.setHeader(name, 'x')
      for (const name of ['catalogue-revision', 'total-count']) response.setHeader(name, '9')
      response.setHeader('ndjson-digest', 'sha-256=:x:')
      sendPacked(response, '{"occupationCode":"', '"}')
    },
    ['mirror', 'URL', 'copy'],
    'The last line of the snapshot is incomplete',
  ],
])(
  'an endless response ends a command within its memory, and leaves a copy: %s',
  async (_, answer, command, message) => {
    const { mahi, url, become, copy } = await makeCopy()
    const before = copy()
    become(answer)
    const { code, stdout, stderr, peak } = await runMeasured(
      mahi,
      command.map((each) => (each === 'URL' ? url : each)),
      { environment: { MAHI_API_KEY: 'key' } },
    )
    expect([code, stdout, stderr]).toEqual([1, '', `${url}: ${message}\n`])
    expect(peak).toBeLessThan(MOST)
    expect(copy()).toBe(before)
  },
)
