import { Agent, request as send } from 'node:http'
import type { Request } from './request.ts'

export interface Answer {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The lines of the headers. */
  readonly head: string
  readonly body: Buffer
}

/** Connections that requests share. */
export const makeAgent = (connections: number) => new Agent({ keepAlive: true, maxSockets: connections })

type Sent = Pick<Request, 'method' | 'target' | 'headers' | 'body'>

/** Sends a request, and returns its response, which the parser of Node.js reads strictly. */
export function ask(port: number, agent: Agent, sent: Sent): Promise<Answer> {
  const { method, target, headers, body } = sent
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      method,
      path: target,
      headers: Object.fromEntries(headers),
      agent,
    }
    const request = send({ ...options, setDefaultHeaders: false }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.once('error', reject)
      response.once('end', () => {
        const { statusCode = 0, rawHeaders } = response
        const lines = rawHeaders.flatMap((each, at) =>
          at % 2 === 0 ? [`${each}: ${rawHeaders[at + 1]}`] : [],
        )
        const all = Object.fromEntries(
          Object.entries(response.headers).map(([name, each]) => [name, String(each)]),
        )
        resolve({ status: statusCode, headers: all, head: lines.join('\n'), body: Buffer.concat(parts) })
      })
    })
    request.once('error', (error: NodeJS.ErrnoException) => {
      // The service may close an idle connection at any time: clients ask again on a new one (RFC 9112, section 9.3.1).
      if (request.reusedSocket && error.code === 'ECONNRESET') resolve(ask(port, agent, sent))
      else reject(error)
    })
    request.end(body, 'latin1')
  })
}
