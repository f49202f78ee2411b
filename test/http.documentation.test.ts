import { brotliDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { PROBLEMS } from '../src/api/request/problems.ts'
import { until } from './support/command.ts'
import { Connection, exchange, listen } from './support/connection.ts'
import { Service } from './support/service.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

test('/ redirects people to the console or the reference, and shows programs where to go', async () => {
  const service = await Service.start({ CONSOLE: 'on' })
  const people = await service.request({ url: '/', headers: { accept: BROWSER } })
  expect([people.statusCode, people.headers.location]).toEqual([302, '/console'])
  const without = await Service.start()
  const elsewhere = await without.request({ url: '/', headers: { accept: BROWSER } })
  expect([elsewhere.statusCode, elsewhere.headers.location]).toEqual([302, '/docs'])
  expect(people.headers.vary).toBe('accept')
  for (const accept of [undefined, '*/*', 'application/json']) {
    const program = await service.request({ url: '/', headers: accept === undefined ? {} : { accept } })
    expect(program.statusCode).toBe(200)
    for (const path of ['documentation', 'openapi', 'problems'])
      expect((await service.request({ url: program.json()[path] })).statusCode).toBe(200)
    // A process that has had no turn for a second is not ready.
    const { health } = program.json()
    await until(async () => (await service.request({ url: health })).statusCode === 200)
  }
})

test('the reference and the OpenAPI document are compressed and have validators', async () => {
  const service = await Service.start()
  for (const url of ['/openapi.json', '/docs', '/docs/static/swagger-ui.css', '/docs/static/swagger-ui.js']) {
    const plain = await service.request({ url })
    expect([url, plain.statusCode, plain.headers.vary]).toEqual([url, 200, 'accept-encoding'])
    for (const round of [1, 2]) {
      const { headers, rawPayload } = await service.request({ url, headers: { 'accept-encoding': 'br' } })
      expect(headers.etag).toBe(plain.headers.etag)
      // The page itself is small: it loads the rest.
      if (url === '/docs') continue
      expect([url, round, headers['content-encoding']]).toEqual([url, round, 'br'])
      expect(brotliDecompressSync(rawPayload).equals(plain.rawPayload)).toBe(true)
      expect(rawPayload.length).toBeLessThan(plain.rawPayload.length)
    }
    const fresh = await service.request({ url, headers: { 'if-none-match': String(plain.headers.etag) } })
    expect([url, fresh.statusCode, fresh.rawPayload.length]).toEqual([url, 304, 0])
  }
})

test('/problems lists every kind of problem, to people and to programs', async () => {
  const service = await Service.start()
  const { problems } = (await service.request({ url: '/problems' })).json()
  expect(problems.map(({ type }: { type: string }) => type)).toEqual(
    Object.keys(PROBLEMS).map((slug) => `/problems/${slug}`),
  )
  const page = await service.request({ url: '/problems', headers: { accept: BROWSER } })
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  for (const slug of Object.keys(PROBLEMS)) expect(page.body).toContain(`href="/problems/${slug}"`)
})

test('the key of the demo is filled in only for a browser on the same machine', async () => {
  const demo = { key: 'the-key-of-the-demo', eid: '9999', token: 'sample' }
  const service = await Service.start({}, undefined, { demo })
  const port = await listen(service)
  const ask = async (headers: Record<string, string>) => {
    const lines = Object.entries({ host: `localhost:${port}`, ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    )
    return await exchange(service, `GET /docs HTTP/1.1\r\n${lines.join('')}\r\n`)
  }
  for (const headers of [{}, { host: `127.0.0.1:${port}` }, { 'sec-fetch-site': 'none' }]) {
    const { body, headers: received } = await ask(headers)
    expect([headers, body.includes(demo.key)]).toEqual([headers, true])
    expect(received['cache-control']).toBe('no-store')
  }
  for (const headers of [
    { host: 'mahi.example' },
    { origin: 'https://mahi.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'x-forwarded-for': '192.0.2.1' },
    { forwarded: 'for=192.0.2.1' },
  ]) {
    expect([headers, (await ask(headers)).body.includes(demo.key)]).toEqual([headers, false])
  }
  const other = await Service.start()
  await Connection.open(other)
  expect((await exchange(other, 'GET /docs HTTP/1.1\r\nhost: localhost\r\n\r\n')).body).not.toContain(
    'data-demo',
  )
})
