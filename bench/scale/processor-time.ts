import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { childrenOf } from '../measure.ts'

/** The process that started the others of a PostgreSQL server, by one of them. */
export function findParent(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1])
}

/**
 * Seconds of processor time of a process and of its children that have ended (Linux: proc(5), fields 14 to 17 of
 * stat).
 *
 * @param children whether those that still run are included
 */
export function processorTime(pid: number, children = false): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const own = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0) / TICKS_PER_SECOND
  return children ? own + childrenOf(pid).reduce((sum, child) => sum + processorTime(child), 0) : own
}

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
