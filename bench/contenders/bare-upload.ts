// Beside uploads: a bare Fastify handler that gzips the body to a file.
import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import Fastify from 'fastify'

const [file = ''] = process.argv.slice(2)
const app = Fastify({ bodyLimit: 2 ** 40 })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', (_, payload, done) => done(null, payload))
app.put('/*', async (request) => {
  await pipeline(request.body as IncomingMessage, createGzip(), createWriteStream(file))
  return {}
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`Listening on ${url}\n`)
process.on('SIGTERM', () => process.exit(0))
