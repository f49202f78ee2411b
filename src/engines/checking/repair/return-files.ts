import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { entryOf, runInChild } from '../../../foundation/jobs/child.ts'
import { type CheckRequest, checkFiles } from '../check-files.ts'
import type { Definition } from '../definition/definition.ts'
import { CheckFailed, DEFAULT_LIMITS, DISK_FULL, type Limits } from '../process/limits.ts'
import { assertWithin, describeEnd } from '../process/watch.ts'
import type { ReturnOrder, ReturnReport } from './return-messages.ts'

/** What is made of checked files: a workbook or CSV files with the findings beside each row, or corrected copies. */
export type ReturnedForm = 'workbook' | 'marked' | 'corrected'

export interface ReturnOptions {
  readonly form: ReturnedForm
  /** An empty folder, which only this work uses. Its owner deletes it. */
  readonly folder: string
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal
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
  request: CheckRequest & { readonly definition: Definition },
  { form, folder, signal, ...options }: ReturnOptions,
): Promise<string> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const deadline = performance.now() + limits.seconds * 1000
  const output = join(folder, 'output')
  await mkdir(output, { mode: 0o700 })
  const order = (checked?: ReturnOrder['checked']) =>
    runReturn({ form, request, output, checked }, { folder, limits, deadline, signal })
  if (form === 'corrected') return await order()
  const checkOptions = { limits, temporary: folder, ...(signal !== undefined && { signal }) }
  const { summary, path, dispose } = await checkFiles(request, checkOptions)
  try {
    return await order({ summary, findings: path })
  } finally {
    await dispose()
  }
}

interface Surroundings {
  readonly folder: string
  readonly limits: Limits
  readonly deadline: number
  readonly signal: AbortSignal | undefined
}

async function runReturn(order: ReturnOrder, { folder, limits, deadline, signal }: Surroundings) {
  return await runInChild<ReturnReport, string>({
    entry: ENTRY,
    memoryBytes: limits.memoryBytes,
    youngMegabytes: 8,
    environment: { TMPDIR: folder, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    advanced: true,
    signal,
    order: async () => order,
    onMessage(report, { resolve, reject }) {
      switch (report.kind) {
        case 'done':
          return resolve(report.path)
        case 'refused':
          return reject(new UserError(report.faults))
        case 'disk':
          return reject(new CheckFailed(DISK_FULL))
      }
    },
    watch: (pid) => assertWithin(pid, order.output, limits, deadline),
    onEnd: (end, { reject }) => reject(describeEnd(end, limits)),
  })
}
