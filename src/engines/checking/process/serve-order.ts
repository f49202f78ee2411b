import { UserError } from '../../../foundation/faults/user-error.ts'
import { endWithParent } from '../../../foundation/jobs/end-with-parent.ts'
import { isDiskFull } from './limits.ts'
import type { Report } from './run-order.ts'

/**
 * Carries out the one order of this child process, which `runOrder` starts, and exits.
 *
 * @param work gets the order and a function that shows its progress
 */
export function serveOrder<Order, Result, Progress = never>(
  work: (order: Order, show: (progress: Progress) => void) => Promise<Result>,
): void {
  // Nobody reads what the child of a killed parent has written, nor deletes its files.
  endWithParent(process.env.SQLITE_TMPDIR)
  process.once('message', (order: Order) => {
    const show = (progress: Progress) => {
      process.send?.({ kind: 'progress', progress } satisfies Report<Result, Progress>)
    }
    void carryOut(() => work(order, show)).then((report) => process.send?.(report, () => process.exit()))
  })
}

async function carryOut<Result>(work: () => Promise<Result>): Promise<Report<Result>> {
  try {
    return { kind: 'done', result: await work() }
  } catch (error) {
    if (isDiskFull(error instanceof UserError ? error.cause : error)) return { kind: 'disk' }
    if (error instanceof UserError) return { kind: 'refused', faults: error.faults }
    throw error
  }
}
