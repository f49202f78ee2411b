import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from './attack.ts'
import { call } from './attacker.ts'

const PAUSE = 55

/** A well-behaved caller: a request every 55 ms, fewer than its limits allow, each on a new connection. */
export class Bystander {
  #begun: number | undefined
  #slowest = 0
  responses = 0
  /** Turned away with 503. */
  unavailable = 0
  /** Responses that should not have been, the first few of them. */
  readonly wrong: string[] = []
  target: Target
  readonly #expected = new Map<string, string>()
  readonly #running: Promise<void>
  #stopped = false

  /** @param paths what it requests in turn; each response must be the same each time */
  constructor(target: Target, paths: readonly string[]) {
    this.target = target
    this.#running = this.#ask(paths)
  }

  /** Milliseconds that the slowest response since the last call took, or that one has not come yet. */
  takeSlowest(): number {
    const slowest = Math.max(this.#slowest, performance.now() - (this.#begun ?? Number.POSITIVE_INFINITY))
    this.#slowest = 0
    return slowest
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #ask(paths: readonly string[]): Promise<void> {
    for (let count = 0; !this.#stopped; count++) {
      const path = paths[count % paths.length] ?? '/'
      const { target } = this
      const begun = performance.now()
      this.#begun = begun
      const { status, body } = await call(target, { path })
      this.#begun = undefined
      // The service was started again meanwhile.
      if (target !== this.target) continue
      this.#slowest = Math.max(this.#slowest, performance.now() - begun)
      this.responses++
      const known = this.#expected.get(path) ?? body
      if (status === 503) this.unavailable++
      else if (status !== 200) this.#note(`${path}: ${status} ${body.slice(0, 200)}`)
      else if (known !== body) this.#note(`${path}: another body: ${body.slice(0, 200)}`)
      else this.#expected.set(path, body)
      await sleep(Math.max(0, PAUSE - (performance.now() - begun)))
    }
  }

  #note(what: string): void {
    if (this.wrong.length < 20) this.wrong.push(what)
  }
}
