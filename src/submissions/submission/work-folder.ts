import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../foundation/make-folder.ts'

/** Names a folder for the temporary files of this process, and deletes the folders of killed processes. */
export function nameWorkFolder(parent: string): string {
  makeFolder(parent, 0o700)
  for (const name of readdirSync(parent)) {
    const pid = Number(/^mahi-worker-(\d+)$/.exec(name)?.[1])
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true })
  }
  return join(parent, `mahi-worker-${process.pid}`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
