import { tmpdir } from 'node:os'
import { entryOf } from '../../../foundation/jobs/child.ts'
import type { EngineInput, EngineProgress } from '../engine/run.ts'
import type { CheckSummary } from '../engine/summary.ts'
import type { Limits } from './limits.ts'
import { runOrder } from './run-order.ts'

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
  return await runOrder<CheckSummary, EngineProgress>(ENTRY, prepare, {
    folder,
    limits,
    deadline,
    signal,
    // SQLite sorts in this folder, which the engine creates.
    environment: { SQLITE_TMPDIR: folder, TMPDIR: tmpdir() },
    onProgress(progress) {
      rule = progress.phase === 'rule' ? { code: progress.code, since: performance.now() } : undefined
      onProgress?.(progress)
    },
    watch() {
      if (rule !== undefined && performance.now() - rule.since > limits.ruleSeconds * 1000)
        throw new RuleTooSlow(rule.code)
    },
  })
}
