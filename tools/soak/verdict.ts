import { median } from '../../bench/measure.ts'

/** What was measured in one of the windows, all of the same length, into which a run is divided. Sizes are in bytes. */
export interface Window {
  readonly requests: number
  /** The 99th percentile of the response times, in milliseconds. */
  readonly p99: number
  readonly memory: number
  /** The least that was sampled: garbage is not what grows. */
  readonly heap: number
  readonly handles: number
  readonly worker: number
  readonly connections: number | undefined
  readonly database: number
}

export interface Run {
  readonly poolSize: number
  readonly windows: readonly Window[]
  readonly responses: number
  readonly turnedAway: number
  /** Commands, returns and sessions that ended well. */
  readonly done: Readonly<Record<string, number>>
  /** Responses with a wrong status, failed commands, and lines of level `error` and above in the logs. */
  readonly failures: readonly string[]
  /** Open handles before the first caller, and after the last had gone. */
  readonly handles: readonly [before: number, after: number]
  readonly exitCodes: readonly (number | null)[]
}

export interface Finding {
  readonly rule: string
  readonly figure: string
  readonly holds: boolean
}

const MB = 2 ** 20

/** What must hold however short a run is, and however busy the machine. */
export function judgeAlways({
  poolSize,
  windows,
  responses,
  done,
  failures,
  handles,
  exitCodes,
}: Run): Finding[] {
  const connections = Math.max(...windows.map((each) => each.connections ?? 0))
  const [before, after] = handles
  return [
    {
      rule: 'responses, commands, returns, sessions and logs are as they should be',
      figure: [`${responses} responses`, JSON.stringify(done), ...failures.slice(0, 5)].join('; '),
      holds: failures.length === 0 && responses > 0,
    },
    {
      rule: 'connections to PostgreSQL are at most the pool, one to follow changes and one to index the catalogue',
      figure: `${connections}, pool ${poolSize}`,
      holds: connections <= poolSize + 2,
    },
    {
      rule: 'once the callers have gone, only the pool is left of their handles',
      figure: `${before} before, ${after} after`,
      holds: after <= before + poolSize,
    },
    {
      rule: 'server and worker stop in order',
      figure: `exit status ${exitCodes.join(' and ')}`,
      holds: exitCodes.every((code) => code === 0),
    },
  ]
}

/** Values that must level off, with the growth that is allowed beside a tenth, and the unit in which they are shown. */
const LEVELS: readonly [name: string, of: (window: Window) => number, slack: number, unit: number][] = [
  ['memory in MB', ({ memory }) => memory, 16 * MB, MB],
  ["the worker's memory in MB", ({ worker }) => worker, 16 * MB, MB],
  ['heap in MB', ({ heap }) => heap, 8 * MB, MB],
  ['the number of handles', ({ handles }) => handles, 8, 1],
  ['the database in MB', ({ database }) => database, 16 * MB, MB],
]

/** Whether it could go on like this, over the last two thirds of the run: caches fill and code is compiled before. */
export function judgeTrends({ windows, turnedAway, responses }: Run): Finding[] {
  const late = windows.slice(Math.floor(windows.length / 3))
  const levels = LEVELS.map(([name, of, slack, unit]) => {
    const values = late.map(of)
    const [middle, growth] = [median(values), grow(values)]
    return {
      rule: `${name} levels off: it grows by at most a tenth or ${slack / unit}`,
      figure: `${(middle / unit).toFixed(1)}, grown by ${(growth / unit).toFixed(1)}`,
      holds: growth <= Math.max(0.1 * middle, slack),
    }
  })
  // The first windows warm up. The end may be slower than the start by what windows of the start differ.
  const times = windows.slice(2).map(({ p99 }) => p99)
  const quarter = Math.max(1, Math.floor(times.length / 4))
  const start = times.slice(0, quarter)
  const [first, last, highest] = [median(start), median(times.slice(-quarter)), Math.max(...start)]
  return [
    ...levels,
    {
      rule: 'the 99th percentile of the last quarter is at most 1.25 of that of the first, or of its slowest window',
      figure: `${first.toFixed(1)} ms, at most ${highest.toFixed(1)} ms, then ${last.toFixed(1)} ms`,
      holds: last <= Math.max(1.25 * first, highest),
    },
    {
      rule: 'at most one response in a hundred is 503',
      figure: `${turnedAway} of ${responses}`,
      holds: turnedAway <= 0.01 * responses,
    },
  ]
}

/** The growth from the first to the last value by the Theil-Sen line: the median of the slopes between all pairs. */
function grow(values: readonly number[]): number {
  const slopes = values.flatMap((value, index) =>
    values.slice(index + 1).map((later, distance) => (later - value) / (distance + 1)),
  )
  return slopes.length === 0 ? 0 : median(slopes) * (values.length - 1)
}
