import { DEFAULT_LIMITS, type Limits, runOrder } from '../../engines/checking/index.ts'
import { entryOf } from '../../foundation/jobs/child.ts'
import type { FileOrder, FileResult } from './read-upload.ts'

export interface FileProcessOptions {
  readonly limits: Partial<Limits>
  readonly signal: AbortSignal
}

const ENTRY = entryOf('file-child', import.meta)

/** Seconds to read an upload or to convert a file: the largest take a fraction of it. */
const SECONDS = 120

/** What is stored at once is as large as so many uploads: itself, its files, and these once more as UTF-8. */
const COPIES = 6

/**
 * Reads an upload, or converts a file, in a child process with limits of memory, time and disk.
 *
 * @throws {CheckFailed} if a limit is exceeded
 * @throws the reason of the signal if it is aborted
 */
export async function runFileOrder(
  order: FileOrder,
  { signal, ...options }: FileProcessOptions,
): Promise<FileResult> {
  const own = { ...DEFAULT_LIMITS, ...options.limits }
  const diskBytes = order.kind === 'read' ? Math.min(own.diskBytes, order.maxBytes * COPIES) : own.diskBytes
  const limits = { ...own, seconds: Math.min(own.seconds, SECONDS), diskBytes }
  const deadline = performance.now() + limits.seconds * 1000
  return await runOrder<FileResult>(ENTRY, async () => order, {
    folder: order.folder,
    limits,
    deadline,
    signal,
  })
}
