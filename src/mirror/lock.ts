import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../text/user-error.ts'

/**
 * Keeps two mirrors from working in one folder at once.
 *
 * @returns what gives the folder free again
 * @throws {UserError} if another one is at work
 */
export function takeLock(folder: string): () => void {
  const path = join(folder, 'mirror.lock')
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' })
      return () => rmSync(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const owner = Number(readFileSync(path, 'utf8'))
    if (isAlive(owner)) {
      fail({
        file: folder,
        message: `is being mirrored by another process (${owner}): wait until it has finished, or remove ${path} if that is no mirror`,
      })
    }
    // Its owner was killed.
    rmSync(path, { force: true })
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
