import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf } from '../../../foundation/jobs/child.ts'
import { type CheckRequest, checkFiles, type InputFile } from '../engine/check-files.ts'
import { DEFAULT_LIMITS, type Limits } from '../process/limits.ts'
import { runOrder } from '../process/run-order.ts'
import type { Fixed } from './fix.ts'
import type { Marks } from './mark.ts'
import type { Copies, CopyOrder, writeCopies } from './write-copies.ts'

/** What is made of checked files: a workbook or CSV files with the findings beside each row, or corrected copies. */
export type ReturnedForm = 'workbook' | 'marked' | 'corrected'

/** What was repaired in files. */
export interface Repaired extends Pick<Fixed, 'changes' | 'groups' | 'left'> {
  /** All files: the repaired copy of each, or the file itself if nothing was repaired in it. */
  readonly files: readonly InputFile[]
}

export interface CopyOptions {
  /** A folder for temporary files and the copies. Its owner deletes it. */
  readonly folder: string
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal | undefined
  /** Writes the copies; by default in a process of its own. */
  readonly write?: typeof writeCopies | undefined
}

export interface ReturnOptions extends CopyOptions {
  readonly form: ReturnedForm
}

const ENTRY = entryOf('return-child', import.meta)

/**
 * Marks or corrects files on disk in a child process with the limits of a check: the patterns of a definition may take
 * any time.
 *
 * @throws {CheckFailed} if a limit is exceeded
 * @throws {UserError} if the files cannot be marked or corrected, such as those with more rows than a sheet
 * @throws the reason of the signal if it is aborted
 */
export async function orderCopies(
  order: Omit<CopyOrder, 'folder'>,
  { folder, signal, write, ...options }: CopyOptions,
): Promise<Copies> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const deadline = performance.now() + limits.seconds * 1000
  const output = join(folder, 'output')
  await mkdir(output, { mode: 0o700 })
  const given = { ...order, folder: output }
  if (write !== undefined) return await write(given)
  // The process deletes this folder if its parent is killed.
  const environment = { SQLITE_TMPDIR: output }
  return await runOrder(ENTRY, async () => given, { folder, output, limits, deadline, signal, environment })
}

/**
 * Marks or corrects files on disk. Marked files are checked first.
 *
 * @returns the path of a workbook, or of a ZIP archive of the copies
 * @throws as `orderCopies` does
 */
export async function returnFiles(
  request: CheckRequest,
  { form, ...options }: ReturnOptions,
): Promise<string> {
  const isPacked = form !== 'workbook'
  const order = async (marks?: Marks) => {
    const { folder, names } = await orderCopies({ request, marks, isPacked }, options)
    return join(folder, names[0] ?? '')
  }
  if (form === 'corrected') return await order()
  const { folder: temporary, limits = {}, signal } = options
  const checkOptions = { limits, temporary, ...(signal !== undefined && { signal }) }
  const { summary, path: findings, dispose } = await checkFiles(request, checkOptions)
  try {
    return await order({ format: isPacked ? 'csv' : 'xlsx', summary, findings })
  } finally {
    await dispose()
  }
}

/** The copy of a file, or the file itself without one. */
export function useCopy(file: InputFile, { copies }: Fixed, folder: string): InputFile {
  const name = copies.get(file.resource)
  return name === undefined ? file : { ...file, name, path: join(folder, name) }
}

/**
 * Repairs copies of files on disk.
 *
 * @throws as `orderCopies` does
 */
export async function repairFiles(request: CheckRequest, options: CopyOptions): Promise<Repaired> {
  const { folder, fixed } = await orderCopies({ request, isPacked: false }, options)
  if (fixed === undefined) throw new Error('the files were not corrected')
  const { changes, groups, left } = fixed
  const changed = new Set(groups.map(({ file }) => file))
  const files = request.files.map((file) => (changed.has(file.name) ? useCopy(file, fixed, folder) : file))
  return { files, changes, groups, left }
}
