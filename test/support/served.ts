import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const MAHI = fileURLToPath(new URL('../../bin/mahi.js', import.meta.url))

/** `mahi serve` in a child process, for one test. */
export class Served {
  readonly url: string
  /** Lines that it has logged. */
  readonly log: readonly Record<string, unknown>[]
  readonly #process: ChildProcess

  private constructor(url: string, log: readonly Record<string, unknown>[], process: ChildProcess) {
    this.url = url
    this.log = log
    this.#process = process
  }

  /** Starts it with only these settings, on a free port. */
  static async start(settings: Record<string, string>): Promise<Served> {
    const child = spawn(process.execPath, [MAHI, 'serve'], {
      env: {
        PATH: process.env.PATH,
        METRICS_PORT: '0',
        WORKERS: '0',
        OVERLOAD_DELAY_MS: '0',
        ...settings,
        PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await ended
    })
    const log: Record<string, unknown>[] = []
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (text) => {
        const line = JSON.parse(text) as Record<string, unknown>
        log.push(line)
        const listening = /^Server listening at (\S+)$/.exec(String(line.msg))?.[1]
        if (listening !== undefined) resolve(listening)
      })
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`mahi serve ended with ${code} before it listened`)))
    })
    return new Served(url, log, child)
  }

  /**
   * Asks for an address, and again where the process turns the request away for want of time: on a busy machine it
   * may, before it has looked at the request.
   */
  async get(path: string, headers: Record<string, string> = {}) {
    for (;;) {
      const response = await fetch(this.url + path, { headers })
      const body = await response.text()
      if (response.status !== 503 || !body.includes('overloaded')) {
        return { status: response.status, headers: response.headers, body }
      }
    }
  }

  /** The messages that it has logged. */
  get messages(): string[] {
    return this.log.map(({ msg }) => String(msg))
  }

  /** Asks it to stop, and answers its exit status. */
  async stop(): Promise<number | null> {
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGTERM')
      await once(this.#process, 'exit')
    }
    return this.#process.exitCode
  }
}
