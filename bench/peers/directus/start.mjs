// Starts Directus in production mode, on loopback and a port of the system's choice, over a PostgreSQL database that
// holds the table: `node start.mjs SOURCE`; prints `Listening on URL` when it answers. It adds tables of its own to the
// database. The table is asked for with the token of the administrator.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const [source = ''] = process.argv.slice(2)
const here = fileURLToPath(new URL('.', import.meta.url))
Object.assign(process.env, {
  NODE_ENV: 'production',
  CONFIG_PATH: `${here}none`,
  LOG_LEVEL: 'error',
  DB_CLIENT: 'pg',
  DB_CONNECTION_STRING: source,
  SECRET: 'secret-of-the-benchmark',
  ADMIN_EMAIL: 'admin@example.com',
  ADMIN_PASSWORD: 'password-of-the-benchmark',
  ADMIN_TOKEN: 'token-of-the-benchmark',
  HOST: '127.0.0.1',
  PUBLIC_URL: '/',
  TELEMETRY: 'false',
  // It would turn most of the load away.
  PRESSURE_LIMITER_ENABLED: 'false',
  WEBSOCKETS_ENABLED: 'false',
})
execFileSync(process.execPath, [`${here}node_modules/directus/cli.js`, 'bootstrap'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  cwd: here,
})
const { createServer } = await import('@directus/api/server')
const server = await createServer()
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Listening on http://127.0.0.1:${server.address().port}\n`)
})
