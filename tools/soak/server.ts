import { readdirSync } from 'node:fs'
import { ENVIRONMENT, MAHI } from '../../bench/mahi.ts'
import { type Contender, readStatus, startContender } from '../../bench/measure.ts'
import { findFreePort } from '../../test/support/free-port.ts'

/** `mahi serve` as `npm start` and the image run it, whose log is read and not kept. */
export class SoakedServer {
  /** Lines of level `error` and above, the first few of them. */
  readonly faults: readonly string[]
  readonly #metrics: string
  readonly #contender: Contender

  private constructor(contender: Contender, metricsPort: number, faults: readonly string[]) {
    this.faults = faults
    this.#contender = contender
    this.#metrics = `http://127.0.0.1:${metricsPort}/metrics`
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<SoakedServer> {
    const metricsPort = await findFreePort()
    const faults: string[] = []
    const contender = await startContender(
      'mahi serve',
      [process.execPath, MAHI, 'serve'],
      { ...ENVIRONMENT, ...settings, METRICS_PORT: String(metricsPort) },
      undefined,
      (line) => {
        if (/^\{"level":"(?:error|fatal)"/.test(line) && faults.length < 20) faults.push(line)
      },
    )
    return new SoakedServer(contender, metricsPort, faults)
  }

  get url(): string {
    return this.#contender.url
  }

  /** Bytes of its own memory, without the pages of SQLite's file that are mapped into it, which the system reclaims. */
  get memory(): number {
    return readStatus(this.#contender.pid, 'RssAnon') * 1024
  }

  /** Bytes of memory, including mapped files. */
  get resident(): number {
    return readStatus(this.#contender.pid, 'VmRSS') * 1024
  }

  /** Open file descriptors, including sockets. */
  get handles(): number {
    return readdirSync(`/proc/${this.#contender.pid}/fd`).length
  }

  /** Bytes of the heap in use and of finished pages, from its metrics. */
  async metrics(): Promise<{ heap: number; pages: number }> {
    const text = await (await fetch(this.#metrics)).text()
    const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    return { heap: read('nodejs_heap_size_used_bytes'), pages: read('mahi_page_cache_bytes') }
  }

  /** Stops it and returns its exit status. */
  async stop(): Promise<number | null> {
    return await this.#contender.stop()
  }
}
