// The floor for anything on Fastify: one route, no hooks, sending one buffer.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'

const [file = '', encoding = 'identity', status = '200'] = process.argv.slice(2)
const body = status === '304' ? undefined : readFileSync(file)
const app = Fastify()
app.get('/*', (_, reply) => {
  reply.code(Number(status)).header('content-type', 'application/json; charset=utf-8')
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  reply.send(body)
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`Listening on ${url}\n`)
process.on('SIGTERM', () => process.exit(0))
