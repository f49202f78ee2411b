import { dirname } from 'node:path'
import { type Fault, UserError } from '../../../foundation/faults/user-error.ts'
import { entryOf } from '../../../foundation/jobs/child.ts'
import type { Definition } from '../definition/definition.ts'
import { CheckFailed, DEFAULT_LIMITS, DiskFull, type Limits } from '../process/limits.ts'
import { runOrder } from '../process/run-order.ts'
import type { ContainerOrder, OpenedContainer } from './container-messages.ts'

export type { OpenedContainer }

export interface ContainerOptions {
  readonly definition: Definition
  /** The only file that it must contain, whatever the name of that; by default, all files are read by their names. */
  readonly only?: string | undefined
  /** The most bytes that its files may have together. */
  readonly unpackedBytes: number
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal
}

const ENTRY = entryOf('container-child', import.meta)

/** Seconds to open a container: the largest workbook takes a fraction of it. */
const SECONDS = 120

/** What is stored at once is as large as so many containers: itself, its files, and the sheets of workbooks. */
const COPIES = 4

const EXCEEDED =
  'The archive or workbook needs too much time, memory or disk space to be read: send its files separately, as CSV'

/**
 * Opens a ZIP archive or a workbook as `mahi check` does, in a child process with limits of memory, time and disk. Its
 * files are stored beside it, in a folder that only this work uses; the owner of the folder deletes it.
 *
 * @throws {DiskFull}
 * @throws {UserError} if it is damaged, encrypted or too large, or has no file of the definition, or two of one kind
 * @throws the reason of the signal if it is aborted
 */
export async function openContainer(
  path: string,
  { definition, only, unpackedBytes, signal, ...options }: ContainerOptions,
): Promise<OpenedContainer> {
  const folder = dirname(path)
  const own = { ...DEFAULT_LIMITS, ...options.limits }
  const limits = {
    ...own,
    seconds: Math.min(own.seconds, SECONDS),
    diskBytes: Math.min(own.diskBytes, unpackedBytes * COPIES),
  }
  const deadline = performance.now() + limits.seconds * 1000
  try {
    const order = { path, definition, only, unpackedBytes } satisfies ContainerOrder
    return await runOrder<OpenedContainer>(ENTRY, async () => order, { folder, limits, deadline, signal })
  } catch (error) {
    throw explain(error, folder)
  }
}

function explain(error: unknown, folder: string): unknown {
  if (error instanceof CheckFailed) return error instanceof DiskFull ? error : new UserError(EXCEEDED)
  if (!(error instanceof UserError)) return error
  // The sender does not know the folder.
  const show = ({ file, ...fault }: Fault): Fault =>
    file === undefined ? fault : { ...fault, file: file.replace(`${folder}/`, '') }
  return new UserError(error.faults.map(show))
}
