import { writeFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { compare, compareAnew, type Run, report } from '../compare.ts'
import { fetchPage, PAGE, prepareDatabase, script, startMahi, startProgram } from '../mahi.ts'
import { ownMemory, peakMemory } from '../measure.ts'

/** Pages that are kept in memory, everything on, beside servers that send the same bytes and do nothing else. */
export async function benchMemory(run: Run): Promise<void> {
  const url = `sqlite:${run.folder}occupations-1000.db`
  const { key } = await prepareDatabase(url, { records: 1_000 })
  const headers = { 'X-API-Key': key }
  const start = () => startMahi(url, 'Mahi')
  const server = await start()
  const response = await fetchPage(server, PAGE, { ...headers, 'accept-encoding': 'identity' })
  const etag = response.headers.get('etag') ?? ''
  const body = Buffer.from(await response.arrayBuffer())
  await server.stop()
  for (const [encoding, bytes] of [
    ['identity', body],
    ['gzip', gzipSync(body, { level: 6 })],
    ['br', brotliCompressSync(body, { params: { 1: 5 } })],
  ] as const) {
    const file = `${run.folder}page.${encoding}`
    writeFileSync(file, bytes)
    const floor = (name: string, program: string) => startProgram(name, program, file, encoding)
    await compareAnew(run, 'memory', `page of 20 from memory, ${encoding}`, async () => [
      { contender: await floor('Fastify, one buffer', 'floor-fastify.ts'), load: { path: PAGE } },
      { contender: await floor('node:http, one buffer', 'floor-http.ts'), load: { path: PAGE } },
      {
        contender: await start(),
        load: { path: PAGE, headers: { ...headers, 'Accept-Encoding': encoding } },
      },
    ])
  }
  await compareAnew(run, 'memory', '304', async () => [
    {
      contender: await startProgram('Fastify, empty 304', 'floor-fastify.ts', '', 'identity', '304'),
      load: { path: PAGE },
    },
    { contender: await start(), load: { path: PAGE, headers: { ...headers, 'If-None-Match': etag } } },
  ])
  await benchPeak(run)
}

/** Memory while every page of 100,000 records is asked for in turn, so that the page cache is always full. */
async function benchPeak(run: Run): Promise<void> {
  const records = run.quick ? 20_000 : 100_000
  const url = `sqlite:${run.folder}occupations-${records}.db`
  const { key } = await prepareDatabase(url, { records })
  const page = `${run.folder}page.identity`
  const fastify = await startProgram('Fastify, one buffer', 'floor-fastify.ts', page)
  const server = await startMahi(url, 'Mahi, 64 MB of pages', { PAGE_CACHE_MB: '64' })
  const atRest = peakMemory(server.pid)
  const script_ = script('contenders/any-page.lua')
  await compare(run, 'memory', 'any page, 64 MB of pages kept', [
    { contender: fastify, load: { path: PAGE, script: script_, arguments: [String(records)] } },
    {
      contender: server,
      load: { path: PAGE, headers: { 'X-API-Key': key }, script: script_, arguments: [String(records)] },
    },
  ])
  report(run, {
    suite: 'memory',
    figure: 'memory, page cache of 64 MB, every page in turn',
    values: {
      'Mahi at rest, MB': atRest,
      'Mahi after it, without the mapped file, MB': ownMemory(server.pid),
      'Mahi at most, with it, MB': peakMemory(server.pid),
      'Fastify, one buffer, at most, MB': peakMemory(fastify.pid),
    },
  })
  await Promise.all([fastify.stop(), server.stop()])
}
