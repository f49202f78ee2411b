import { connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOn } from './connection.ts'

/** A way to a port of this machine that can be made to swallow everything, as a network that is cut off does. */
export class PausableProxy {
  readonly port: number
  readonly #sockets = new Set<Socket>()
  #paused = false
  #target: number

  private constructor(server: Server, port: number, target: number) {
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
    const server = createServer()
    const proxy = new PausableProxy(server, await listenOn(server), target)
    onTestFinished(() => proxy.#cut())
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
    this.#cut()
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
