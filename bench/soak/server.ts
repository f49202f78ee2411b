import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../../test/support/free-port.ts'

export const MAHI = fileURLToPath(new URL('../../bin/mahi.js', import.meta.url))

/** `mahi serve` as `npm start` and the image run it, a process of its own, whose log is read and not kept. */
export class SoakedServer {
  readonly url: string
  readonly pid: number
  /** Lines of level 50 and above, the first few of them. */
  readonly faults: readonly string[]
  readonly #metrics: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string, metricsPort: number, faults: readonly string[]) {
    this.#child = child
    this.faults = faults
    this.url = url
    this.pid = child.pid ?? 0
    this.#metrics = `http://127.0.0.1:${metricsPort}/metrics`
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<SoakedServer> {
    const metricsPort = await findFreePort()
    const child = spawn(process.execPath, ['--max-semi-space-size=8', MAHI, 'serve'], {
      env: { PATH: process.env.PATH, ...settings, PORT: '0', METRICS_PORT: String(metricsPort) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const faults: string[] = []
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const listening = /Server listening at (http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
        if (listening !== undefined) resolve(listening)
        if (/^\{"level":"(?:error|fatal)"/.test(line) && faults.length < 20) faults.push(line)
      })
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`mahi serve ended with ${code} before it listened`)))
    })
    return new SoakedServer(child, url, metricsPort, faults)
  }

  /** Bytes of its own memory. Pages of SQLite's file that are mapped into it are not: the system takes them back. */
  get memory(): number {
    return this.#status('RssAnon')
  }

  /** Bytes of memory with what is mapped of files. */
  get resident(): number {
    return this.#status('VmRSS')
  }

  /** Open file descriptors, sockets among them. */
  get handles(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length
  }

  /** Bytes of the heap in use and of finished pages, as its own metrics tell. */
  async metrics(): Promise<{ heap: number; pages: number }> {
    const text = await (await fetch(this.#metrics)).text()
    const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    return { heap: read('nodejs_heap_size_used_bytes'), pages: read('mahi_page_cache_bytes') }
  }

  /** Asks it to stop and answers its exit status. */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGTERM')
      await once(this.#child, 'exit')
    }
    return this.#child.exitCode
  }

  /** Linux: proc(5), status. */
  #status(field: string): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024
  }
}
