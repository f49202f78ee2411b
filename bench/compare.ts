import { type Contender, type Load, type Measurement, measure, median } from './measure.ts'

/** One contender in one case: medians over the rounds. */
export interface Row {
  readonly suite: string
  readonly case: string
  readonly contender: string
  readonly requestsPerSecond: number
  readonly spread: readonly [number, number]
  readonly p99: number
  /** Microseconds of the server's processor time. */
  readonly cpuPerRequest: number
  /** Of the floor, in the same round: by requests a second, and by processor time a request. */
  readonly ratio: number
  readonly cpuRatio: number
  readonly peakMemory: number
  readonly errors: number
}

/** A figure that is not of requests. */
export interface Figure {
  readonly suite: string
  readonly figure: string
  readonly values: Readonly<Record<string, string | number>>
}

export interface Entry {
  readonly contender: Contender
  readonly label?: string
  readonly load: Omit<Load, 'seconds' | 'connections'>
}

/** What the suites of a run share: how long and how often they measure, and where the figures go. */
export interface Run {
  readonly quick: boolean
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  /** Where databases are kept between runs, with a slash at its end. */
  readonly folder: string
  /** A PostgreSQL in which databases and schemas may be made. */
  readonly postgres: string | undefined
  /** The unpacked O*NET release and the file of the wages. */
  readonly onet: { readonly folder: string; readonly wages: string } | undefined
  readonly rows: Row[]
  readonly figures: Figure[]
}

/** How long a process is driven before it is measured for the first time, in seconds: its compiler takes so long. */
const WARM_UP = 3
const warm = new WeakSet<Contender>()

/** Runs contenders in turn, round after round; the first is the floor of the others. */
export async function compare(
  run: Run,
  suite: string,
  name: string,
  entries: readonly Entry[],
): Promise<void> {
  const warmUp = run.quick ? 0 : WARM_UP
  conclude(run, suite, name, entries, await drive(run, run.rounds, warmUp, entries))
}

/** Most rounds for which one process is driven, where every few rounds have new ones. */
const ROUNDS_PER_PROCESS = 2

/**
 * Likewise, with new processes every other round, for figures that lie close together: two processes of one program
 * may differ by a tenth for as long as they live.
 */
export async function compareAnew(
  run: Run,
  suite: string,
  name: string,
  start: () => Promise<Entry[]>,
): Promise<void> {
  let entries: Entry[] = []
  const results: Measurement[][] = []
  for (let left = run.rounds; left > 0; left -= ROUNDS_PER_PROCESS) {
    entries = await start()
    const more = await drive(run, Math.min(left, ROUNDS_PER_PROCESS), WARM_UP, entries)
    for (const [index, measurements] of more.entries())
      results[index] = [...(results[index] ?? []), ...measurements]
    await Promise.all(entries.map(({ contender }) => contender.stop()))
  }
  conclude(run, suite, name, entries, results)
}

/**
 * Answers what was measured of each entry, round by round.
 *
 * @param warmUp how long a process is driven before anything else, in seconds
 */
async function drive(
  run: Run,
  rounds: number,
  warmUp: number,
  entries: readonly Entry[],
): Promise<Measurement[][]> {
  const results = entries.map((): Measurement[] => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { contender, load }] of entries.entries()) {
      const { connections } = run
      const seconds = warm.has(contender) ? run.seconds : Math.max(run.seconds, warmUp)
      warm.add(contender)
      const result = await measure(contender, { ...load, seconds, connections })
      // The first round warms up: caches and connections.
      if (round > 0) results[index]?.push(result)
    }
  }
  return results
}

/** Keeps the medians of what was measured, and prints them. */
function conclude(
  run: Run,
  suite: string,
  name: string,
  entries: readonly Entry[],
  results: readonly (readonly Measurement[])[],
): void {
  const floor = results[0] ?? []
  for (const [index, { contender, label }] of entries.entries()) {
    const own = results[index] ?? []
    const rates = own.map(({ requestsPerSecond }) => requestsPerSecond)
    const row: Row = {
      suite,
      case: name,
      contender: label ?? contender.name,
      requestsPerSecond: median(rates),
      spread: [Math.min(...rates), Math.max(...rates)],
      p99: median(own.map(({ p99 }) => p99)),
      cpuPerRequest: median(own.map(({ cpuPerRequest }) => cpuPerRequest)),
      ratio: median(
        own.map((each, round) => each.requestsPerSecond / (floor[round]?.requestsPerSecond ?? Number.NaN)),
      ),
      cpuRatio: median(
        own.map((each, round) => (floor[round]?.cpuPerRequest ?? Number.NaN) / each.cpuPerRequest),
      ),
      peakMemory: Math.max(...own.map((each) => each.peakMemory)),
      errors: own.reduce((sum, { errors }) => sum + errors, 0),
    }
    run.rows.push(row)
    print(row, index > 0)
  }
}

function print(row: Row, hasFloor: boolean): void {
  const [middle, least, most] = [row.requestsPerSecond, ...row.spread].map((rate) =>
    Math.round(rate).toLocaleString('en').padStart(7),
  )
  process.stdout.write(
    `${row.case.padEnd(44)} ${row.contender.padEnd(26)} ${middle}/s (${least} to ${most})` +
      `  p99 ${row.p99.toFixed(1).padStart(6)} ms  ${row.cpuPerRequest.toFixed(0).padStart(6)} µs` +
      `${hasFloor ? `  ${row.ratio.toFixed(2)} of the floor (${row.cpuRatio.toFixed(2)} by processor time)` : ''}` +
      `${row.errors === 0 ? '' : `  ${row.errors} ERRORS`}\n`,
  )
}

/** Keeps a figure and prints it. */
export function report(run: Run, figure: Figure): void {
  run.figures.push(figure)
  process.stdout.write(`${figure.figure}: ${JSON.stringify(figure.values)}\n`)
}
