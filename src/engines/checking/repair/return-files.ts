import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf } from '../../../foundation/jobs/child.ts'
import { type CheckRequest, checkFiles, type InputFile } from '../check-files.ts'
import type { CheckSummary } from '../engine/summary.ts'
import { DEFAULT_LIMITS, type Limits } from '../process/limits.ts'
import { runOrder } from '../process/run-order.ts'
import type { Fixed } from './fix.ts'

/** What is made of checked files: a workbook or CSV files with the findings beside each row, or corrected copies. */
export type ReturnedForm = 'workbook' | 'marked' | 'corrected'

interface WorkOptions {
  /** An empty folder, which only this work uses. Its owner deletes it. */
  readonly folder: string
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal | undefined
}

export interface ReturnOptions extends WorkOptions {
  readonly form: ReturnedForm
}

/** What was repaired in files. */
export interface Repaired extends Pick<Fixed, 'changes' | 'groups' | 'left'> {
  /** All files: the repaired copy of each, or the file itself if nothing was repaired in it. */
  readonly files: readonly InputFile[]
}

/** The message to the process that marks or corrects files. */
export interface ReturnOrder {
  readonly form: ReturnedForm | 'repaired'
  readonly request: CheckRequest
  /** The folder of the copies. */
  readonly output: string
  /** What the check of the files has found, for marked copies. */
  readonly checked?: { readonly summary: CheckSummary; readonly findings: string } | undefined
}

const ENTRY = entryOf('return-child', import.meta)

/**
 * Marks or corrects files on disk, as `--mark` and `--fix` of the command do, in child processes with the limits of a
 * check. Marked files are checked first.
 *
 * @returns the path of a workbook, or of a ZIP archive of the copies
 * @throws {CheckFailed} if a limit is exceeded
 * @throws {UserError} if the files cannot be marked or corrected, such as those with more rows than a sheet
 * @throws the reason of the signal if it is aborted
 */
export async function returnFiles(
  request: CheckRequest,
  { form, folder, signal, ...options }: ReturnOptions,
): Promise<string> {
  const { order, limits } = await prepareOrder(request, { folder, signal, ...options })
  if (form === 'corrected') return await order(form)
  const checkOptions = { limits, temporary: folder, ...(signal !== undefined && { signal }) }
  const { summary, path, dispose } = await checkFiles(request, checkOptions)
  try {
    return await order(form, { summary, findings: path })
  } finally {
    await dispose()
  }
}

/**
 * Repairs copies of files on disk, as `--fix` of the command does, in a child process with the limits of a check.
 *
 * @throws as `returnFiles` does
 */
export async function repairFiles(request: CheckRequest, options: WorkOptions): Promise<Repaired> {
  const { order } = await prepareOrder(request, options)
  return await order('repaired')
}

async function prepareOrder(request: CheckRequest, { folder, signal, ...options }: WorkOptions) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const deadline = performance.now() + limits.seconds * 1000
  const output = join(folder, 'output')
  await mkdir(output, { mode: 0o700 })
  const order = <Result>(form: ReturnOrder['form'], checked?: ReturnOrder['checked']) =>
    runOrder<Result>(ENTRY, async () => ({ form, request, output, checked }) satisfies ReturnOrder, {
      folder,
      output,
      limits,
      deadline,
      signal,
    })
  return { limits, order }
}
