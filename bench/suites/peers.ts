import { compare, type Entry, type Run } from '../compare.ts'
import { codeOf, PAGE, prepareDatabase, prepareSchema, startMahi } from '../mahi.ts'
import type { Contender } from '../measure.ts'
import { isInstalled, preparePeers } from '../peers/peers.ts'

/** What somebody would use instead: the first page of a small catalogue, and a page far into a large one. */
export async function benchPeers(run: Run): Promise<void> {
  if (!isInstalled() || run.postgres === undefined) {
    process.stdout.write('SKIPPED: peers: run npm install --prefix bench/peers, and name --postgres URL\n')
    return
  }
  await benchPage(run, run.postgres, 'first page of 20 with the total', 1_000, 0)
  const depth = run.quick ? 5_000 : 100_000
  const name = `page of 20 at a depth of ${depth.toLocaleString('en')}`
  await benchPage(run, run.postgres, name, depth + depth / 10, depth)
}

async function benchPage(
  run: Run,
  address: string,
  name: string,
  records: number,
  depth: number,
): Promise<void> {
  const sqlite = `sqlite:${run.folder}occupations-${records}.db`
  const postgres = await prepareSchema(address, `mahi_bench_${records}`)
  const keys = [
    (await prepareDatabase(sqlite, { records })).key,
    (await prepareDatabase(postgres, { records })).key,
  ]
  const mahi = [
    await startMahi(sqlite, 'Mahi, everything on'),
    await startMahi(postgres, 'Mahi, PostgreSQL, no page cache', { PAGE_CACHE_MB: '0' }),
  ]
  const path = `${PAGE}&Cursor=${codeOf(depth)}`
  // Apart, because queries of the peers go on in the database after their callers have gone.
  await compare(
    run,
    'peers',
    name,
    mahi.map((contender, index) => ({
      contender,
      load: { path, headers: { 'X-API-Key': keys[index] ?? '' } },
    })),
  )
  await Promise.all(mahi.map((contender) => contender.stop()))
  // Far into a catalogue some take seconds to answer all who ask at once.
  const seconds = Math.max(run.seconds, depth < 100_000 ? 2 : 6)
  const atLength = { ...run, seconds, rounds: Math.min(run.rounds, 2) }
  // One at a time: some go on with what their callers no longer wait for.
  for (const { start, page } of await preparePeers(address, run.folder, records)) {
    const contender = await start()
    await assertPage(contender, page(depth), depth)
    await compare(atLength, 'peers', name, [{ contender, load: page(depth) }])
    await contender.stop()
  }
}

/** @throws {Error} unless the answer holds the first and the last record of the page */
async function assertPage(
  { name, url }: Contender,
  { path, headers = {} }: Entry['load'],
  depth: number,
): Promise<void> {
  const response = await fetch(url + path, { headers })
  const text = await response.text()
  for (const record of [depth, depth + 19]) {
    const code = codeOf(record)
    if (!text.includes(code)) throw new Error(`${name} has no ${code} in its page: ${text.slice(0, 300)}`)
  }
}
