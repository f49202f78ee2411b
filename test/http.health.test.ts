import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { Histogram, Registry } from 'prom-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../src/api/telemetry/log.ts'
import { Metrics, serveMetrics } from '../src/api/telemetry/metrics.ts'
import { ResponseLog } from '../src/api/telemetry/response-log.ts'
import { actFor } from '../src/foundation/database/caller.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { startServer } from '../src/server.ts'
import { readSettings } from '../src/settings.ts'
import { listenOn } from './support/connection.ts'
import { Service } from './support/service.ts'
import { engine, temporaryDatabaseUrl } from './support/temporary.ts'
import { testWhere } from './support/test-where.ts'

test('livez says that the process answers, and needs no key', async () => {
  const service = await Service.start()
  const response = await service.request({ url: '/livez' })
  expect([response.statusCode, response.body]).toEqual([200, '{"status":"alive"}'])
})

test('readyz says whether the database answers a query', async () => {
  const service = await Service.start()
  const ready = await service.request({ url: '/readyz' })
  expect([ready.statusCode, ready.body]).toEqual([200, '{"status":"ready"}'])

  await service.database.write('schema', (writer) => writer.run('drop table migration'))
  const response = await service.request({ url: '/readyz' })
  expect(response.statusCode).toBe(503)
  expect(response.headers['retry-after']).toBe('1')
  expect(response.json()).toMatchObject({
    type: '/problems/unavailable',
    status: 503,
    detail: 'The database does not respond.',
  })
  expect((await service.request({ url: '/livez' })).statusCode).toBe(200)

  await service.database.write('schema', (writer) => writer.run('create table migration (name text)'))
  expect((await service.request({ url: '/readyz' })).statusCode).toBe(200)
})

test('readyz has a connection of its own: it does not wait for changes that hold all others', async () => {
  const service = await Service.start({}, undefined, { open: (url) => openDatabase(url, { poolSize: 2 }) })
  const gate = Promise.withResolvers<void>()
  let begun = 0
  const changes = Array.from({ length: 6 }, (_, index) =>
    actFor(`caller ${index}`, () =>
      service.database.write(`submission:${index}`, async (writer) => {
        begun++
        await writer.get('select name from migration limit 1')
        await gate.promise
      }),
    ),
  )
  await expect.poll(() => begun).toBeGreaterThan(0)
  // A database that has responded within a second counts as there.
  await sleep(1_300)
  const { statusCode } = await service.get('/readyz')
  gate.resolve()
  await Promise.all(changes)
  expect([statusCode, begun]).toEqual([200, 6])
})

testWhere(engine === 'postgres', 'on SQLite: readyz beside a dead standby, which only PostgreSQL has')(
  'readyz does not ask a standby: one that accepts connections and never responds changes nothing',
  { timeout: 30_000 },
  async () => {
    let connections = 0
    const silent = createServer((socket) => {
      connections++
      socket.on('error', () => undefined)
    })
    const port = await listenOn(silent)
    const DATABASE_URL = temporaryDatabaseUrl()
    const standby = new URL(DATABASE_URL)
    standby.host = `127.0.0.1:${port}`
    const server = await startServer(
      readSettings({
        DATABASE_URL,
        DATABASE_READ_URL: standby.toString().replaceAll('+', '%20'),
        PORT: '0',
        METRICS_PORT: '0',
        LOG_LEVEL: 'silent',
        OVERLOAD_DELAY_MS: '0',
      }),
    )
    onTestFinished(() => server.lifecycle.end())
    // It was asked whether it can be used.
    expect(connections).toBeGreaterThan(0)
    const asked = 200
    for (let count = 0; count < asked; count++) {
      const response = await fetch(`${server.url}/readyz`)
      expect([response.status, await response.json()]).toEqual([200, { status: 'ready' }])
    }
    // The service looks after it at intervals, and not for health checks, each of which would have waited seconds.
    expect(connections).toBeLessThan(asked / 4)
  },
)

test('a stopping process is alive, not ready, and closes its connections', async () => {
  const server = await startServer(
    readSettings({
      DATABASE_URL: temporaryDatabaseUrl(),
      PORT: '0',
      METRICS_PORT: '0',
      LOG_LEVEL: 'silent',
      OCCUPATIONS_ACCESS: 'public',
      // On a busy machine the start itself counts as falling behind.
      OVERLOAD_DELAY_MS: '0',
    }),
  )
  onTestFinished(() => server.lifecycle.end())
  const ask = async (path: string) => {
    const response = await fetch(server.url + path)
    await response.arrayBuffer()
    return [response.status, response.headers.get('connection')]
  }
  expect(await ask('/readyz')).toEqual([200, 'keep-alive'])
  server.lifecycle.announce()
  expect(await ask('/readyz')).toEqual([503, 'close'])
  expect(await ask('/livez')).toEqual([200, 'close'])
  expect(await ask('/v1/occupations')).toEqual([200, 'close'])
})

