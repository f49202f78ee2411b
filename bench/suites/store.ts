import { writeFileSync } from 'node:fs'
import { compare, type Run, report } from '../compare.ts'
import {
  EID,
  fetchPage,
  importOnet,
  makeKey,
  PAGE,
  pagesOf,
  prepareDatabase,
  startMahi,
  startProgram,
  TOKEN,
} from '../mahi.ts'
import { median, peakMemory } from '../measure.ts'

/** Pages read from SQLite, by size of the catalogue, place and filter; nothing kept in memory. */
export async function benchStore(run: Run): Promise<void> {
  const sizes = run.quick ? [20_000] : [1_000, 10_000, 100_000, 1_000_000]
  const largest = sizes.at(-1) ?? 0
  const allFindings = run.quick ? 100_000 : 5_000_000
  for (const records of sizes) {
    const url = `sqlite:${run.folder}occupations-${records}.db`
    const findings = records === largest ? allFindings : 0
    const { key } = await prepareDatabase(url, { records, findings })
    const headers = { 'X-API-Key': key, EID }
    await benchStart(run, url, records, headers)

    const server = await startMahi(url, 'Mahi, no page cache', { PAGE_CACHE_MB: '0' })
    const file = `${run.folder}page.${records}`
    writeFileSync(file, Buffer.from(await (await fetchPage(server, PAGE, headers)).arrayBuffer()))
    const fastify = await startProgram('Fastify, one buffer', 'floor-fastify.ts', file)
    const bare = await startProgram('bare handler', 'bare-sqlite.ts', url.slice('sqlite:'.length))
    await compare(run, 'store', `page of 20 from SQLite, ${records.toLocaleString('en')} records`, [
      { contender: fastify, load: { path: PAGE } },
      { contender: bare, load: { path: PAGE } },
      ...pagesOf(records).map(([label, path]) => ({ contender: server, label, load: { path, headers } })),
    ])
    if (findings > 0) {
      const results = (page: number) =>
        `/v1/submissions/${TOKEN}/validation-results?page=${page}&pageSize=100`
      const last = Math.floor(findings / 100)
      const count = findings.toLocaleString('en')
      await compare(run, 'store', `results page of 100 of ${count}, SQLite`, [
        { contender: bare, load: { path: results(1) } },
        { contender: server, label: 'Mahi, page 1', load: { path: results(1), headers } },
        { contender: server, label: `Mahi, page ${last}`, load: { path: results(last), headers } },
      ])
    }
    await Promise.all([server.stop(), fastify.stop(), bare.stop()])
  }
  await benchOnet(run)
}

/** The real catalogue: 1,016 occupations of the O*NET, joined with their pay. */
async function benchOnet(run: Run): Promise<void> {
  if (run.onet === undefined) {
    process.stdout.write(
      'SKIPPED: the O*NET catalogue: name its folder and the wages with --onet and --wages\n',
    )
    return
  }
  const url = `sqlite:${run.folder}onet.db`
  await importOnet(url, run.onet)
  const headers = { 'X-API-Key': (await makeKey(url)).key }
  const kept = await startMahi(url, 'Mahi')
  const read = await startMahi(url, 'Mahi, no page cache', { PAGE_CACHE_MB: '0' })
  const file = `${run.folder}page.onet`
  writeFileSync(file, Buffer.from(await (await fetchPage(kept, PAGE, headers)).arrayBuffer()))
  const fastify = await startProgram('Fastify, one buffer', 'floor-fastify.ts', file)
  await compare(run, 'store', 'page of 20 of the O*NET catalogue', [
    { contender: fastify, load: { path: PAGE } },
    { contender: kept, load: { path: PAGE, headers } },
    { contender: read, load: { path: PAGE, headers } },
  ])
  await Promise.all([kept.stop(), read.stop(), fastify.stop()])
}

async function benchStart(
  run: Run,
  url: string,
  records: number,
  headers: Record<string, string>,
): Promise<void> {
  const seconds: number[] = []
  let memory = 0
  for (let round = 0; round < 3; round++) {
    const started = performance.now()
    const server = await startMahi(url, 'Mahi')
    await fetchPage(server, PAGE, headers)
    seconds.push((performance.now() - started) / 1000)
    memory = peakMemory(server.pid)
    await server.stop()
  }
  report(run, {
    suite: 'store',
    figure: `start to first answer, ${records.toLocaleString('en')} records`,
    values: { seconds: median(seconds), 'memory, MB': memory },
  })
}
