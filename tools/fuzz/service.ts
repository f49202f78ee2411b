import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endWithParent } from '../../bench/end-with-parent.ts'

const MAHI = fileURLToPath(new URL('../../bin/mahi.js', import.meta.url))
const PROBE = new URL('probe.mjs', import.meta.url).href

/** Lines of a log in which nothing is wrong: of requests, and of credentials that were refused. */
const EXPECTED = /^\{"level":"(?:info",|warn","time":"[^"]+","audit":"refused")/

/** What a process holds after its garbage has been collected. */
export interface Holding {
  /** Bytes. */
  readonly rss: number
  /** Bytes of objects, and of buffers outside the heap. */
  readonly heap: number
  readonly external: number
  /** Open connections. */
  readonly sockets: number
}

/** `mahi serve` as a process of its own, with a probe that tells what it holds. */
export class ServiceProcess {
  readonly #child: ChildProcess
  readonly port: number
  /** Lines of its log that tell of more than a request. */
  readonly complaints: readonly string[]

  private constructor(child: ChildProcess, port: number, complaints: readonly string[]) {
    this.#child = child
    this.port = port
    this.complaints = complaints
  }

  static async start(
    databaseUrl: string,
    environment: Readonly<Record<string, string>>,
  ): Promise<ServiceProcess> {
    const child = spawn(process.execPath, ['--expose-gc', '--import', PROBE, MAHI, 'serve'], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: databaseUrl,
        PORT: '0',
        METRICS_PORT: '0',
        WORKERS: '0',
        // Requests that are turned away because the machine is busy would hide how they are answered.
        OVERLOAD_DELAY_MS: '0',
        // Small, so that it is full before memory is compared.
        PAGE_CACHE_MB: '4',
        ...environment,
      },
    })
    endWithParent(child)
    const complaints: string[] = []
    let [port, rest] = [0, '']
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        if (port === 0) port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1] ?? 0)
        complaints.push(...lines.filter((line) => !EXPECTED.test(line)))
      })
    }
    while (port === 0) {
      if (child.exitCode !== null) throw new Error(`the service ended: ${complaints.join('\n')}`)
      await sleep(10)
    }
    return new ServiceProcess(child, port, complaints)
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async holding(): Promise<Holding> {
    const told = once(this.#child, 'message')
    this.#child.send('tell')
    const [holding] = (await told) as [Holding]
    return holding
  }

  async stop(): Promise<void> {
    if (!this.isAlive) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}
