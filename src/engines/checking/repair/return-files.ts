import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf } from '../../../foundation/jobs/child.ts'
import { type CheckRequest, checkFiles } from '../check-files.ts'
import { DEFAULT_LIMITS, type Limits } from '../process/limits.ts'
import { runOrder } from '../process/run-order.ts'
import type { Repaired, ReturnedForm, ReturnOrder, writeCopies } from './write-copies.ts'

interface WorkOptions {
  /** An empty folder, which only this work uses. Its owner deletes it. */
  readonly folder: string
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal | undefined
  /** Writes the copies; by default in a process of its own. */
  readonly write?: typeof writeCopies | undefined
}

export interface ReturnOptions extends WorkOptions {
  readonly form: ReturnedForm
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

async function prepareOrder(request: CheckRequest, { folder, signal, write, ...options }: WorkOptions) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const deadline = performance.now() + limits.seconds * 1000
  const output = join(folder, 'output')
  await mkdir(output, { mode: 0o700 })
  const order = async <Result>(form: ReturnOrder['form'], checked?: ReturnOrder['checked']) => {
    const given: ReturnOrder = { form, request, output, checked }
    if (write !== undefined) return (await write(given)) as Result
    return await runOrder<Result>(ENTRY, async () => given, { folder, output, limits, deadline, signal })
  }
  return { limits, order }
}
