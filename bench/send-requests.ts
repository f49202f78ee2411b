import { connect, type Socket } from 'node:net'
import type { Entry } from './compare.ts'
import type { Contender } from './measure.ts'

/** The end of a chunked body. */
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/**
 * Sends a number of requests over some connections, each after the response to the one before. A load generator that
 * runs for whole seconds takes longer.
 *
 * @throws {Error} if a response has a status of 400 or above, or a connection ends
 */
export async function sendRequests(
  contender: Contender,
  load: Entry['load'],
  count: number,
  connections = 16,
): Promise<void> {
  const requests = writeRequests(contender.url, load)
  let sent = 0
  const next = () => (sent < count ? requests[sent++ % requests.length] : undefined)
  await Promise.all(Array.from({ length: connections }, () => useConnection(contender.url, next)))
}

/** The requests of a load as bytes: of the scripts of wrk, `in-turn.lua` names paths and `post.lua` a body. */
function writeRequests(
  url: string,
  { path, headers = {}, script, arguments: given = [] }: Entry['load'],
): Buffer[] {
  const isPost = script?.endsWith('post.lua') === true
  const [body = ''] = isPost ? given : []
  const all = {
    host: new URL(url).host,
    ...headers,
    ...(isPost
      ? { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
      : {}),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const paths = script === undefined || isPost ? [path] : given
  return paths.map((each) =>
    Buffer.from(`${isPost ? 'POST' : 'GET'} ${each} HTTP/1.1\r\n${lines.join('')}\r\n${body}`),
  )
}

function useConnection(url: string, next: () => Buffer | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
    let received = Buffer.alloc(0)
    const ask = () => {
      const request = next()
      if (request === undefined) {
        socket.destroy()
        resolve()
      } else socket.write(request)
    }
    socket.once('connect', ask)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the connection ended before its response')))
    socket.on('data', (bytes) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
      const status = endOfResponse(received)
      if (status === undefined) return
      received = Buffer.alloc(0)
      if (status < 400) ask()
      else socket.destroy(new Error(`a response has the status ${status}`))
    })
  })
}

/** The status of a response, once all of it has been received. */
function endOfResponse(received: Buffer): number | undefined {
  const end = received.indexOf('\r\n\r\n') + 4
  if (end < 4) return undefined
  const head = received.toString('latin1', 0, end)
  const status = Number(head.slice(9, 12))
  if (status === 204 || status === 304) return status
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  const isComplete =
    length === undefined
      ? received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
      : received.length >= end + Number(length)
  return isComplete ? status : undefined
}
