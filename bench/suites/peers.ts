import { compare, type Run } from '../compare.ts'
import { PAGE, prepareDatabase, prepareSchema, startMahi } from '../mahi.ts'
import { peersInstalled, preparePeers } from '../peers/compare.ts'

/** What somebody would use instead: the first page of a small catalogue, and a page far into a large one. */
export async function benchPeers(run: Run): Promise<void> {
  if (!peersInstalled || run.postgres === undefined) {
    process.stdout.write('SKIPPED: peers: run npm install --prefix bench/peers, and name --postgres URL\n')
    return
  }
  await benchPage(run, run.postgres, 'first page of 20 with the total', 1_000, 0)
  await benchPage(run, run.postgres, 'page of 20 at a depth of 100,000', 110_000, 100_000)
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
  const path = `${PAGE}&Cursor=O${String(depth).padStart(7, '0')}`
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
  // One at a time: some go on with what their callers no longer wait for.
  for (const { start, page } of await preparePeers(address, run.folder, records)) {
    const contender = await start()
    await compare(run, 'peers', name, [{ contender, load: { path: page(depth) } }])
    await contender.stop()
  }
}
