import { type Fault, UserError } from '../../../foundation/faults/user-error.ts'
import { runInChild } from '../../../foundation/jobs/child.ts'
import { DiskFull, type Limits } from './limits.ts'
import { assertWithin, describeEnd } from './watch.ts'

/** The messages from a child process that carries out one order: any number of steps, then how it ended. */
export type Report<Result, Progress = never> =
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] }
  | { readonly kind: 'disk' }

export interface OrderOptions<Progress = never> {
  /** The folder of the temporary files. */
  readonly folder: string
  /** The folder whose size is limited; by default, that of the temporary files. */
  readonly output?: string
  readonly limits: Limits
  /** In milliseconds of `performance.now()`. */
  readonly deadline: number
  readonly signal: AbortSignal | undefined
  /** Environment variables of the process, besides those that every one has. */
  readonly environment?: NodeJS.ProcessEnv
  readonly onProgress?: (progress: Progress) => void
  /** Called some times a second; what it throws ends the process. */
  readonly watch?: () => void
}

/**
 * Lets a child process, which calls `serveOrder`, carry out one order with the limits of a check.
 *
 * @param entry the first module of the process, from `entryOf`
 * @param prepare prepares the order while the process starts
 * @throws {DiskFull}
 * @throws {CheckFailed} if a limit is exceeded
 * @throws {UserError} with the faults that the process reports
 * @throws the reason of the signal if it is aborted, or what `prepare` or `watch` throws
 */
export async function runOrder<Result, Progress = never>(
  entry: string,
  prepare: () => Promise<object>,
  options: OrderOptions<Progress>,
): Promise<Result> {
  const { folder, output = folder, limits, deadline, signal } = options
  return await runInChild<Report<Result, Progress>, Result>({
    entry,
    memoryBytes: limits.memoryBytes,
    environment: {
      TMPDIR: folder,
      // Half of what the process takes to start is compiling.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...options.environment,
    },
    advanced: true,
    signal,
    order: prepare,
    onMessage(report, { resolve, reject }) {
      switch (report.kind) {
        case 'progress':
          return options.onProgress?.(report.progress)
        case 'done':
          return resolve(report.result)
        case 'refused':
          return reject(new UserError(report.faults))
        case 'disk':
          return reject(new DiskFull())
      }
    },
    watch(pid) {
      options.watch?.()
      assertWithin(pid, output, limits, deadline)
    },
    onEnd: (end, { reject }) => reject(describeEnd(end, limits)),
  })
}
