import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, makePlace, type Place } from '../../bench/empty-database.ts'
import { median } from '../../bench/measure.ts'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import { Callers } from './callers.ts'
import { Changes, type Sizes } from './changes.ts'
import { SoakedServer } from './server.ts'
import type { Run, Window } from './verdict.ts'
import { Visits } from './visits.ts'
import { SoakedWorker } from './worker.ts'

export interface SoakOptions {
  readonly engine: Engine
  /** A PostgreSQL in which a schema may be made. */
  readonly postgres: string | undefined
  readonly minutes: number
  readonly callers?: number
  /** Requests a second that the callers aim at. */
  readonly rate?: number
  readonly sizes?: Sizes
  readonly onWindow?: (window: Window) => void
}

const WINDOWS = 24
/** Between two rounds of changes, in milliseconds; a window holds a whole number of them. */
const ROUND = 10_000
const SAMPLE = 1_000
const POOL_SIZE = 10
/** Little enough to be full within the first minute, so that pages go as others come. */
const PAGE_CACHE_MB = 16
/** Few enough to be kept within the first minutes, so that runs go as others come. */
const RUNS_KEPT = '2'
/** Longest wait for the handles of callers who have gone, in milliseconds. */
const SETTLING = 20_000

/**
 * Runs `mahi serve` and `mahi work` under a mixed load, with imports, publishes, new keys, returns that are sent and
 * checked, and sessions of the console all the time, and tells what was seen.
 */
export async function soak(options: SoakOptions): Promise<Run> {
  const place = await makePlace(options.engine, options.postgres)
  try {
    return await soakIn(place, options)
  } finally {
    await place.remove()
  }
}

async function soakIn(place: Place, options: SoakOptions): Promise<Run> {
  const { engine, minutes, callers: count = 24, rate = 300, onWindow } = options
  const sizes = options.sizes ?? { records: 2_000, submissions: 20, findings: 5_000 }
  const changes = await Changes.begin(place, sizes, { RUNS_KEPT })
  const server = await SoakedServer.start({
    DATABASE_URL: place.serverUrl,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    PAGE_CACHE_MB: String(PAGE_CACHE_MB),
    CONSOLE: 'on',
    WORKERS: '0',
    RUNS_KEPT,
  })
  const worker = new SoakedWorker({ DATABASE_URL: place.commandUrl, RUNS_KEPT })
  try {
    await (await fetch(`${server.url}/readyz`)).text()
    const visits = await Visits.begin(server.url, place.commandUrl)
    await whenSearchable(server.url, changes.key)
    const handlesBefore = server.handles
    const callers = new Callers(server.url, { callers: count, rate, sizes, key: () => changes.key })

    const length = (minutes * 60_000) / WINDOWS
    const pause = length / Math.max(1, Math.round(length / ROUND))
    const end = performance.now() + minutes * 60_000
    const changing = (async () => {
      for (let next = performance.now(); next < end; next = Math.max(next + pause, performance.now())) {
        await sleep(Math.max(0, next - performance.now()))
        await Promise.all([changes.round(), visits.round()])
      }
    })()

    const windows: Window[] = []
    for (let index = 1; index <= WINDOWS; index++) {
      const until = end - (WINDOWS - index) * length
      const seen = await watch(server, worker, place, callers, until, (index * length) / 60_000)
      windows.push(seen)
      onWindow?.(seen)
    }
    await Promise.all([changing, callers.stop()])
    const { answered, turnedAway, unexpected } = callers
    const handlesAfter = await settle(() => server.handles, handlesBefore + POOL_SIZE)
    return {
      engine,
      minutes,
      poolSize: POOL_SIZE,
      windows,
      answered,
      turnedAway,
      unexpected,
      commands: { ...changes.done, ...visits.done },
      commandFailures: [...changes.failures, ...visits.failures],
      logFaults: [...server.faults, ...worker.faults],
      handlesBefore,
      handlesAfter,
      exitCodes: [await server.stop(), await worker.stop()],
    }
  } finally {
    await Promise.all([server.stop(), worker.stop()])
  }
}

/** Samples until a time, and returns what it has sampled. */
async function watch(
  server: SoakedServer,
  worker: SoakedWorker,
  place: Place,
  callers: Callers,
  until: number,
  minute: number,
): Promise<Window> {
  const samples: Record<
    'memory' | 'resident' | 'heap' | 'pages' | 'handles' | 'connections' | 'worker',
    number
  >[] = []
  do {
    const [{ heap, pages }, connections = 0] = await Promise.all([server.metrics(), place.countConnections()])
    const { memory, resident, handles } = server
    samples.push({ memory, resident, heap, pages, handles, connections, worker: worker.memory })
    await sleep(Math.max(1, Math.min(SAMPLE, until - performance.now())))
  } while (performance.now() < until)
  await place.tidy()
  const times = callers.take().sort((one, other) => one - other)
  const at = (part: number) => times[Math.floor(part * times.length)] ?? Number.NaN
  const all = (name: keyof (typeof samples)[number]) => samples.map((sample) => sample[name])
  return {
    minute,
    requests: times.length,
    p50: at(0.5),
    p99: at(0.99),
    memory: median(all('memory')),
    resident: median(all('resident')),
    heap: Math.min(...all('heap')),
    pages: median(all('pages')),
    handles: median(all('handles')),
    worker: median(all('worker')),
    connections: (await place.countConnections()) === undefined ? undefined : Math.max(...all('connections')),
    ...(await place.measure()),
  }
}

/** Reads until it is down to what it may be, or to its last value in time. */
async function settle(read: () => number, most: number): Promise<number> {
  const deadline = performance.now() + SETTLING
  while (read() > most && performance.now() < deadline) await sleep(100)
  return read()
}
