import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Service } from '../../test/support/service.ts'

/** A request as it arrived, and what it was answered with. */
export interface Received {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  /** The status, once there is one. */
  status: number | undefined
}

/**
 * What befalls a request:
 * - `reset`: the connection breaks before the answer.
 * - `cut`: the connection breaks in the middle of the body.
 * - `hang`: no answer comes.
 * - `stall`: half of the body comes, and no more.
 * - an answer of the front's own.
 */
export type Fault =
  | 'reset'
  | 'cut'
  | 'hang'
  | 'stall'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

/** A flaky proxy before a service that listens: it passes requests on, unless told what befalls them. */
export class Front {
  /** Every request that has arrived, in order. */
  readonly received: Received[] = []
  /** Says what befalls a request that arrives; `undefined` passes it on. */
  befall: (request: Received) => Fault | undefined = () => undefined
  readonly baseUrl: string

  private constructor(baseUrl: string) {
    this.baseUrl = baseUrl
  }

  static async start(service: Service): Promise<Front> {
    const target = await service.app.listen({ host: '127.0.0.1', port: 0 })
    let front: Front | undefined
    const server = createServer((incoming, answer) => front?.answer(target, incoming, answer))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    front = new Front(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return front
  }

  /** The statuses answered so far, in order. */
  get statuses(): (number | undefined)[] {
    return this.received.map(({ status }) => status)
  }

  /** Lets the next requests meet these, one each; what comes later passes. */
  meet(...faults: Fault[]): void {
    this.befall = () => faults.shift()
  }

  private answer(target: string, incoming: IncomingMessage, answer: ServerResponse): void {
    const received: Received = { url: incoming.url ?? '', headers: incoming.headers, status: undefined }
    this.received.push(received)
    const fault = this.befall(received)
    if (fault === 'hang') return
    if (fault === 'reset') {
      incoming.socket.resetAndDestroy()
      return
    }
    if (typeof fault === 'object') {
      received.status = fault.status
      answer.writeHead(fault.status, fault.headers).end(fault.body)
      return
    }

    const { host: _, connection: __, ...headers } = incoming.headers
    const passed = request(target + incoming.url, { headers, agent: false }, (response) => {
      const status = response.statusCode ?? 502
      received.status = status
      answer.writeHead(status, response.headers)
      if (fault === undefined) {
        response.pipe(answer)
        return
      }
      response.once('data', (chunk: Buffer) => {
        answer.write(chunk.subarray(0, chunk.length / 2), () => {
          if (fault === 'cut') incoming.socket.resetAndDestroy()
        })
        response.resume()
      })
    })
    passed.on('error', () => answer.destroy())
    passed.end()
  }
}
