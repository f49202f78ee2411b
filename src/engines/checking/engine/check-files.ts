import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entryOf } from '../../../foundation/jobs/child.ts'
import { makeFolder } from '../../../foundation/make-folder.ts'
import { count } from '../../../foundation/text/format-number.ts'
import { LineReader, readAsArriving } from '../../records/index.ts'
import { DEFAULT_LIMITS, DiskFull, isDiskFull, type Limits } from '../process/limits.ts'
import { runOrder } from '../process/run-order.ts'
import type { CheckRequest } from './request.ts'
import type { EngineInput, EngineProgress } from './run.ts'
import type { CheckSummary, Finding } from './summary.ts'

export { CheckFailed } from '../process/limits.ts'
export type { CheckRequest, InputFile } from './request.ts'
export type { EngineProgress } from './run.ts'
export type { CheckSummary, Finding } from './summary.ts'

/** A rule exceeded its time limit. */
class RuleTooSlow extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the rule ${code} took too long`)
    this.code = code
  }
}

const ENTRY = entryOf('child', import.meta)

export interface CheckOptions {
  readonly limits?: Partial<Limits>
  /** Cancels the check: its process is killed and its temporary files are deleted. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: EngineProgress) => void
  /** Folder for temporary files, created if necessary; by default that of the system. */
  readonly temporary?: string
}

export interface CheckResult {
  readonly summary: CheckSummary
  /** The findings as NDJSON, in a temporary file. */
  readonly path: string
  /** The findings in the order file, record, check. */
  findings(): AsyncGenerator<Finding>
  /** Deletes the temporary files. Always call it. */
  dispose(): Promise<void>
}

/**
 * Checks files against a definition, in a child process with limits on time, memory and disk. The files are read
 * in place and never logged. The same input gives the same findings, byte for byte, on every machine.
 *
 * A function that returns the request runs while the process starts, on another core if there is one. Files that it
 * writes into its folder are temporary.
 *
 * A rule that exceeds its time limit is reported as not run, and the check is repeated without it.
 *
 * ```ts
 * const result = await checkFiles({ definition: loadDefinition(findDefinition('sdr')), files, returnId: '202512' }, { signal })
 * try {
 *   await publish(result.findings(), result.summary)
 * } finally {
 *   await result.dispose()
 * }
 * ```
 *
 * @throws {DefinitionRefused} or another UserError if the definition, return or date is not valid
 * @throws {CheckFailed} if a limit is exceeded, the disk is full or the process is killed; nothing remains then
 * @throws the reason of the signal if it is aborted
 */
export async function checkFiles(
  request: CheckRequest | ((folder: string) => Promise<CheckRequest>),
  options: CheckOptions = {},
): Promise<CheckResult> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const deadline = performance.now() + limits.seconds * 1000
  const folder = await makeTemporaryFolder(options.temporary).catch(refuseFullDisk)
  const dispose = () => rm(folder, { recursive: true, force: true })
  try {
    const skip: Record<string, string> = {}
    const path = join(folder, 'findings.ndjson')
    const work = join(folder, 'work')
    let input: Promise<EngineInput> | undefined
    const prepare = async (): Promise<EngineInput> => {
      const given = typeof request === 'function' ? await request(folder).catch(refuseFullDisk) : request
      return { ...given, ...limits, skip, folder: work, output: path }
    }
    for (;;) {
      let rule: { code: string; since: number } | undefined
      try {
        const summary = await runOrder<CheckSummary, EngineProgress>(ENTRY, () => (input ??= prepare()), {
          folder: work,
          limits,
          deadline,
          signal: options.signal,
          // SQLite sorts in this folder, which the engine creates.
          environment: { SQLITE_TMPDIR: work, TMPDIR: tmpdir() },
          onProgress(progress) {
            rule = progress.phase === 'rule' ? { code: progress.code, since: performance.now() } : undefined
            options.onProgress?.(progress)
          },
          watch() {
            if (rule !== undefined && performance.now() - rule.since > limits.ruleSeconds * 1000)
              throw new RuleTooSlow(rule.code)
          },
        })
        await rm(work, { recursive: true, force: true })
        return { summary, path, findings: () => readFindings(path), dispose }
      } catch (error) {
        if (!(error instanceof RuleTooSlow) || skip[error.code] !== undefined) throw error
        skip[error.code] = `The rule was stopped: it took more than ${count(limits.ruleSeconds, 'second')}.`
      }
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

async function makeTemporaryFolder(parent = tmpdir()): Promise<string> {
  makeFolder(parent, 0o700)
  return await mkdtemp(join(parent, 'mahi-check-'))
}

/** @throws {CheckFailed} for an error that says that the disk is full */
function refuseFullDisk(error: unknown): never {
  throw isDiskFull(error) ? new DiskFull({ cause: error }) : error
}

/** Reads findings from NDJSON, such as an earlier run's. */
export async function* readFindings(path: string): AsyncGenerator<Finding> {
  for await (const line of readLines(path)) yield JSON.parse(line) as Finding
}

/** Yields the lines of a file, split only at LF, because JSON text may contain other line separators of Unicode. */
export async function* readLines(path: string): AsyncGenerator<string> {
  const chunks = createReadStream(path, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>
  for await (const lines of readAsArriving(chunks, (source) => new LineReader(source, LINES)))
    while (lines.next()) yield `${lines.bytes ?? lines.start}`
}

/** The most bytes of a finding, whose texts all have a longest form. */
const LINES = { longest: 2 ** 20 }
