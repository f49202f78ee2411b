/**
 * Loads a service while its data changes, and judges whether it could go on like this:
 * `node tools/soak/run.ts [--minutes 30] [--engine postgres] [--rate 300] [--small]`.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isEngine, makePlace, type Place } from '../../bench/empty-database.ts'
import { median } from '../../bench/measure.ts'
import { findPostgres } from '../../test/support/find-postgres.ts'
import { findFreePort } from '../../test/support/free-port.ts'
import { whenSearchable } from '../../test/support/when-searchable.ts'
import { MahiProcess } from '../mahi-process.ts'
import { Callers } from './callers.ts'
import { Changes } from './changes.ts'
import { judgeAlways, judgeTrends, type Run, type Window } from './verdict.ts'

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    engine: { type: 'string', default: 'sqlite' },
    /** Requests a second. */
    rate: { type: 'string', default: '300' },
    /** A few seconds, in which no trend is judged. */
    small: { type: 'boolean', default: false },
  },
})
const { small, engine } = flags
if (!isEngine(engine)) throw new Error('--engine must be sqlite or postgres')
const minutes = small ? 0.1 : Number(flags.minutes)
const WINDOWS = small ? 3 : 24
/** Between two rounds of changes, in milliseconds; a window holds a whole number of them. */
const ROUND = 10_000
const SAMPLE = 1_000
const POOL_SIZE = 10
/** Longest wait for the handles of callers who have gone, in milliseconds. */
const SETTLING = 240_000
const SIZES = small
  ? { records: 300, submissions: 3, findings: 1_000 }
  : { records: 2_000, submissions: 4, findings: 5_000 }

const place = await makePlace(engine, engine === 'postgres' ? await findPostgres() : undefined)
const run = await soak(place).finally(() => place.remove())
const findings = [...judgeAlways(run), ...(small ? [] : judgeTrends(run))]
for (const { rule, figure, holds } of findings)
  process.stdout.write(`${holds ? 'holds' : 'FAILS'}  ${rule}: ${figure}\n`)
process.exitCode = findings.every(({ holds }) => holds) ? 0 : 1

async function soak(place: Place): Promise<Run> {
  // Few enough to be full within the first minutes, so that runs and pages go as others come.
  const settings = { PAGE_CACHE_MB: '16', DATABASE_POOL_SIZE: String(POOL_SIZE) }
  const changes = await Changes.begin(place, SIZES)
  const metrics = await findFreePort()
  const server = await MahiProcess.start('serve', {
    environment: {
      ...settings,
      DATABASE_URL: place.serverUrl,
      CONSOLE: 'on',
      METRICS_PORT: String(metrics),
      RATE_LIMIT_OCCUPATIONS: 'off',
      RATE_LIMIT_RESULTS: 'off',
      RATE_LIMIT_ORGANISATION: 'off',
      RATE_LIMIT_FAILED_CREDENTIALS: 'off',
    },
  })
  const worker = await MahiProcess.start('work', {
    environment: { ...settings, DATABASE_URL: place.commandUrl },
  })
  try {
    await whenSearchable(server.url, changes.key)
    const before = server.handles
    const callers = new Callers(server.url, {
      callers: small ? 8 : 24,
      rate: small ? 100 : Number(flags.rate),
      sizes: SIZES,
      key: () => changes.key,
    })
    const length = (minutes * 60_000) / WINDOWS
    const pause = length / Math.max(1, Math.round(length / ROUND))
    const end = performance.now() + minutes * 60_000
    const changing = (async () => {
      for (let next = performance.now(); next < end; next = Math.max(next + pause, performance.now())) {
        await sleep(Math.max(0, next - performance.now()))
        await changes.round(server.url)
      }
    })()
    const windows: Window[] = []
    for (let index = 1; index <= WINDOWS; index++) {
      const until = end - (WINDOWS - index) * length
      windows.push(await watch(server, worker, callers, `http://127.0.0.1:${metrics}/metrics`, until))
    }
    await Promise.all([changing, callers.stop()])
    for (const late = performance.now() + SETTLING; performance.now() < late; await sleep(100))
      if (server.handles <= before + POOL_SIZE) break
    const handles: [number, number] = [before, server.handles]
    const exitCodes = [await server.stop(), await worker.stop()]
    const errors = [...server.warnings, ...worker.warnings].filter((line) =>
      /^\{"level":"(?:error|fatal)"/.test(line),
    )
    return {
      poolSize: POOL_SIZE,
      windows,
      responses: callers.responses,
      turnedAway: callers.turnedAway,
      done: changes.done,
      failures: [...callers.unexpected, ...changes.failures, ...errors],
      handles,
      exitCodes,
    }
  } finally {
    await Promise.all([server.stop(), worker.stop()])
  }
}

/** Samples until a time, prints what it has sampled and returns it. */
async function watch(
  server: MahiProcess,
  worker: MahiProcess,
  callers: Callers,
  metrics: string,
  until: number,
): Promise<Window> {
  const samples: { memory: number; heap: number; handles: number; connections: number; worker: number }[] = []
  do {
    const text = await (await fetch(metrics)).text()
    const heap = Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1])
    const connections = (await place.countConnections()) ?? 0
    const { memory, handles } = server
    samples.push({ memory, heap, handles, connections, worker: worker.memory })
    await sleep(Math.max(1, Math.min(SAMPLE, until - performance.now())))
  } while (performance.now() < until)
  await place.tidy()
  const times = callers.take().sort((one, other) => one - other)
  const all = (name: keyof (typeof samples)[number]) => samples.map((sample) => sample[name])
  const { database, log = 0 } = await place.measure()
  const window = {
    requests: times.length,
    p99: times[Math.floor(0.99 * times.length)] ?? Number.NaN,
    memory: median(all('memory')),
    heap: Math.min(...all('heap')),
    handles: median(all('handles')),
    worker: median(all('worker')),
    connections: Math.max(...all('connections')),
    database: database + log,
  }
  const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`
  process.stdout.write(
    `${window.requests} requests, p99 ${window.p99.toFixed(1)} ms, memory ${mb(window.memory)}, heap ${mb(window.heap)}, worker ${mb(window.worker)}, ${window.handles} handles, database ${mb(window.database)}\n`,
  )
  return window
}
