// The floor below everything: Node's own server, sending one buffer.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const [file = '', encoding = 'identity', status = '200'] = process.argv.slice(2)
const body = status === '304' ? undefined : readFileSync(file)
const headers = {
  'content-type': 'application/json; charset=utf-8',
  ...(body === undefined ? {} : { 'content-length': body.length }),
  ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
}
const server = createServer((_, response) => {
  response.writeHead(Number(status), headers)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
