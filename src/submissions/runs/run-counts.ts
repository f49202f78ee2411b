import type { Reader, Writer } from '../../foundation/database/database.ts'

/** How a validation can end. */
const ENDINGS = ['Processed', 'Halted', 'Cancelled', 'UnknownError'] as const
export type Ending = (typeof ENDINGS)[number]

/** Upper bounds of the buckets of durations, in milliseconds. */
const BOUNDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600].map((seconds) => seconds * 1000)

/** The bucket above the largest bound. */
const ABOVE = 0

/**
 * Counts a validation that has ended, in the transaction that ends it. Call it last: transactions of all submissions
 * wait for each other from here on.
 */
export async function countEnding(writer: Writer, run: number, status: Ending): Promise<void> {
  const row = await writer.get<{ started: number | null; completed: number | null }>(
    'select started, completed from submission_run where run = $1',
    [run],
  )
  const { started = null, completed = null } = row ?? {}
  // One that was cancelled in the queue has not taken any time.
  const milliseconds = started === null || completed === null ? 0 : Math.max(0, completed - started)
  const bound = BOUNDS.find((each) => milliseconds <= each) ?? ABOVE
  await writer.run(
    `insert into run_count (status, bound, total, milliseconds) values ($1, $2, 1, $3)
     on conflict (status, bound) do update
       set total = run_count.total + 1, milliseconds = run_count.milliseconds + excluded.milliseconds`,
    [status, bound, milliseconds],
  )
}

/** The number and the durations of the validations that ended in one way. */
export interface EndingCount {
  readonly total: number
  readonly seconds: number
  /** The number of those up to each bound in seconds, ascending. */
  readonly upTo: readonly (readonly [bound: number, total: number])[]
}

/** How validations have ended so far; every ending is there from the start. */
export async function countEndings(reader: Reader): Promise<Record<Ending, EndingCount>> {
  const rows = await reader.all<{ status: string; bound: number; total: number; milliseconds: number }>(
    'select status, bound, total, milliseconds from run_count',
  )
  const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0)
  const describe = (status: Ending): EndingCount => {
    const own = rows.filter((row) => row.status === status)
    const upTo = (most: number) =>
      sum(own.filter(({ bound }) => bound !== ABOVE && bound <= most).map(({ total }) => total))
    return {
      total: sum(own.map(({ total }) => total)),
      seconds: sum(own.map(({ milliseconds }) => milliseconds)) / 1000,
      upTo: BOUNDS.map((bound) => [bound / 1000, upTo(bound)] as const),
    }
  }
  return Object.fromEntries(ENDINGS.map((status) => [status, describe(status)])) as Record<
    Ending,
    EndingCount
  >
}
