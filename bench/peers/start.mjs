// Starts one peer in production mode, on loopback and a port of the system's choice, over data that is there already:
// `node start.mjs NAME SOURCE`; prints `Listening on URL` when it answers.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const [name = '', source = ''] = process.argv.slice(2)
const HOST = '127.0.0.1'

const peers = {
  /** `source`: a JSON file, which it holds in memory. */
  async 'json-server-0.17'() {
    const { default: jsonServer } = await import('json-server-0.17')
    const app = jsonServer.create()
    app.use(jsonServer.defaults({ logger: false }))
    app.use(jsonServer.router(source))
    return await new Promise((resolve) => {
      const server = app.listen(0, HOST, () => resolve(`http://${HOST}:${server.address().port}`))
    })
  },

  /** `source`: a PostgreSQL database that holds the table. */
  async platformatic() {
    const { create } = await import('@platformatic/db')
    const peer = await create(dirname(fileURLToPath(import.meta.url)), {
      server: { logger: { level: 'error' } },
      db: {
        connectionString: source,
        poolSize: 10,
        graphql: false,
        openapi: true,
        events: false,
      },
      watch: false,
    })
    // By itself it would listen on every address of the machine.
    await peer.start({ listen: false })
    return await peer.getApplication().listen({ host: HOST, port: 0 })
  },
}

process.env.NODE_ENV = 'production'
const start = peers[name]
if (start === undefined) throw new Error(`no such peer: ${name}; there are ${Object.keys(peers).join(', ')}`)
process.stdout.write(`Listening on ${await start()}\n`)
process.on('SIGTERM', () => process.exit(0))
