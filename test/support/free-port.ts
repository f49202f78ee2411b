import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Below the ports that the system gives to clients, and to servers that ask for any. */
const [LEAST, MOST] = [20_000, 32_000]

/**
 * A port of loopback for a server that cannot choose one itself, or that returns at the same one. No other process of
 * the tests gets it while this one runs.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LEAST, MOST)
    if (claim(port) && (await isFree(port))) return port
  }
}

/** A file with the number of the process is a claim until that process has ended, however it ended. */
function claim(port: number): boolean {
  const folder = join(tmpdir(), 'mahi-tests-ports')
  const file = join(folder, String(port))
  mkdirSync(folder, { recursive: true })
  if (existsSync(file) && !isAlive(Number(readFileSync(file, 'utf8')))) rmSync(file, { force: true })
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid === 0 || process.kill(pid, 0)
  } catch {
    return false
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
