import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { ask, Installation, until } from '../support/command.ts'
import { findFreePort } from '../support/free-port.ts'

const CLEAN = fileURLToPath(new URL('../../samples/sdr/clean/', import.meta.url))

type Values = { key: string; value: { stringValue?: string; intValue?: number } }[]

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: Values
  readonly status: { code: number }
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
}

interface Export {
  readonly resourceSpans: {
    resource: { attributes: Values }
    scopeSpans: { spans: Span[] }[]
  }[]
}

const read = (values: Values) =>
  Object.fromEntries(values.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

/** A collector of traces; `respond` replaces its response. */
async function startCollector(respond: RequestListener = (_request, response) => void response.end('{}')) {
  const bodies: string[] = []
  const paths: (string | undefined)[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      bodies.push(body)
      paths.push(request.url)
      respond(request, response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    },
    bodies,
    paths,
    spans: () =>
      bodies.flatMap((body) =>
        (JSON.parse(body) as Export).resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    resources: () =>
      bodies.flatMap((body) =>
        (JSON.parse(body) as Export).resourceSpans.map(({ resource }) => read(resource.attributes)),
      ),
  }
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

test('each request has a span under that of its caller, and database calls have spans under it', async () => {
  const collector = await startCollector()
  const mahi = new Installation()
  const { command, url } = await mahi.serve({
    ...collector.environment,
    OCCUPATIONS_ACCESS: 'public',
    OTEL_SERVICE_NAME: 'careers',
  })
  const results = '/v1/submissions/a-secret-token/validation-results?page=77001'
  const headers = { 'x-api-key': 'a-secret-key', eid: '88002', tracestate: 'a=secret' }
  const traceparent = `00-${TRACE}-${PARENT}-01`
  const page = '/v1/occupations?Filter.MajorGroupCode=secret'
  expect((await ask(`${url}${page}`, { traceparent })).status).toBe(200)
  // A page that is requested again is kept: the third time, it is in memory.
  expect((await ask(`${url}${page}`)).status).toBe(200)
  expect((await ask(`${url}${page}`, { traceparent: 'invalid' })).status).toBe(200)
  expect((await ask(`${url}${results}`, { ...headers, traceparent })).status).toBe(401)
  expect((await ask(`${url}/secret`)).status).toBe(404)
  expect((await ask(`${url}/livez`, { traceparent: `00-${TRACE}-${PARENT}-00` })).status).toBe(200)
  command.kill('SIGTERM')
  expect(await command.ended).toMatchObject({ code: 0 })

  const spans = collector.spans()
  expect(new Set(collector.paths)).toEqual(new Set(['/v1/traces']))
  for (const resource of collector.resources())
    expect(resource).toMatchObject({ 'service.name': 'careers', 'service.version': expect.any(String) })
  const describe = (status: number, route?: string) => ({
    'http.request.method': 'GET',
    'http.response.status_code': status,
    'url.scheme': 'http',
    ...(route !== undefined && { 'http.route': route }),
  })
  const requests = spans.filter(({ kind }) => kind === 2)
  expect(requests.map(({ name, attributes }) => [name, read(attributes)])).toEqual([
    ['GET /v1/occupations', describe(200, '/v1/occupations')],
    ['GET /v1/occupations', describe(200, '/v1/occupations')],
    ['GET /v1/occupations', describe(200, '/v1/occupations')],
    [
      'GET /v1/submissions/:submissionToken/validation-results',
      describe(401, '/v1/submissions/:submissionToken/validation-results'),
    ],
    ['GET', describe(404)],
  ])
  const [first, , fromMemory, refused] = requests
  const under = { traceId: TRACE, parentSpanId: PARENT }
  expect([first, refused]).toMatchObject([under, under])
  expect(fromMemory?.traceId).not.toBe(TRACE)
  expect(fromMemory?.parentSpanId ?? '').toBe('')

  const reads = spans.filter(({ name }) => name === 'read')
  expect(reads.map(({ parentSpanId }) => parentSpanId)).toContain(first?.spanId)
  expect(reads.map(({ parentSpanId }) => parentSpanId)).not.toContain(fromMemory?.spanId)
  for (const { kind, attributes, traceId } of reads.filter(
    ({ parentSpanId }) => parentSpanId === first?.spanId,
  ))
    expect([kind, read(attributes), traceId]).toEqual([3, { 'db.system.name': 'sqlite' }, TRACE])
  const parents = new Set(requests.map(({ spanId }) => spanId))
  for (const { parentSpanId = '' } of spans.filter(({ kind }) => kind !== 2))
    expect(parents).toContain(parentSpanId)
  expect(collector.bodies.join()).not.toMatch(/secret|77001|88002|127\.0\.0\.1|MajorGroup/)
})

test('a job of a worker is a trace that is linked to its request, and is counted and logged', async () => {
  const collector = await startCollector()
  const mahi = new Installation()
  const scopes = ['validation-results:read', 'submissions:write'] as const
  const key = await mahi.createKey({ scopes, eids: ['9'] })
  const port = await findFreePort()
  const { url, command } = await mahi.serve({ ...collector.environment, METRICS_PORT: `${port}` })
  const client = createClient({ baseUrl: url, apiKey: key, eid: '9' })
  const { submissionToken: token = '' } = await client.submissions.create({ returnId: '202512' })
  for (const name of readdirSync(CLEAN).filter((each) => each.endsWith('.csv')))
    await client.submissions.putFile(token, name.replace('.csv', ''), readFileSync(CLEAN + name, 'utf8'))
  const { runId = 0 } = await client.submissions.validate(token)
  const worker = mahi.start(['work'], { environment: collector.environment })
  expect(await client.submissions.waitForRun(token, runId)).toMatchObject({ status: 'Processed' })
  const metrics = (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).split('\n')
  for (const series of [
    'mahi_runs_total{status="Processed"} 1',
    'mahi_runs_total{status="Halted"} 0',
    'mahi_run_duration_seconds_bucket{le="3600",status="Processed"} 1',
    'mahi_run_duration_seconds_bucket{le="+Inf",status="Processed"} 1',
    'mahi_run_duration_seconds_count{status="UnknownError"} 0',
  ])
    expect(metrics).toContain(series)
  for (const process of [worker, command]) {
    process.kill('SIGTERM')
    expect(await process.ended).toMatchObject({ code: 0 })
  }

  const spans = collector.spans()
  const request = spans.find(({ name }) => name.startsWith('POST ') && name.endsWith('/validation-runs'))
  const logged = linesOf((await command.ended).stdout).find(({ operation }) => operation === 'request-run')
  const lines = linesOf((await worker.ended).stdout).filter((line) => line.job === 'run')
  expect(lines).toEqual([
    {
      level: 'info',
      time: expect.any(String),
      job: 'run',
      outcome: 'done',
      attempt: 1,
      waited: expect.any(Number),
      ms: expect.any(Number),
      request: logged?.id,
      trace: request?.traceId,
      run: expect.any(Number),
      status: 'Processed',
      findings: 0,
      msg: 'an attempt at a job has ended',
    },
  ])
  const job = spans.find(({ name }) => name === 'job run')
  expect(read(job?.attributes ?? [])).toEqual({ 'mahi.job.attempt': 1 })
  expect(job?.links).toMatchObject([{ traceId: request?.traceId, spanId: request?.spanId }])
  const own = spans.filter(({ parentSpanId }) => parentSpanId === job?.spanId).map(({ name }) => name)
  expect(new Set(own)).toEqual(new Set(['read', 'write', 'validate']))
  expect(collector.bodies.join()).not.toContain(token)
})

test('a collector that fails is logged once, and one that hangs delays neither responses nor the stop', async () => {
  const failing = await startCollector((_request, response) => void response.writeHead(400).end())
  const first = await new Installation().serve(failing.environment)
  // A full batch is exported at once, the rest when the process stops.
  for (let batch = 0; batch < 12; batch++)
    await Promise.all(
      Array.from({ length: 50 }, async () => await (await fetch(`${first.url}/livez`)).text()),
    )
  await until(() => (failing.bodies.length > 0 ? true : undefined))
  first.command.kill('SIGTERM')
  const { code, stdout } = await first.command.ended
  expect(code).toBe(0)
  expect(failing.bodies.length).toBeGreaterThan(1)
  expect(stdout.match(/traces could not be exported/g)).toHaveLength(1)

  const hanging = await startCollector(() => undefined)
  const second = await new Installation().serve(hanging.environment)
  expect((await ask(`${second.url}/livez`)).status).toBe(200)
  second.command.kill('SIGTERM')
  // A stop that takes longer than its deadline ends with status 1.
  expect(await second.command.ended).toMatchObject({ code: 0 })
  expect(hanging.bodies).toHaveLength(1)
})

test('while traces are off, OpenTelemetry is not loaded, except for the API that prom-client requires', async () => {
  const collector = await startCollector()
  const mahi = new Installation()
  const hooks = `import { registerHooks } from 'node:module'
    registerHooks({
      load(url, context, next) {
        if (/@opentelemetry[/](?!api[/])|traces[.][jt]s/.test(url)) process.stderr.write('LOADED ' + url + '\\n')
        return next(url, context)
      },
    })`
  mahi.write('hooks.mjs', hooks)
  const load = async (environment: Record<string, string>) => {
    const { command } = await mahi.serve({
      NODE_OPTIONS: `--import=${mahi.folder}/hooks.mjs`,
      WORKERS: '1',
      ...environment,
    })
    await command.output(/the worker is ready/)
    command.kill('SIGTERM')
    return (await command.ended).stderr.match(/LOADED/g) ?? []
  }
  expect(await load({})).toHaveLength(0)
  expect((await load(collector.environment)).length).toBeGreaterThan(0)
})
