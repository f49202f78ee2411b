import { once } from 'node:events'
import { Server as HttpServer } from 'node:http'
import { type AddressInfo, connect, type Server, type Socket, type TcpNetConnectOpts } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Service } from './service.ts'

/** The longest wait for an expected event, in milliseconds. */
const DEADLINE = 240_000

export interface Answer {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Has the service listen on a free port of loopback, and answers the port. */
export async function listen(service: Service): Promise<number> {
  if (!service.app.server.listening) await service.app.listen({ host: '127.0.0.1', port: 0 })
  return (service.app.server.address() as AddressInfo).port
}

/** Has a server listen on a free port of loopback until the test ends, and answers the port. */
export async function listenOn(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    if (server instanceof HttpServer) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** A socket that reads nothing until it is resumed, for one test. */
export async function openSocket(url: string, options: Partial<TcpNetConnectOpts> = {}): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), ...options })
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket.pause()
}

/** A connection that sends bytes as they are and reads whatever comes back. */
export class Connection {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #ended = false
  #wake: () => void = () => undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes])
      this.#wake()
    })
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.#ended = true
        this.#wake()
      })
    }
    // What is sent after the service has closed fails; what it has said before counts.
    socket.on('error', () => undefined)
  }

  static async open(service: Service): Promise<Connection> {
    const socket = connect({ host: '127.0.0.1', port: await listen(service), allowHalfOpen: true })
    onTestFinished(() => {
      socket.destroy()
    })
    await once(socket, 'connect')
    return new Connection(socket)
  }

  send(bytes: string | Buffer): this {
    this.#socket.write(bytes)
    return this
  }

  /** Closes this half: nothing more will be sent. */
  end(): this {
    this.#socket.end()
    return this
  }

  /** The next response; `head` means that it has no body, whatever its headers say. */
  async read({ head = false } = {}): Promise<Answer> {
    for (;;) {
      const answer = this.#take(head)
      if (answer !== undefined) return answer
      if (this.#ended) throw new Error(`the connection ended after ${JSON.stringify(this.#rest)}`)
      await this.#wait('an answer')
    }
  }

  /** Waits until the service has closed the connection, and answers what it said that was not read before. */
  async readToEnd(): Promise<string> {
    while (!this.#ended) await this.#wait('the end of the connection')
    return this.#rest
  }

  get #rest(): string {
    return this.#received.toString('latin1')
  }

  #take(head: boolean): Answer | undefined {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end === -1) return undefined
    const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    const bodyless = head || status < 200 || status === 204 || status === 304
    const length = bodyless ? 0 : Number(headers['content-length'])
    if (Number.isNaN(length)) throw new Error(`an answer without a length: ${this.#rest}`)
    if (this.#received.length < end + 4 + length) return undefined
    const body = this.#received.toString('utf8', end + 4, end + 4 + length)
    this.#received = this.#received.subarray(end + 4 + length)
    return { status, headers, body }
  }

  async #wait(what: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${what} did not come in ${DEADLINE} ms, but ${JSON.stringify(this.#rest)}`)),
        DEADLINE,
      )
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** Sends bytes on a connection of their own and reads the one answer to them. */
export async function exchange(service: Service, bytes: string | Buffer): Promise<Answer> {
  return await (await Connection.open(service)).send(bytes).read()
}
