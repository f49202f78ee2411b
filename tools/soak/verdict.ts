import type { Engine } from '../../bench/empty-database.ts'
import { median } from '../../bench/measure.ts'

/** What was seen in one of the windows, all of the same length, into which a run is divided. Sizes are in bytes. */
export interface Window {
  readonly minute: number
  readonly requests: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** The middle of what was sampled. */
  readonly memory: number
  readonly resident: number
  /** The least that was sampled: what garbage there was by then is not what grows. */
  readonly heap: number
  /** Finished pages that are kept, which PAGE_CACHE_MB bounds. */
  readonly pages: number
  readonly handles: number
  /** The middle of what was sampled of the worker's memory. */
  readonly worker: number
  /** The most that were sampled. */
  readonly connections: number | undefined
  readonly database: number
  readonly log: number | undefined
}

export interface Run {
  readonly engine: Engine
  readonly minutes: number
  readonly poolSize: number
  readonly windows: readonly Window[]
  readonly answered: number
  readonly turnedAway: number
  readonly unexpected: readonly string[]
  /** Commands, returns and sessions that ended well, and what those said that did not. */
  readonly commands: Readonly<Record<string, number>>
  readonly commandFailures: readonly string[]
  /** Lines of level `error` and above in the logs of the server and the worker. */
  readonly logFaults: readonly string[]
  /** Open handles before the first caller, and after the last had gone. */
  readonly handlesBefore: number
  readonly handlesAfter: number
  /** Of the server and the worker. */
  readonly exitCodes: readonly (number | null)[]
}

export interface Finding {
  readonly rule: string
  readonly figure: string
  readonly holds: boolean
}

const MB = 2 ** 20

/** What must hold however short a run is, and on however busy a machine. */
export function judgeAlways(run: Run): Finding[] {
  const connections = Math.max(...run.windows.map((each) => each.connections ?? 0))
  return [
    finding('every answer has the status that it should have', `${run.answered} answers`, run.unexpected),
    finding('every command, return and session ends well', JSON.stringify(run.commands), run.commandFailures),
    finding('no log has a line of level error or above', `${run.logFaults.length} lines`, run.logFaults),
    ...(run.engine === 'sqlite'
      ? []
      : [
          {
            rule: 'connections to PostgreSQL are never more than the pool, one to follow changes and one to index the catalogue',
            figure: `${connections}, pool ${run.poolSize}`,
            holds: connections <= run.poolSize + 2,
          },
        ]),
    {
      rule: 'once the callers have gone, their handles have too: what is left beyond the start is the pool',
      figure: `${run.handlesBefore} before, ${run.handlesAfter} after`,
      holds: run.handlesAfter <= run.handlesBefore + run.poolSize,
    },
    {
      rule: 'server and worker stop in order',
      figure: `exit status ${run.exitCodes.join(' and ')}`,
      holds: run.exitCodes.every((code) => code === 0),
    },
  ]
}

/**
 * Whether it could go on like this. Growth is that of the Theil-Sen line, the median of the slopes between all pairs
 * of windows, over the last two thirds of the run: the first third is for caches to fill and code to be compiled.
 */
export function judgeTrends(run: Run): Finding[] {
  const { windows } = run
  const late = windows.slice(Math.floor(windows.length / 3))
  const levels = (
    name: string,
    values: readonly number[],
    slack: number,
    unit: number,
    suffix: string,
  ): Finding => {
    const middle = median(values)
    const growth = grow(values)
    const allowed = Math.max(0.1 * middle, slack)
    const show = (value: number) => (value / unit).toFixed(1)
    return {
      rule: `${name} levels off: it grows by at most a tenth or ${show(slack)}${suffix} over the last two thirds`,
      figure: `${show(middle)}${suffix}, grown by ${show(growth)}${suffix}`,
      holds: growth <= allowed,
    }
  }
  return [
    levels(
      'memory',
      late.map(({ memory }) => memory),
      16 * MB,
      MB,
      ' MB',
    ),
    levels(
      "the worker's memory",
      late.map(({ worker }) => worker),
      16 * MB,
      MB,
      ' MB',
    ),
    levels(
      'heap',
      late.map(({ heap }) => heap),
      8 * MB,
      MB,
      ' MB',
    ),
    levels(
      'the number of handles',
      late.map(({ handles }) => handles),
      8,
      1,
      '',
    ),
    levels(
      'the database',
      late.map(({ database, log = 0 }) => database + log),
      16 * MB,
      MB,
      ' MB',
    ),
    judgeSpeed(windows),
    {
      rule: 'at most one answer in a hundred is 503 for want of time',
      figure: `${run.turnedAway} of ${run.answered}`,
      holds: run.turnedAway <= 0.01 * run.answered,
    },
  ]
}

/** The first two windows warm up. The end may be slower than the start by what windows of the start differ. */
function judgeSpeed(windows: readonly Window[]): Finding {
  const times = windows.slice(2).map(({ p99 }) => p99)
  const quarter = Math.max(1, Math.floor(times.length / 4))
  const [start, end] = [times.slice(0, quarter), times.slice(-quarter)]
  const [first, last, highest] = [median(start), median(end), Math.max(...start)]
  return {
    rule: 'the 99th percentile of the last quarter is at most 1.25 of that of the first, or of its slowest window',
    figure: `${first.toFixed(1)} ms (slowest window ${highest.toFixed(1)} ms), then ${last.toFixed(1)} ms`,
    holds: last <= Math.max(1.25 * first, highest),
  }
}

/** By how much values at equal distances grow from the first to the last, of which single ones tell little. */
export function grow(values: readonly number[]): number {
  const slopes = values.flatMap((value, index) =>
    values.slice(index + 1).map((later, distance) => (later - value) / (distance + 1)),
  )
  return slopes.length === 0 ? 0 : median(slopes) * (values.length - 1)
}

function finding(rule: string, figure: string, exceptions: readonly string[]): Finding {
  const some = exceptions.slice(0, 5).join('; ')
  return { rule, figure: some === '' ? figure : `${figure}; not so: ${some}`, holds: exceptions.length === 0 }
}
