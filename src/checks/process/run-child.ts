import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { UserError } from '../../text/user-error.ts'
import type { EngineInput, EngineProgress } from '../engine/run.ts'
import type { CheckSummary } from '../engine/summary.ts'
import { DISK_FULL, type Limits } from './limits.ts'
import type { Answer, Order } from './messages.ts'
import { readDiskUse, readMemory } from './watch.ts'

/** The files could not be checked; the message says why. */
export class CheckFailed extends UserError {}

/** A rule exceeded its time limit. */
export class RuleTooSlow extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the rule ${code} took too long`)
    this.code = code
  }
}

/** The sources run directly; the package contains compiled files. */
const ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './child.ts' : './child.js', import.meta.url),
)
const WATCH_MS = 200

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
  options: ChildOptions,
): Promise<CheckSummary> {
  options.signal?.throwIfAborted()
  const heap = Math.max(64, Math.floor(options.limits.memoryBytes / 1024 ** 2))
  const child = fork(ENTRY, [], {
    // Nearly all objects of a check are short-lived, so a larger young generation would only hold more garbage.
    execArgv: [`--max-old-space-size=${heap}`, '--max-semi-space-size=8'],
    // SQLite sorts in this folder. The engine needs no other environment variables.
    env: { SQLITE_TMPDIR: options.folder, TMPDIR: tmpdir() },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  try {
    return await waitForResult(child, prepare, options)
  } finally {
    await end(child)
  }
}

/** Kills the process if necessary and waits for its exit, because its files can be deleted only then. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function waitForResult(
  child: ChildProcess,
  prepare: () => Promise<EngineInput>,
  { folder, limits, deadline, signal, onProgress }: ChildOptions,
): Promise<CheckSummary> {
  return new Promise((resolve, reject) => {
    let rule: { code: string; since: number } | undefined
    let complaint = ''
    const watch = setInterval(() => {
      const now = performance.now()
      if (rule !== undefined && now - rule.since > limits.ruleSeconds * 1000)
        end(() => reject(new RuleTooSlow(rule?.code ?? '')))
      else if (now > deadline) fail(`The check was stopped: it took more than ${limits.seconds} seconds.`)
      else if ((readMemory(child.pid ?? 0) ?? 0) > limits.memoryBytes)
        fail(`The check was stopped: it needed more than ${formatMegabytes(limits.memoryBytes)} of memory.`)
      else if (readDiskUse(child.pid ?? 0, folder) > limits.diskBytes)
        fail(`The check was stopped: it needed more than ${formatMegabytes(limits.diskBytes)} of disk space.`)
    }, WATCH_MS)
    const abort = () => end(() => reject(signal?.reason))
    signal?.addEventListener('abort', abort, { once: true })

    const end = (settle: () => void) => {
      clearInterval(watch)
      signal?.removeEventListener('abort', abort)
      settle()
    }
    const fail = (message: string) => end(() => reject(new CheckFailed(message)))

    child.stderr?.on('data', (data: Buffer) => {
      complaint = (complaint + data.toString()).slice(-4000)
    })
    child.on('message', (answer: Answer) => {
      switch (answer.kind) {
        case 'progress': {
          const { progress } = answer
          rule = progress.phase === 'rule' ? { code: progress.code, since: performance.now() } : undefined
          return onProgress?.(progress)
        }
        case 'done':
          return end(() => resolve(answer.summary))
        case 'refused':
          return end(() => reject(new UserError(answer.faults)))
        case 'disk':
          return fail(DISK_FULL)
      }
    })
    child.on('error', (error) => end(() => reject(error)))
    child.on('close', (code, by) => {
      if (/heap out of memory|Array buffer allocation failed/.test(complaint))
        return fail(`The check needed more than ${formatMegabytes(limits.memoryBytes)} of memory.`)
      if (by !== null) return fail(`The check was ended by ${by} before it was complete. Run it again.`)
      end(() => reject(new Error(`the process of the check ended with ${code}: ${complaint}`)))
    })
    prepare().then(
      (input) => child.send({ input } satisfies Order),
      (error) => end(() => reject(error)),
    )
  })
}

function formatMegabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2).toLocaleString('en-NZ')} MB`
}
