import type { ChildProcess } from 'node:child_process'

/** How each child is ended. */
const children = new Map<ChildProcess, () => void>()

/**
 * Ends a process with this one, unless that is killed with SIGKILL.
 *
 * @param end for a child that must not be ended alone
 */
export function endWithParent(child: ChildProcess, end: () => void = () => child.kill('SIGKILL')): void {
  if (children.size === 0) watch('on')
  children.set(child, end)
  child.once('exit', () => {
    if (children.delete(child) && children.size === 0) watch('off')
  })
}

function watch(change: 'on' | 'off'): void {
  process[change]('exit', endAll)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process[change](signal, endBy)
}

function endAll(): void {
  for (const end of children.values()) end()
}

/** A listener keeps a signal from ending this process, so it is sent again without one. */
function endBy(signal: NodeJS.Signals): void {
  endAll()
  watch('off')
  process.kill(process.pid, signal)
}
