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

interface Page {
  next?: string
  delta?: string
  totalCount: number
  revision: number
  digest?: string
  changes: { change: string; occupationCode: string; record?: Record<string, unknown> }[]
  resultsCount: number
}

/** What a proxy makes of a response: of a page of changes, or of any body. */
type Lie = {
  readonly page?: (page: Page, seen: Page[]) => void
  readonly body?: (body: Buffer, path: string, headers: Record<string, string>) => Buffer
}

const removeFirst = (page: Page) => {
  page.changes.shift()
  page.resultsCount = page.changes.length
}
const change = (page: Page, edit: (record: Record<string, unknown>) => void) => {
  for (const { record } of page.changes) if (record !== undefined) edit(record)
}
const isPage = (path: string) => path.includes('/changes')

const LIES: Readonly<Record<string, Lie>> = {
  'omits an update, with corrected counts': { page: removeFirst },
  'orders fields by name': {
    page: (page) =>
      change(page, (record) => {
        const sorted = Object.entries(record).sort()
        for (const [name] of sorted) Reflect.deleteProperty(record, name)
        Object.assign(record, Object.fromEntries(sorted))
      }),
  },
  'reports an update as a removal': {
    page: (page) => {
      const found = page.changes.find((each) => each.change === 'updated')
      if (found === undefined) return
      found.change = 'removed'
      delete found.record
    },
  },
  'swaps next for the token of an earlier page': {
    page: (page, seen) => {
      const [first] = seen
      if (page.next !== undefined && first?.next !== undefined) page.next = first.next
    },
  },
  'ends after the first page with its token': {
    page: (page) => {
      if (page.next === undefined) return
      page.delta = page.next
      delete page.next
    },
  },
  'changes the total': {
    page: (page) => {
      page.totalCount++
    },
  },
  'decodes UTF-8 as Windows-1252': {
    body: (body, path) => (isPage(path) ? Buffer.from(new TextDecoder('windows-1252').decode(body)) : body),
  },
  'cuts a page short': { body: (body, path) => (isPage(path) ? body.subarray(0, body.length / 2) : body) },
  'removes a line of the snapshot, and counts again': {
    page: removeFirst,
    body: (body, path, headers) => {
      if (isPage(path)) return body
      const lines = body.toString('utf8').split('\n').slice(1)
      headers['total-count'] = String(lines.length - 1)
      return Buffer.from(lines.join('\n'))
    },
  },
  'answers pages with a page of HTML': {
    body: (body, path) => (isPage(path) ? Buffer.from('<html>Please sign in</html>') : body),
  },
}

/** A proxy before a service that can lie. */
async function startProxy() {
  const service = await Service.start({ OCCUPATIONS_LIMIT_MAX: '3' })
  const origin = await service.app.listen({ host: '127.0.0.1', port: 0 })
  let lie: Lie = {}
  let seen: Page[] = []
  const forward = async (path: string, headers: IncomingHttpHeaders) => {
    const passed = Object.entries(headers).filter(([name]) => name.startsWith('x-') || name === 'accept')
    const response = await fetch(origin + path, { headers: passed as [string, string][] })
    let body: Buffer = Buffer.from(await response.arrayBuffer())
    const sent = Object.fromEntries(
      [...response.headers].filter(
        ([name]) => !/^(content-(length|encoding)|connection|transfer)/.test(name),
      ),
    )
    if (response.ok && isPage(path) && lie.page !== undefined) {
      const page = JSON.parse(body.toString('utf8')) as Page
      lie.page(page, seen)
      seen.push(page)
      body = Buffer.from(JSON.stringify(page))
    }
    if (response.ok && lie.body !== undefined) body = lie.body(body, path, sent)
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
      seen = []
    },
    truth: () => exportText(service.database),
  }
}

const record = (number: number, titleEnglish: string) => ({
  occupationCode: `O${number}`,
  titleEnglish,
  titleMaori: 'Nēhi',
})

test('a mirror and a copy behind a lying proxy never differ without a word', async () => {
  const { service, url, tell, truth } = await startProxy()
  await service.import([1, 2, 3, 4, 5, 6].map((number) => record(number, 'First')))
  const folder = temporaryFolder()
  const client = createClient({ baseUrl: url, apiKey: service.key, cachedPages: 0 })
  const mirror = () => mirrorOccupations({ url, folder, occupations: client.occupations })
  await mirror()
  let copied: OccupationCopy = await client.occupations.copy()
  const readMirror = () => readFileSync(join(folder, 'occupations.ndjson'), 'utf8')
  const readCopy = ({ records }: OccupationCopy) =>
    [...records.values()].map((each) => `${JSON.stringify(each)}\n`).join('')

  let round = 0
  for (const [name, lie] of Object.entries(LIES)) {
    round++
    const before = await truth()
    // Two updates, a creation and a removal, on more than one page.
    await service.import(
      [1, 2, 3, 4, 5].map((number) => record(number, `Round ${round}`)).concat(record(100 + round, 'New')),
      { replace: true },
    )
    const after = await truth()
    tell(lie)
    const outcome = await mirror().catch((error: Error) => error)
    expect([name, readMirror()]).toEqual([name, outcome instanceof Error ? before : after])

    const taken = await client.occupations.copy(copied).catch((error: Error) => error)
    if (!(taken instanceof Error)) expect([name, readCopy(taken)]).toEqual([name, after])

    tell({})
    // The next run without a lie is right, whatever was stored.
    await mirror()
    copied = await client.occupations.copy(copied)
    expect([name, readMirror()]).toEqual([name, after])
    expect([name, readCopy(copied)]).toEqual([name, after])
  }
})
