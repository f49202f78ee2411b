import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { registerHealth } from '../src/api/serving/health.ts'
import { createLog } from '../src/api/telemetry/log.ts'
import { Metrics, serveMetrics } from '../src/api/telemetry/metrics.ts'
import { ResponseLog } from '../src/api/telemetry/response-log.ts'
import { actFor } from '../src/foundation/database/caller.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import type { Life } from '../src/foundation/lifecycle.ts'
import { startServer } from '../src/server.ts'
import { readSettings } from '../src/settings.ts'
import { until, untilHolds } from './support/command.ts'
import { Service } from './support/service.ts'
import { temporaryDatabaseUrl } from './support/temporary.ts'

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
  await untilHolds(async () => expect((await service.request({ url: '/readyz' })).statusCode).toBe(200))
})

test('readyz has a connection of its own: it does not wait for changes that hold all others', async () => {
  const service = await Service.start({}, undefined, { open: (url) => openDatabase(url, { poolSize: 2 }) })
  const gate = Promise.withResolvers<void>()
  let begun = 0
  const changes = Array.from({ length: 6 }, (_, index) =>
    actFor({ caller: `caller ${index}` }, () =>
      service.database.write(`submission:${index}`, async (writer) => {
        begun++
        await writer.get('select name from migration limit 1')
        await gate.promise
      }),
    ),
  )
  await until(() => begun > 0)
  await service.revisions.probe()
  gate.resolve()
  await Promise.all(changes)
  expect(begun).toBe(6)
})

test.each([
  ['the database responds', {}, true],
  ['the database is slow, and has responded within a second', { slow: true, age: 0.9 }, true],
  ['the database has not responded for a second', { slow: true, age: 1.1 }, false],
  ['the process does not know what has changed', { stale: true }, false],
  ['the process stops', { stopping: true }, false],
] as const)('where %s, the process is ready or not', async (_, state, ready) => {
  const { slow, age, stale, stopping } = { slow: false, age: 0, stale: false, stopping: false, ...state }
  const app = Fastify()
  const probe = () => (slow ? new Promise<void>(() => undefined) : Promise.resolve())
  registerHealth(app, { probe, age, stale }, { stopping } as Life)
  await untilHolds(async () => expect((await app.inject('/readyz')).statusCode === 200).toBe(ready))
  expect((await app.inject('/livez')).statusCode).toBe(200)
})

test('a stopping process is alive, not ready, and closes its connections', async () => {
  const server = await startServer(
    readSettings({
      DATABASE_URL: temporaryDatabaseUrl(),
      PORT: '0',
      METRICS_PORT: '0',
      LOG_LEVEL: 'silent',
      OCCUPATIONS_ACCESS: 'public',
    }),
  )
  onTestFinished(() => server.lifecycle.end())
  const ask = async (path: string) => {
    const response = await fetch(server.url + path)
    await response.arrayBuffer()
    return [response.status, response.headers.get('connection')]
  }
  await untilHolds(async () => expect(await ask('/readyz')).toEqual([200, 'keep-alive']))
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
    for (const part of ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"])
      expect(policy).toContain(part)
    expect(policy).not.toContain('unsafe-eval')

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
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    const { status, headers } = response
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    for (const banner of ['server', 'x-powered-by', 'via']) expect(headers.has(banner)).toBe(false)
    return { address, status, type: headers.get('content-type'), body: await response.text() }
  }

  test('are on loopback only, in the Prometheus format', async () => {
    const metrics = new Metrics()
    metrics.count('occupations', 200, 0.0025)
    metrics.count('occupations', 200, 0.004)
    metrics.count('validation-results', 401, 0.001)
    const { address, status, type, body } = await read(metrics)
    expect([address, status]).toEqual(['127.0.0.1', 200])
    expect(type).toContain('text/plain')
    expect(body).toContain('mahi_http_requests_total{operation="occupations",status="200"} 2')
    expect(body).toContain('mahi_http_requests_total{operation="validation-results",status="401"} 1')
    expect(body).toContain('mahi_http_request_duration_seconds_count{operation="occupations"} 2')
    expect(body).toContain('mahi_http_request_duration_seconds_bucket{le="0.001",operation="occupations"} 0')
    expect(body).toContain('mahi_http_request_duration_seconds_bucket{le="0.0025",operation="occupations"} 1')
    expect(body).toContain('mahi_http_request_duration_seconds_bucket{le="+Inf",operation="occupations"} 2')
    expect(body).toContain('process_cpu_seconds_total')
    expect((await read(metrics, '/')).status).toBe(404)
  })

  test('count each response by operation and status, and never by its URL', async () => {
    const metrics = new Metrics()
    const app = Fastify()
    const responses = new ResponseLog(createLog('info', { write: () => undefined }), metrics)
    app.addHook('onResponse', async (request, reply) => responses.recordEnd(request, reply, 'sent'))
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
