import { tmpdir } from 'node:os'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { entryOf, runInChild } from '../../../foundation/jobs/child.ts'
import type { EngineInput, EngineProgress } from '../engine/run.ts'
import type { CheckSummary } from '../engine/summary.ts'
import { DiskFull, type Limits } from './limits.ts'
import type { Answer, Order } from './messages.ts'
import { assertWithin, describeEnd } from './watch.ts'

/** A rule exceeded its time limit. */
export class RuleTooSlow extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the rule ${code} took too long`)
    this.code = code
  }
}

const ENTRY = entryOf('child', import.meta)

export interface ChildOptions {
  /** Folder for the temporary files of the engine. */
  readonly folder: string
  readonly limits: Limits
  /** When the whole check must have ended, in milliseconds of `performance.now()`. */
  readonly deadline: number
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: EngineProgress) => void) | undefined
}

/**
 * Runs the engine in a child process, which never outlives the call. The input is prepared while the process starts.
 *
 * @throws {RuleTooSlow} if a rule exceeds its time
 * @throws {CheckFailed} if the process exceeds another limit or ends without a result
 * @throws the reason of the signal if it is aborted, or what `prepare` throws
 */
export async function runChild(
  prepare: () => Promise<EngineInput>,
  { folder, limits, deadline, signal, onProgress }: ChildOptions,
): Promise<CheckSummary> {
  let rule: { code: string; since: number } | undefined
  return await runInChild<Answer, CheckSummary>({
    entry: ENTRY,
    memoryBytes: limits.memoryBytes,
    // SQLite sorts in this folder. The engine needs no other environment variables.
    environment: {
      SQLITE_TMPDIR: folder,
      TMPDIR: tmpdir(),
      // Half of what the process takes to start is compiling.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    },
    advanced: true,
    signal,
    order: async () => ({ input: await prepare() }) satisfies Order,
    onMessage(answer, { resolve, reject }) {
      switch (answer.kind) {
        case 'progress': {
          const { progress } = answer
          rule = progress.phase === 'rule' ? { code: progress.code, since: performance.now() } : undefined
          return onProgress?.(progress)
        }
        case 'done':
          return resolve(answer.summary)
        case 'refused':
          return reject(new UserError(answer.faults))
        case 'disk':
          return reject(new DiskFull())
      }
    },
    watch(pid) {
      const now = performance.now()
      if (rule !== undefined && now - rule.since > limits.ruleSeconds * 1000) throw new RuleTooSlow(rule.code)
      assertWithin(pid, folder, limits, deadline)
    },
    onEnd: (end, { reject }) => reject(describeEnd(end, limits)),
  })
}
