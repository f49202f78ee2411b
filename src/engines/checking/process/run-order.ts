import { UserError } from '../../../foundation/faults/user-error.ts'
import { runInChild } from '../../../foundation/jobs/child.ts'
import { DiskFull, type Limits } from './limits.ts'
import type { Report } from './report.ts'
import { assertWithin, describeEnd } from './watch.ts'

export interface OrderOptions {
  /** The folder of the temporary files. */
  readonly folder: string
  /** The folder whose size is limited; by default, that of the temporary files. */
  readonly output?: string
  readonly limits: Limits
  /** In milliseconds of `performance.now()`. */
  readonly deadline: number
  readonly signal: AbortSignal | undefined
}

/**
 * Lets a child process, which calls `serveOrder`, carry out one order with the limits of a check.
 *
 * @param entry the first module of the process, from `entryOf`
 * @throws {DiskFull}
 * @throws {CheckFailed} if a limit is exceeded
 * @throws {UserError} with the faults that the process reports
 * @throws the reason of the signal if it is aborted
 */
export async function runOrder<Result>(
  entry: string,
  order: object,
  { folder, output = folder, limits, deadline, signal }: OrderOptions,
): Promise<Result> {
  return await runInChild<Report<Result>, Result>({
    entry,
    memoryBytes: limits.memoryBytes,
    environment: { TMPDIR: folder, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    advanced: true,
    signal,
    order: async () => order,
    onMessage(report, { resolve, reject }) {
      switch (report.kind) {
        case 'done':
          return resolve(report.result)
        case 'refused':
          return reject(new UserError(report.faults))
        case 'disk':
          return reject(new DiskFull())
      }
    },
    watch: (pid) => assertWithin(pid, output, limits, deadline),
    onEnd: (end, { reject }) => reject(describeEnd(end, limits)),
  })
}
