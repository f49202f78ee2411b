import { readFileSync } from 'node:fs'

/** The index needs more memory than it may use. */
export class IndexTooLarge extends Error {
  constructor(memoryBytes: number) {
    const megabytes = Math.round(memoryBytes / 2 ** 20)
    super(`building it needs more than ${megabytes} MB of memory (a third of MEMORY_MB)`)
  }
}

/** The memory of this process in bytes, without mapped files, which the system takes back where memory is short. */
export function readOwnMemory(): number {
  try {
    const [, kilobytes = '0'] = /^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? []
    return Number(kilobytes) * 1024
  } catch {
    return process.memoryUsage.rss()
  }
}
