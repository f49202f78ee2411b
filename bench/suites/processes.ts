import { type Run, report } from '../compare.ts'
import { PAGE, prepareDatabase, startMahi } from '../mahi.ts'
import { type Measurement, measure, median } from '../measure.ts'

/**
 * Two processes on one database against one. The load generator takes a part of the two cores, so the figure is of
 * pages that are read anew each time, beside which that part is small; and by processor time it is left out.
 */
export async function benchProcesses(run: Run): Promise<void> {
  const url = `sqlite:${run.folder}occupations-1000.db`
  const { key } = await prepareDatabase(url, { records: 1_000 })
  const [one, two] = await Promise.all([
    startMahi(url, 'one', { PAGE_CACHE_MB: '0' }),
    startMahi(url, 'two', { PAGE_CACHE_MB: '0' }),
  ])
  const { seconds, connections } = run
  const load = { path: PAGE, headers: { 'X-API-Key': key }, seconds, connections }
  const byRate: number[] = []
  const byProcessor: number[] = []
  for (let round = 0; round <= run.rounds; round++) {
    const alone = await measure(one, load)
    const half = { ...load, connections: connections / 2 }
    const pair = await Promise.all([measure(one, half), measure(two, half)])
    if (round === 0) continue
    byRate.push(rateOf(pair) / alone.requestsPerSecond)
    byProcessor.push((2 * alone.cpuPerRequest) / costOf(pair))
  }
  report(run, {
    suite: 'processes',
    figure: 'two processes against one, pages read from SQLite',
    values: {
      'by requests a second': median(byRate),
      'twice the cost of a request in one process, of its cost in two': median(byProcessor),
    },
  })
  await Promise.all([one.stop(), two.stop()])
}

function rateOf(pair: readonly Measurement[]): number {
  return pair.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0)
}

/** Processor time a request, over both. */
function costOf(pair: readonly Measurement[]): number {
  return (
    pair.reduce((sum, { requestsPerSecond, cpuPerRequest }) => sum + requestsPerSecond * cpuPerRequest, 0) /
    rateOf(pair)
  )
}
