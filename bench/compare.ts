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
  const results = entries.map((): Measurement[] => [])
  for (let round = 0; round <= run.rounds; round++) {
    for (const [index, { contender, load }] of entries.entries()) {
      const { connections } = run
      const seconds = warm.has(contender) || run.quick ? run.seconds : Math.max(run.seconds, WARM_UP)
      warm.add(contender)
      const result = await measure(contender, { ...load, seconds, connections })
      // The first round warms up: caches and connections.
      if (round > 0) results[index]?.push(result)
    }
  }
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