describe('the reference', () => {
  test('docs loads nothing from other hosts, over plain HTTP too', async () => {
    const service = await Service.start()
    const page = await service.request({ url: '/docs' })
    expect(page.statusCode).toBe(200)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).not.toMatch(/https?:|\*|upgrade-insecure-requests|[a-z]\.[a-z]/)
    expect(policy).toContain("default-src 'none'")

    const links = [...page.body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link = '']) => link)
    expect(links.length).toBeGreaterThan(3)
    for (const link of links.filter((each) => each.startsWith('#')))
      expect(page.body).toContain(`id="${link.slice(1)}"`)
    for (const link of links.filter((each) => each !== 'data:,' && !each.startsWith('#'))) {
      expect(link).toMatch(/^\/(?!\/)/)
      expect([link, (await service.request({ url: link })).statusCode]).toEqual([link, 200])
    }
  })
})

describe('the metrics', () => {
  /** What is served on the port of the metrics. */
  async function read(metrics: Metrics, path = '/metrics') {
    const server = await serveMetrics(metrics, 0)
    onTestFinished(() => {
      server.close()
    })
    const { address, port } = server.address() as AddressInfo
    return await new Promise<{ address: string; status: number; type: string; body: string }>(
      (resolve, reject) => {
        get({ host: '127.0.0.1', port, path, agent: false }, async (response) => {
          const { statusCode: status = 0, headers } = response
          resolve({ address, status, type: String(headers['content-type']), body: await text(response) })
        }).on('error', reject)
      },
    )
  }

  test('are on loopback only, in the Prometheus format', async () => {
    const metrics = new Metrics()
    metrics.count('occupations', 200, 0.002)
    metrics.count('occupations', 200, 0.004)
    metrics.count('validation-results', 401, 0.001)
    const { address, status, type, body } = await read(metrics)
    expect([address, status]).toEqual(['127.0.0.1', 200])
    expect(type).toContain('text/plain')
    expect(body).toContain('mahi_http_requests_total{operation="occupations",status="200"} 2')
    expect(body).toContain('mahi_http_requests_total{operation="validation-results",status="401"} 1')
    expect(body).toContain('mahi_http_request_duration_seconds_count{operation="occupations"} 2')
    expect(body).toContain('process_cpu_seconds_total')
    expect((await read(metrics, '/')).status).toBe(404)
  })

  test('report durations like a histogram of prom-client', async () => {
    const metrics = new Metrics()
    const expected = new Histogram({
      name: 'mahi_http_request_duration_seconds',
      help: 'From the arrival of a request to the end of its response.',
      labelNames: ['operation'] as const,
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [],
    })
    for (const [operation, seconds] of [
      ['livez', 0],
      ['occupations', 0.0005],
      ['occupations', 0.000_501],
      ['occupations', 0.3],
      ['occupations', 2.5],
      ['occupations', 2.6],
    ] as const) {
      metrics.count(operation, 200, seconds)
      expected.observe({ operation }, seconds)
    }
    const registry = new Registry()
    registry.registerMetric(expected)
    const { body } = await read(metrics)
    expect(body).toContain(await registry.metrics())
  })

  test('count each response by operation and status, and never by its URL', async () => {
    const metrics = new Metrics()
    const app = Fastify()
    new ResponseLog(createLog('info', { write: () => undefined }), metrics).watch(app)
    app.get('/things/:id', { config: { operation: 'things' } }, async () => 'a thing')
    for (const url of ['/things/1', '/things/2', '/nowhere/secret']) await app.inject(url)
    const { body } = await read(metrics)
    expect(body).toContain('mahi_http_requests_total{operation="things",status="200"} 2')
    expect(body).toContain('mahi_http_requests_total{operation="unknown",status="404"} 1')
    expect(body).not.toContain('secret')
  })

  test('are not on the port of the service', async () => {
    const service = await Service.start()
    expect((await service.request({ url: '/metrics' })).statusCode).toBe(404)
  })
})
