// The process in which a check runs. It is started by `check-files.ts`, does one check, and ends.
import { rmSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import type { Answer, Order } from './messages.ts'

enableCompileCache()
const parent = process.ppid

process.once('message', ({ input }: Order) => {
  void check(input).then((answer) => {
    // The channel is closed once the answer is through.
    process.send?.(answer, () => process.disconnect())
  })
})

async function check(input: Order['input']): Promise<Answer> {
  const { runEngine } = await import('../engine/run.ts')
  const { UserError } = await import('../../text/user-error.ts')
  try {
    const summary = await runEngine(input, (progress) => {
      // The event loop does not turn during a check: a parent that was killed is noticed here.
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

function isDiskFull(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code) || code.startsWith('SQLITE_FULL')
}

function abandon(folder: string): never {
  rmSync(folder, { recursive: true, force: true })
  process.exit(1)
}
