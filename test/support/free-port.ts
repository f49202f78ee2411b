import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Below the ports that the system gives to clients, and to servers that ask for any. */
const [LEAST, MOST] = [20_000, 32_000]

const claims: string[] = []

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

function claim(port: number): boolean {
  const file = join(tmpdir(), `mahi-tests-port-${port}`)
  try {
    writeFileSync(file, '', { flag: 'wx' })
  } catch {
    return false
  }
  if (claims.push(file) === 1) process.once('exit', () => claims.map((each) => rmSync(each, { force: true })))
  return true
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
