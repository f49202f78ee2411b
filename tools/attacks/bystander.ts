import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE = 55
/** Whoever is not answered for so long has no response, in milliseconds. */
const HANGING = 60_000

/** A well-behaved caller: a request every 55 ms, fewer than its limits allow. */
export class Bystander {
  /** Milliseconds of each response with 200, since `take`. */
  #times: number[] = []
  /** When the request was sent that has no response yet. */
  #begun: number | undefined
  #slowest = 0
  responses = 0
  /** Turned away with 503 and Retry-After. */
  unavailable = 0
  /** Responses that should not have been, the first few of them. */
  readonly wrong: string[] = []
  readonly #expected = new Map<string, string>()
  readonly #paths: readonly string[]
  readonly #headers: Readonly<Record<string, string>>
  readonly #running: Promise<void>
  #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #stopped = false
  port: number

  /** @param paths what it requests in turn; each response must be the same, word for word, each time */
  constructor(port: number, paths: readonly string[], headers: Readonly<Record<string, string>>) {
    this.port = port
    this.#paths = paths
    this.#headers = headers
    this.#running = this.#ask()
  }

  /** The times of the responses since the last call. */
  take(): number[] {
    const times = this.#times
    this.#times = []
    this.#slowest = 0
    return times
  }

  /** Milliseconds that the slowest response since `take` took, or that one has not come yet. */
  get slowest(): number {
    return Math.max(this.#slowest, performance.now() - (this.#begun ?? Number.POSITIVE_INFINITY))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
    this.#agent.destroy()
  }

  async #ask(): Promise<void> {
    for (let count = 0; !this.#stopped; count++) {
      const path = this.#paths[count % this.#paths.length] ?? '/'
      // New connections must get through as well.
      if (count % 20 === 19) {
        this.#agent.destroy()
        this.#agent = new Agent({ keepAlive: true, maxSockets: 1 })
      }
      const begun = performance.now()
      this.#begun = begun
      const { port } = this
      const { status, body } = await this.#get(path)
      this.#begun = undefined
      // The service was started again meanwhile.
      if (port !== this.port) continue
      const ms = performance.now() - begun
      this.#slowest = Math.max(this.#slowest, ms)
      this.responses++
      if (status === 200) this.#times.push(ms)
      const known = this.#expected.get(path)
      if (status === 503) this.unavailable++
      else if (status !== 200) this.#note(`${path}: ${status} ${body.slice(0, 200)}`)
      else if (known === undefined) this.#expected.set(path, body)
      else if (known !== body) this.#note(`${path}: another body: ${body.slice(0, 200)}`)
      await sleep(Math.max(0, PAUSE - ms))
    }
  }

  #note(what: string): void {
    if (this.wrong.length < 20) this.wrong.push(what)
  }

  #get(path: string): Promise<{ status: number; body: string }> {
    return new Promise((resolve) => {
      const fail = (error: Error) => resolve({ status: 0, body: error.message })
      const asked = get(
        {
          host: '127.0.0.1',
          port: this.port,
          path,
          agent: this.#agent,
          headers: this.#headers,
          timeout: HANGING,
        },
        (response) => {
          let body = ''
          response.setEncoding('utf8').on('data', (text: string) => {
            body += text
          })
          response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
          response.once('error', fail)
        },
      )
      asked.once('timeout', () => asked.destroy(new Error(`no response in ${HANGING} ms`)))
      asked.once('error', (error: NodeJS.ErrnoException) => {
        // The service may close an idle connection at any time: clients ask again on a new one (RFC 9112, section 9.3.1).
        if (asked.reusedSocket && error.code === 'ECONNRESET') resolve(this.#get(path))
        else fail(error)
      })
    })
  }
}
