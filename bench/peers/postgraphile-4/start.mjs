// Starts PostGraphile 4 in production mode, on loopback and a port of the system's choice, over a PostgreSQL database that
// holds the table: `node start.mjs SOURCE`; prints `Listening on URL` when it answers.
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'

const [source = ''] = process.argv.slice(2)
process.env.NODE_ENV = 'production'
const server = createServer(
  postgraphile(source, 'public', {
    disableQueryLog: true,
    graphiql: false,
    dynamicJson: true,
    watchPg: false,
  }),
)
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Listening on http://127.0.0.1:${server.address().port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
