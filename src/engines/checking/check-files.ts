import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '../../foundation/make-folder.ts'
import type { Definition } from './definition/definition.ts'
import type { FileFault } from './engine/file-fault.ts'
import type { InputFile } from './engine/file-state.ts'
import type { EngineInput, EngineProgress } from './engine/run.ts'
import type { CheckSummary, Finding, SpareFile } from './engine/summary.ts'
import { DEFAULT_LIMITS, DiskFull, isDiskFull, type Limits } from './process/limits.ts'
import { RuleTooSlow, runChild } from './process/run-child.ts'

export type { EngineProgress } from './engine/run.ts'
export type { CheckSummary, Finding } from './engine/summary.ts'
export { CheckFailed } from './process/limits.ts'

/** A file to check: on disk, or a stream that is copied to a temporary file first. */
export type CheckedInput = {
  /** Name of the resource in the definition, such as `enrolments`. */
  readonly resource: string
  /** The name in findings. Its extension determines the format: `.csv` or `.ndjson`, with or without `.gz`. */
  readonly name: string
  /** What is known to be wrong with it before it is read. */
  readonly faults?: readonly FileFault[]
} & ({ readonly path: string } | { readonly open: () => AsyncIterable<Uint8Array> })

export interface CheckRequest {
  /** The definition or its folder; `findDefinition` gives that of one that comes with Mahi. */
  readonly definition: Definition | string
  readonly files: readonly CheckedInput[]
  /** Whether a missing file is a finding. Otherwise, only the rules that need the file are skipped. */
  readonly complete?: boolean
  /** Files that were there, but are not in the definition. */
  readonly unread?: readonly string[]
  /** Files that were recognised, but another one is surer to be meant. */
  readonly spare?: readonly SpareFile[]
  /** ID of the return, such as 202512; by default that of the definition. */
  readonly returnId?: string | undefined
  /** Date on which codes and rules apply; by default the end of the return's month. */
  readonly asOf?: string | undefined
  /** The codes to check; all if empty. */
  readonly only?: readonly string[]
}

export interface CheckOptions {
  readonly limits?: Partial<Limits>
  /** Cancels the check: its process is killed and its temporary files are deleted. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: EngineProgress) => void
  /** Folder for temporary files, created if necessary; by default that of the system. */
  readonly temporary?: string
  /** Bytes that are read at once; for tests. */
  readonly chunk?: number
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
 * A function that returns the request runs while the process starts, on another core if there is one.
 *
 * A rule that exceeds its time limit is reported as not run, and the check is repeated without it.
 *
 * ```ts
 * const result = await checkFiles({ definition: findDefinition('sdr'), files, returnId: '202512' }, { signal })
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
  request: CheckRequest | (() => Promise<CheckRequest>),
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
      const { definition, complete, unread, spare, returnId, asOf, only, ...rest } =
        typeof request === 'function' ? await request() : request
      const files = await Promise.all(
        rest.files.map((file) => toInputFile(file, folder, options.signal)),
      ).catch(refuseFullDisk)
      return {
        definition,
        files,
        complete: complete ?? false,
        unread: unread ?? [],
        spare: spare ?? [],
        returnId,
        asOf,
        only: only ?? [],
        cap: limits.findingsOfCode,
        findingsBytes: limits.findingsBytes,
        diskBytes: limits.diskBytes,
        skip,
        folder: work,
        output: path,
        ...(options.chunk === undefined ? {} : { chunk: options.chunk }),
      }
    }
    for (;;) {
      try {
        const summary = await runChild(
          () => {
            input ??= prepare()
            return input
          },
          { folder: work, limits, deadline, signal: options.signal, onProgress: options.onProgress },
        )
        await rm(work, { recursive: true, force: true })
        return { summary, path, findings: () => readFindings(path), dispose }
      } catch (error) {
        if (!(error instanceof RuleTooSlow) || skip[error.code] !== undefined) throw error
        skip[error.code] = `The rule was stopped: it took more than ${limits.ruleSeconds} seconds.`
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

async function toInputFile(
  file: CheckedInput,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<InputFile> {
  const { resource, name, faults = [] } = file
  const known = { resource, name, faults }
  if ('path' in file) return { ...known, path: file.path }
  const path = join(folder, `${resource}.input`)
  await pipeline(Readable.from(file.open()), createWriteStream(path, { mode: 0o600 }), { signal })
  return { ...known, path }
}

/** Reads findings from NDJSON, such as an earlier run's. */
export async function* readFindings(path: string): AsyncGenerator<Finding> {
  for await (const line of readLines(path)) yield JSON.parse(line) as Finding
}

/** Yields the lines of a file, split only at LF, because JSON text may contain other line separators of Unicode. */
export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    for (let end = text.indexOf(10); end !== -1; end = text.indexOf(10, at)) {
      yield text.toString('utf8', at, end)
      at = end + 1
    }
    rest = Buffer.from(text.subarray(at))
  }
  if (rest.length > 0) yield rest.toString('utf8')
}
