import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { findFreePort } from './free-port.ts'
import { requireProgram } from './require-program.ts'
import { temporaryFolder } from './temporary.ts'

export const hasRedisServer = requireProgram(
  spawnSync('redis-server', ['--version']).status === 0,
  'the tests with a Redis that dies',
  'no redis-server',
)

/** A Redis for one test, which can die, freeze and come back at the same address. It keeps nothing. */
export class OwnRedis {
  readonly #folder = temporaryFolder()
  readonly #options: readonly string[]
  readonly port: number
  #process: ChildProcess | undefined

  private constructor(port: number, options: readonly string[]) {
    this.port = port
    this.#options = options
  }

  /** Starts it, unless `down`. */
  static async start({
    options = [],
    down = false,
  }: {
    options?: readonly string[]
    down?: boolean
  } = {}): Promise<OwnRedis> {
    const own = new OwnRedis(await findFreePort(), options)
    onTestFinished(() => own.kill())
    if (!down) await own.start()
    return own
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const address = ['--bind', '127.0.0.1', '--port', String(this.port)]
    const child = spawn('redis-server', [...address, '--save', '', '--dir', this.#folder, ...this.#options], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#process = child
    await new Promise<void>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (/Ready to accept connections/.test(text)) resolve()
      })
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)))
    })
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** It keeps its connections and answers nothing, until `thaw`. */
  freeze(): void {
    this.#process?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#process?.kill('SIGCONT')
  }

  /** Runs one command. */
  async run(command: string, ...given: string[]): Promise<unknown> {
    const redis = new Redis(this.url, { lazyConnect: true })
    try {
      await redis.connect()
      return await redis.call(command, ...given)
    } finally {
      redis.disconnect()
    }
  }
}
