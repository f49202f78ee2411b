import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient, type OccupationCopy } from '../client/src/index.ts'
import { mirrorOccupations } from '../src/remote/mirror.ts'
import { listenOn } from './support/connection.ts'
import { exportText } from './support/opened.ts'
import { Service } from './support/service.ts'
import { temporaryFolder } from './support/temporary.ts'

type Line = Record<string, unknown>

/** What a proxy makes of a snapshot: of its lines, with its count corrected, or of its bytes. */
type Lie = {
  readonly lines?: (lines: Line[]) => Line[]
  readonly body?: (body: Buffer) => Buffer
  readonly headers?: Readonly<Record<string, string>>
}

const LIES: Readonly<Record<string, Lie>> = {
  'omits a record, with a corrected count': { lines: (lines) => lines.slice(1) },
  'omits every record': { lines: () => [] },
  'has another order': { lines: (lines) => lines.toReversed() },
  'decomposes letters': {
    lines: (lines) =>
      lines.map((each) => ({ ...each, titleMaori: String(each.titleMaori).normalize('NFD') })),
  },
  'orders fields by name': {
    lines: (lines) => lines.map((each) => Object.fromEntries(Object.entries(each).sort())),
  },
  'has another count': { headers: { 'total-count': '99' } },
  'has another digest': { headers: { 'ndjson-digest': `sha-256=:${'A'.repeat(43)}=:` } },
  'has no digest': { headers: { 'ndjson-digest': '' } },
  'sends bytes that are not UTF-8': {
    body: (body) => Buffer.from(body.toString('latin1').replace('\u00c4\u0093', '\u00c4\u0020'), 'latin1'),
  },
  'cuts the snapshot short': { body: (body) => body.subarray(0, body.length / 2) },
  'answers with a page of HTML': {
    body: () => Buffer.from('<html>Please sign in</html>'),
    headers: { 'content-type': 'text/html' },
  },
}

/** A proxy before a service that can lie about its snapshot. */
async function startProxy() {
  const service = await Service.start({ OCCUPATIONS_LIMIT_MAX: '3' })
  const origin = await service.app.listen({ host: '127.0.0.1', port: 0 })
  let lie: Lie = {}
  const forward = async (path: string, headers: IncomingHttpHeaders) => {
    const passed = Object.entries(headers).filter(([name]) => /^(?:x-.*|accept|if-none-match)$/.test(name))
    const response = await fetch(origin + path, { headers: passed as [string, string][] })
    let body: Buffer = Buffer.from(await response.arrayBuffer())
    const sent = Object.fromEntries(
      [...response.headers].filter(
        ([name]) => !/^(content-(length|encoding)|connection|transfer)/.test(name),
      ),
    )
    if (response.status === 200 && path.endsWith('/snapshot')) {
      if (lie.lines !== undefined) {
        const lines = lie.lines(
          body
            .toString('utf8')
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line)),
        )
        sent['total-count'] = String(lines.length)
        body = Buffer.from(lines.map((each) => `${JSON.stringify(each)}\n`).join(''))
      }
      body = lie.body?.(body) ?? body
      Object.assign(sent, lie.headers)
    }
    return { status: response.status, sent, body }
  }
  const server = createServer((request, response) => {
    forward(request.url ?? '', request.headers).then(
      ({ status, sent, body }) => response.writeHead(status, sent).end(body),
      () => response.destroy(),
    )
  })
  const port = await listenOn(server)
  return {
    service,
    url: `http://127.0.0.1:${port}`,
    tell: (next: Lie) => {
      lie = next
    },
    truth: () => exportText(service.database),
  }
}

const record = (number: number, titleEnglish: string) => ({
  occupationCode: `O${number}`,
  titleEnglish,
  titleMaori: 'Nēhi',
})

test('a mirror and a copy behind a lying proxy keep what they have', async () => {
  const { service, url, tell, truth } = await startProxy()
  await service.import([1, 2, 3].map((number) => record(number, 'First')))
  const folder = temporaryFolder()
  const client = createClient({ baseUrl: url, apiKey: service.key, cachedPages: 0 })
  const mirror = () => mirrorOccupations({ url, folder, occupations: client.occupations })
  await mirror()
  let copied = await client.occupations.copy()
  const readMirror = () => readFileSync(join(folder, 'occupations.ndjson'), 'utf8')
  const readCopy = ({ records }: OccupationCopy) =>
    [...records.values()].map((each) => `${JSON.stringify(each)}\n`).join('')

  let round = 0
  for (const [name, lie] of Object.entries(LIES)) {
    round++
    const before = await truth()
    await service.import(
      [1, 2, 3].map((number) => record(number, `Round ${round}`)).concat(record(100 + round, 'New')),
      { replace: true },
    )
    tell(lie)
    await expect(mirror(), name).rejects.toThrow()
    expect([name, readMirror()]).toEqual([name, before])
    await expect(client.occupations.copy(copied), name).rejects.toMatchObject({ kind: 'unreadable' })

    tell({})
    const after = await truth()
    await mirror()
    copied = await client.occupations.copy(copied)
    expect([name, readMirror(), readCopy(copied)]).toEqual([name, after, after])
    expect(await client.occupations.copy(copied)).toBe(copied)
  }
})

test('the last page of changes carries the digest of the snapshot, and others none', async () => {
  const { service, url, tell } = await startProxy()
  await service.import([1, 2, 3, 4, 5].map((number) => record(number, 'A title')))
  tell({})
  const { occupations } = createClient({ baseUrl: url, apiKey: service.key })
  const { digest, revision } = await occupations.snapshot()
  const pages = []
  for await (const page of occupations.changePages()) pages.push(page)
  expect(pages.map((page) => page.digest)).toEqual([undefined, digest])
  expect(pages.at(-1)?.revision).toBe(revision)
  expect(await occupations.changes({ since: 'latest' })).toMatchObject({ digest })
})
