import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Bytes of memory that a process holds; `undefined` where the system does not show them. */
export function readMemory(pid: number): number | undefined {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]
    return Number(pages) * 4096
  } catch {
    return undefined
  }
}

/**
 * Bytes of the temporary files of a process: those in its folder, and those that it has deleted but still uses, as
 * SQLite does when it sorts.
 */
export function readDiskUse(pid: number, folder: string): number {
  const sizes = new Map<string, number>()
  const add = (path: string) => {
    try {
      const { dev, ino, size } = statSync(path)
      sizes.set(`${dev}:${ino}`, size)
    } catch {
      // It is gone.
    }
  }
  for (const name of list(folder)) add(join(folder, name))
  const open = `/proc/${pid}/fd`
  for (const name of list(open)) {
    try {
      if (readlinkSync(join(open, name)).startsWith(folder)) add(join(open, name))
    } catch {
      // It is closed.
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
