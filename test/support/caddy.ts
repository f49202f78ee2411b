import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { RunningCommand, until } from './command.ts'
import { findFreePort } from './free-port.ts'
import { requireProgram } from './require-program.ts'
import { temporaryFolder } from './temporary.ts'

export const CADDYFILE = fileURLToPath(new URL('../../deploy/Caddyfile', import.meta.url))

export const hasCaddy = requireProgram(
  spawnSync('caddy', ['version']).status === 0,
  'the tests with the proxy of deploy/',
  'no caddy (apt-get install caddy)',
)

/** Runs caddy to its end, with its files in a folder of this test. */
export function runCaddy(given: readonly string[], environment: Record<string, string> = {}) {
  return spawnSync('caddy', given, { env: caddyEnvironment(environment), encoding: 'utf8' })
}

/** Starts the proxy, with deploy/Caddyfile before these replicas or with another file, and answers where it listens. */
export async function startCaddy(
  replicas: readonly string[],
  file = CADDYFILE,
  environment: Record<string, string> = {},
): Promise<string> {
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const env = caddyEnvironment({ SITE_ADDRESS: url, REPLICAS: replicas.join(' '), ...environment })
  new RunningCommand(spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { env }))
  await until(async () => {
    const socket = connect(port, '127.0.0.1')
    return await once(socket, 'connect')
      .finally(() => socket.destroy())
      .catch(() => undefined)
  })
  return url
}

function caddyEnvironment(environment: Record<string, string>): Record<string, string> {
  const folder = temporaryFolder()
  const path = process.env.PATH ?? ''
  return { PATH: path, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, ...environment }
}
