// Starts Strapi in production mode, on loopback and a port of the system's choice, over a PostgreSQL database of its own:
// `node start.mjs SOURCE`; prints `Listening on URL` when it answers. It makes the table of `src/` where there is none.
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const [source = ''] = process.argv.slice(2)
Object.assign(process.env, {
  NODE_ENV: 'production',
  DATABASE_URL: source,
  STRAPI_TELEMETRY_DISABLED: 'true',
})
const here = fileURLToPath(new URL('.', import.meta.url))
// It will not start without the folder.
mkdirSync(`${here}public/uploads`, { recursive: true })
const { createStrapi } = createRequire(import.meta.url)('@strapi/strapi')
const app = await createStrapi({ appDir: here, distDir: here }).load()
app.server.mount()
const server = app.server.httpServer
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Listening on http://127.0.0.1:${server.address().port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
