import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A way to a port of this machine that can be made to swallow everything, as a network that is cut off does. */
export class PausableProxy {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #paused = false
  #target: number

  private constructor(server: Server, port: number, target: number) {
    this.#server = server
    this.port = port
    this.#target = target
    server.on('connection', (near) => {
      const far = connect(this.#target, '127.0.0.1')
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket)
        if (this.#paused) socket.pause()
        socket.on('error', () => undefined)
        socket.on('data', (bytes) => {
          // What the other end does not take fast enough is not read either.
          if (other.write(bytes)) return
          socket.pause()
          other.once('drain', () => {
            if (!this.#paused) socket.resume()
          })
        })
        socket.once('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
      }
    })
  }

  static async start(target: number): Promise<PausableProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const proxy = new PausableProxy(server, address.port, target)
    onTestFinished(() => proxy.#close())
    return proxy
  }

  /** From now on nothing gets through, and nobody is told; connections are still taken. */
  pause(): void {
    this.#paused = true
    for (const socket of this.#sockets) socket.pause()
  }

  resume(): void {
    this.#paused = false
    for (const socket of this.#sockets) socket.resume()
  }

  /** Leads to another port from now on, as a virtual IP does after a failover; what was open is cut. */
  redirect(target: number): void {
    this.#target = target
    for (const socket of this.#sockets) socket.destroy()
  }

  #close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
