import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The memory of a process in bytes; `undefined` if the system does not report it. */
export function readMemory(pid: number): number | undefined {
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
export function readDiskUse(pid: number, folder: string): number {
  const sizes = new Map<string, number>()
  const add = (path: string) => {
    try {
      const { dev, ino, size } = statSync(path)
      sizes.set(`${dev}:${ino}`, size)
    } catch {
      // The file is gone.
    }
  }
  for (const name of list(folder)) add(join(folder, name))
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

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
