import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ChildEnd } from '../../../foundation/jobs/child.ts'
import { count, formatNumber } from '../../../foundation/text/format-number.ts'
import { CheckFailed, type Limits } from './limits.ts'

/**
 * Throws if a child process exceeds the limits of a check.
 *
 * @param folder that of its temporary files
 * @param deadline in milliseconds of `performance.now()`
 * @throws {CheckFailed}
 */
export function assertWithin(pid: number, folder: string, limits: Limits, deadline: number): void {
  if (performance.now() > deadline)
    throw new CheckFailed(`The check was stopped: it took more than ${count(limits.seconds, 'second')}.`)
  if ((readMemory(pid) ?? 0) > limits.memoryBytes)
    throw new CheckFailed(
      `The check was stopped: it needed more than ${formatMegabytes(limits.memoryBytes)} of memory.`,
    )
  if (readDiskUse(pid, folder) > limits.diskBytes)
    throw new CheckFailed(
      `The check was stopped: it needed more than ${formatMegabytes(limits.diskBytes)} of disk space.`,
    )
}

/** The error of a child process that has ended without a result. */
export function describeEnd({ outOfMemory, by, description }: ChildEnd, { memoryBytes }: Limits): Error {
  if (outOfMemory)
    return new CheckFailed(`The check needed more than ${formatMegabytes(memoryBytes)} of memory.`)
  if (by !== null)
    return new CheckFailed(`The check was ended by ${by} before it was complete. Run it again.`)
  return new Error(`the process of the check ended with ${description}`)
}

function formatMegabytes(bytes: number): string {
  return `${formatNumber(Math.round(bytes / 1024 ** 2))} MB`
}

/** The memory of a process in bytes; `undefined` if the system does not report it. */
function readMemory(pid: number): number | undefined {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]
    return Number(pages) * 4096
  } catch {
    return undefined
  }
}

/**
 * The bytes of a process's temporary files: those in its folder, and deleted ones that are still open, as SQLite uses
 * for sorting.
 */
function readDiskUse(pid: number, folder: string): number {
  const sizes = new Map<string, number>()
  const add = (path: string) => {
    try {
      const { dev, ino, size } = statSync(path)
      sizes.set(`${dev}:${ino}`, size)
    } catch {
      // The file is gone.
    }
  }
  for (const name of list(folder, true)) add(join(folder, name))
  const open = `/proc/${pid}/fd`
  for (const name of list(open)) {
    try {
      if (readlinkSync(join(open, name)).startsWith(folder)) add(join(open, name))
    } catch {
      // The file is closed.
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

function list(folder: string, recursive = false): string[] {
  try {
    return readdirSync(folder, { recursive, encoding: 'utf8' })
  } catch {
    return []
  }
}
