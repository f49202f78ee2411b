import { compare, type Run } from '../compare.ts'
import { PAGE, prepareDatabase, prepareSchema, startMahi } from '../mahi.ts'
import { PEER_DEPTH, PEER_RECORDS, peersInstalled, startPeers } from '../peers/compare.ts'

/** The first page with the total, and the page 100,000 records in, beside what people would use instead. */
export async function benchPeers(run: Run): Promise<void> {
  if (!peersInstalled || run.postgres === undefined) {
    process.stdout.write('SKIPPED: peers: run npm install --prefix bench/peers, and name --postgres URL\n')
    return
  }
  const sqlite = `sqlite:${run.folder}occupations-${PEER_RECORDS}.db`
  const postgres = await prepareSchema(run.postgres, `mahi_bench_${PEER_RECORDS}`)
  const [onSqlite, onPostgres] = [
    await prepareDatabase(sqlite, { records: PEER_RECORDS }),
    await prepareDatabase(postgres, { records: PEER_RECORDS }),
  ]
  const mahi = [
    { contender: await startMahi(sqlite, 'Mahi, everything on'), key: onSqlite.key },
    {
      contender: await startMahi(postgres, 'Mahi, PostgreSQL, no page cache', { PAGE_CACHE_MB: '0' }),
      key: onPostgres.key,
    },
  ]
  const peers = await startPeers(run.postgres, run.folder)
  const deep = `${PAGE}&Cursor=O${String(PEER_DEPTH).padStart(7, '0')}`
  for (const [name, path, page] of [
    ['first page of 20 with the total', PAGE, 'first'],
    [`page of 20 at a depth of ${PEER_DEPTH.toLocaleString('en')}`, deep, 'deep'],
  ] as const) {
    await compare(run, 'peers', name, [
      ...mahi.map(({ contender, key }) => ({ contender, load: { path, headers: { 'X-API-Key': key } } })),
      ...peers.map((peer) => ({ contender: peer.contender, load: { path: peer[page] } })),
    ])
  }
  await Promise.all([...mahi, ...peers].map(({ contender }) => contender.stop()))
}
