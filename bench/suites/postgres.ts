import { compare, type Run } from '../compare.ts'
import {
  EID,
  PAGE,
  pagesOf,
  prepareDatabase,
  prepareSchema,
  script,
  startMahi,
  startProgram,
  TOKEN,
} from '../mahi.ts'
import type { Contender } from '../measure.ts'

/** Pages read from PostgreSQL, nothing kept in memory, beside a handler that runs one query and joins the texts. */
export async function benchPostgres(run: Run): Promise<void> {
  if (run.postgres === undefined) {
    process.stdout.write('SKIPPED: PostgreSQL: name one with --postgres URL\n')
    return
  }
  const sizes = run.quick ? [20_000] : [1_000, 100_000, 1_000_000]
  const findings = run.quick ? 20_000 : 5_000_000
  for (const records of sizes) {
    const isLargest = records === sizes.at(-1)
    const url = await prepareSchema(run.postgres, `mahi_bench_${records}`)
    const { key } = await prepareDatabase(url, { records, findings: isLargest ? findings : 0 })
    const headers = { 'X-API-Key': key, EID }
    const server = await startMahi(url, 'Mahi, no page cache', { PAGE_CACHE_MB: '0' })
    const bare = await startProgram('bare handler', 'bare-postgres.ts', url)
    const catalogue = { records, bare, server, headers }
    await benchAnyPage(run, catalogue)
    if (isLargest) {
      await benchOnePage(run, catalogue)
      await benchResults(run, findings, catalogue)
    }
    await Promise.all([server.stop(), bare.stop()])
  }
}

/** A catalogue in PostgreSQL, and who serves it. */
interface Served {
  readonly records: number
  readonly bare: Contender
  readonly server: Contender
  readonly headers: Readonly<Record<string, string>>
}

/** Mahi reads a page once for all who ask for it at the same moment, so that these callers ask for many pages. */
async function benchAnyPage(run: Run, { records, bare, server, headers }: Served): Promise<void> {
  const any = { path: PAGE, script: script('contenders/any-page.lua'), arguments: [String(records)] }
  await compare(run, 'postgres', `page of 20 from PostgreSQL, ${records.toLocaleString('en')} records`, [
    { contender: bare, label: 'bare handler, any page', load: any },
    { contender: server, label: 'any page', load: { ...any, headers } },
  ])
}

async function benchOnePage(run: Run, { records, bare, server, headers }: Served): Promise<void> {
  const pages = pagesOf(records)
  const name = `one page for 32 callers from PostgreSQL, ${records.toLocaleString('en')} records`
  await compare(run, 'postgres', name, [
    { contender: bare, load: { path: pages[0]?.[1] ?? '' } },
    ...pages.map(([label, path]) => ({ contender: server, label, load: { path, headers } })),
  ])
}

async function benchResults(run: Run, findings: number, { server, headers }: Served): Promise<void> {
  const results = (page: number) => `/v1/submissions/${TOKEN}/validation-results?page=${page}&pageSize=100`
  const last = Math.floor(findings / 100)
  await compare(run, 'postgres', `results page of 100 of ${findings.toLocaleString('en')}, PostgreSQL`, [
    { contender: server, label: 'Mahi, page 1', load: { path: results(1), headers } },
    { contender: server, label: `Mahi, page ${last}`, load: { path: results(last), headers } },
  ])
}
