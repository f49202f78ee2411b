import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { PROBLEMS } from '../../src/api/request/problems.ts'
import { CADDYFILE, hasCaddy, runCaddy, startCaddy } from '../support/caddy.ts'
import { Installation, until } from '../support/command.ts'
import { listenOn } from '../support/connection.ts'
import { ROOT, readRepositoryFile } from '../support/deploy.ts'
import { ask } from '../support/load.ts'
import { Service } from '../support/service.ts'

const caddyfile = readRepositoryFile('deploy/Caddyfile')

test('the proxy polls a health check that the service has', async () => {
  const [, path = ''] = /^\s*health_uri (\S+)$/m.exec(caddyfile) ?? []
  const service = await Service.start()
  expect((await service.request({ url: path })).statusCode).toBe(200)
})

test('the proxy closes idle connections before the service does', async () => {
  const [, seconds] = /^\s*keepalive (\d+)s$/m.exec(caddyfile) ?? []
  const service = await Service.start()
  expect(Number(seconds) * 1000).toBeLessThan(service.app.server.timeout)
})

describe.skipIf(!hasCaddy)('the proxy itself', () => {
  test.each(['http://', 'mahi.example.nz'])('accepts the Caddyfile for %s', (SITE_ADDRESS) => {
    const { status, stdout } = runCaddy(['validate', '--config', CADDYFILE, '--adapter', 'caddyfile'], {
      SITE_ADDRESS,
      REPLICAS: '127.0.0.1:1 127.0.0.1:2 127.0.0.1:3',
    })
    expect(stdout).toContain('Valid configuration')
    expect(status).toBe(0)
    expect(runCaddy(['fmt', CADDYFILE]).stdout).toBe(caddyfile)
  })

  test('passes responses through unchanged', async () => {
    const { url } = await new Installation({ inProcesses: true }).serve({ OCCUPATIONS_ACCESS: 'public' })
    const proxy = await startCaddy([new URL(url).host])
    const headers = { 'accept-encoding': 'br' }
    const direct = await ask(`${url}/v1/occupations?Limit=1`, headers)
    const through = await ask(`${proxy}/v1/occupations?Limit=1`, headers)

    expect(through.status).toBe(200)
    expect(through.body).toBe(direct.body)
    // It adds nothing that identifies it, and without TLS no HSTS (RFC 6797, section 7.2).
    const without = ['date', 'x-request-id', 'connection', 'keep-alive', 'ratelimit']
    const shared = ({ headers }: typeof direct) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !without.includes(name)))
    expect(shared(through)).toEqual(shared(direct))
    const none = await ask(`${proxy}/v1/occupations?Limit=0`)
    expect(none.status).toBe(400)
    expect(JSON.parse(none.body)).toMatchObject({ type: '/problems/invalid-parameters' })
  })

  test('with TLS it sends HSTS, and does not redirect plain HTTP', () => {
    const { status, stdout } = runCaddy(['adapt', '--config', CADDYFILE, '--adapter', 'caddyfile'], {
      SITE_ADDRESS: 'mahi.example.nz',
      REPLICAS: '127.0.0.1:1',
    })
    expect(status).toBe(0)
    expect(stdout).toContain('"Strict-Transport-Security":["max-age=31536000; includeSubDomains"]')
    expect(stdout).toContain('"disable_redirects":true')
  })

  test("passes the callers' real addresses to the service, whatever they claim", async () => {
    const { url } = await new Installation({ inProcesses: true }).serve({
      TRUST_PROXY: '127.0.0.1',
      RATE_LIMIT_FAILED_CREDENTIALS: '1/3600',
    })
    const proxy = await startCaddy([new URL(url).host])
    const askAs = async (at: string, address: string) =>
      (await ask(`${at}/v1/occupations`, { 'x-forwarded-for': address })).status

    expect([await askAs(url, '192.0.2.1'), await askAs(url, '192.0.2.2')]).toEqual([401, 401])
    expect([await askAs(proxy, '192.0.2.3'), await askAs(proxy, '192.0.2.4')]).toEqual([401, 429])
  })

  test("reports that no replica is available in the service's own format", async () => {
    const proxy = await startCaddy(['127.0.0.1:1'])
    const { status, headers, body } = await ask(`${proxy}/v1/occupations`)
    expect(status).toBe(503)
    expect(headers).not.toHaveProperty('server')
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'retry-after': '1',
      'cache-control': 'no-store',
    })
    const problem = JSON.parse(body)
    expect(problem).toEqual({
      type: '/problems/unavailable',
      title: PROBLEMS.unavailable.title,
      status: 503,
      detail: 'No replica answers.',
      instance: `urn:uuid:${headers['x-request-id']}`,
    })
  })

  test('leads each organisation to its own replicas, even while those of others are down', async () => {
    const file = `${ROOT}deploy/Caddyfile.organisations`
    expect(runCaddy(['fmt', file]).stdout).toBe(readRepositoryFile('deploy/Caddyfile.organisations'))
    const homes = ['first', 'second'].map((name) => createServer((_, response) => response.end(name)))
    const [first, second] = await Promise.all(homes.map(async (home) => `127.0.0.1:${await listenOn(home)}`))
    const proxy = await startCaddy([], file, { FIRST_REPLICAS: `${first}`, SECOND_REPLICAS: `${second}` })
    const read = (EID: string) => ask(`${proxy}/v1/submissions`, { EID })
    expect([(await read('1001')).body, (await read('2001')).body]).toEqual(['first', 'second'])
    homes[0]?.close().closeAllConnections()
    await until(async () => (await read('1001')).status >= 500)
    expect((await read('2001')).body).toBe('second')
  })
})
