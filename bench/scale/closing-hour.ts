// What a return costs from its upload to its last page of findings, for docs/scale.md.
import type { Client } from '../../client/src/index.ts'
import { median } from '../measure.ts'
import { Place, waitFor } from '../submissions/place.ts'
import { processorTime } from './processor-time.ts'

/** Processor time in seconds of one return. */
interface ReturnCost {
  readonly server: number
  readonly worker: number
  /** `undefined` with SQLite, which works inside the other two. */
  readonly database: number | undefined
}

export interface ClosingHour {
  readonly cost: ReturnCost
  /** Returns that are uploaded, checked and read in a second by one worker and by two, all on this machine. */
  readonly rates: readonly [number, number]
}

/**
 * Lets every organisation send a return at once, wait for its run and read every page of its findings.
 *
 * @param files the folder of the five files
 * @param postmaster the process of PostgreSQL
 */
export async function measureClosingHour(
  url: string,
  files: string,
  organisations: number,
  rounds: number,
  postmaster?: number,
): Promise<ClosingHour> {
  const place = await Place.start(url, organisations)
  try {
    const rates: [number[], number[]] = [[], []]
    const costs: ReturnCost[] = []
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      for (const [index, workers] of [1, 2].entries()) {
        await place.startWorkers(workers)
        const pids = place.workers
        const read = () => [
          processorTime(place.server.pid),
          pids.reduce((sum, pid) => sum + processorTime(pid), 0),
          postmaster === undefined ? 0 : processorTime(postmaster, true),
        ]
        const before = read()
        const begun = performance.now()
        await Promise.all(place.clients.map((client) => sendReturn(place, client, files)))
        const seconds = (performance.now() - begun) / 1000
        const used = read().map((each, part) => (each - (before[part] ?? 0)) / organisations)
        await place.stopWorkers()
        if (round === 0) continue
        rates[index]?.push(organisations / seconds)
        const [server = 0, worker = 0, database = 0] = used
        costs.push({ server, worker, database: postmaster === undefined ? undefined : database })
      }
    }
    const middle = (of: (cost: ReturnCost) => number) => median(costs.map(of))
    return {
      cost: {
        server: middle((cost) => cost.server),
        worker: middle((cost) => cost.worker),
        database: postmaster === undefined ? undefined : middle((cost) => cost.database ?? 0),
      },
      rates: [median(rates[0]), median(rates[1])],
    }
  } finally {
    await place.stop()
  }
}

async function sendReturn(place: Place, client: Client, files: string): Promise<void> {
  const token = await place.upload(client, files)
  await waitFor(await place.request(client, token))
  for await (const _ of client.validationResults.all(token, { pageSize: 1000 }));
}
