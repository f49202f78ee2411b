import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { createClient } from '../../client/src/index.ts'
import { mirrorOccupations } from '../../src/remote/mirror.ts'
import { Installation } from './command.ts'
import { listenOn } from './connection.ts'

type Answer = (response: ServerResponse, path: string, ifNoneMatch: string | undefined) => void

/** A service that responds to every request in the same way; returns its URL. */
export async function serveHostile(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    response.on('error', () => undefined)
    answer(response, request.url ?? '', request.headers['if-none-match'])
  })
  return `http://127.0.0.1:${await listenOn(server)}`
}

/** Sends text as a snapshot, with the headers of one unless told otherwise. */
export function sendSnapshot(
  response: ServerResponse,
  text: string | Buffer,
  headers: Readonly<Record<string, string | undefined>> = {},
): void {
  const digest = createHash('sha256').update(text).digest('base64')
  const all = {
    'content-type': 'application/x-ndjson',
    etag: 'W/"1-x"',
    'delta-token': 'token',
    'catalogue-revision': '1',
    'total-count': String(String(text).split('\n').length - 1),
    'ndjson-digest': `sha-256=:${digest}:`,
    ...headers,
  }
  for (const [name, value] of Object.entries(all)) if (value !== undefined) response.setHeader(name, value)
  response.end(text)
}

const line = (code: string) =>
  JSON.stringify({ occupationCode: code, lastUpdatedDate: '2026-01-01T00:00:00.000Z' })
export const GOOD = `${line('A')}\n${line('B')}\n`

/** A folder with a copy of a good service, which then becomes another. */
export async function makeCopy() {
  const mahi = new Installation()
  let answer: Answer = (response) => sendSnapshot(response, GOOD)
  const url = await serveHostile((...given) => answer(...given))
  const folder = join(mahi.folder, 'copy')
  const { occupations } = createClient({ baseUrl: url, cachedPages: 0 })
  const mirror = () => mirrorOccupations({ url, folder, occupations })
  await mirror()
  const become = (other: Answer) => {
    answer = other
  }
  return { mahi, folder, url, mirror, become, copy: () => mahi.read('copy/occupations.ndjson') }
}
