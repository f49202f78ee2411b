// The child process of a check, which `check-files.ts` starts. It runs one check and exits.
import { rmSync } from 'node:fs'
import { isDiskFull } from './limits.ts'
import type { Answer, Order } from './messages.ts'

const parent = process.ppid
// Loaded while the parent prepares the order.
const engine = import('../engine/run.ts')

process.once('message', ({ input }: Order) => {
  void check(input).then((answer) => {
    // Closes the channel once the answer has been sent.
    process.send?.(answer, () => process.disconnect())
  })
})

async function check(input: Order['input']): Promise<Answer> {
  const { runEngine } = await engine
  const { UserError } = await import('../../../foundation/faults/user-error.ts')
  try {
    const summary = await runEngine(input, (progress) => {
      // The event loop is blocked during a check, so a killed parent is detected here.
      if (process.ppid !== parent) abandon(input.folder)
      process.send?.({ kind: 'progress', progress } satisfies Answer)
    })
    return { kind: 'done', summary }
  } catch (error) {
    if (error instanceof UserError) return { kind: 'refused', faults: error.faults }
    if (isDiskFull(error)) return { kind: 'disk' }
    throw error
  }
}

function abandon(folder: string): never {
  rmSync(folder, { recursive: true, force: true })
  process.exit(1)
}
