import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithParent } from '../bench/end-with-parent.ts'
import { MAHI } from '../bench/mahi.ts'
import { childrenOf, readStatus } from '../bench/measure.ts'
import { MemoryCgroup } from './attacks/memory-cgroup.ts'

const MB = 2 ** 20
/** The part of a limit that is left to mapped files, so that the program is not read from the disk all the time. */
const FILES = 32 * MB
const SAMPLE = 100

const READY = {
  serve: /http:\/\/127\.0\.0\.1:(\d+)/,
  work: /ready for jobs/,
} as const

export interface ProcessOptions {
  readonly environment: Readonly<Record<string, string>>
  /** The file to run, `bin/mahi.js` without it. */
  readonly program?: string
  /** Bytes of the process and of those that it starts; without it, there is no limit. */
  readonly limit?: number
  readonly folder?: string
}

/**
 * `mahi serve` or `mahi work` as a separate process, on a port that the system chooses. With a limit it runs in a memory
 * cgroup where one can be made; at the first sample above the limit it is killed, as a container would be.
 */
export class MahiProcess {
  readonly #child: ChildProcess
  readonly #cgroup: MemoryCgroup | undefined
  readonly #sampling: NodeJS.Timeout
  readonly #role: keyof typeof READY
  #stopping = false
  #output = ''
  #sockets: number | undefined
  port = 0
  /** The most bytes that only the process and its children held. */
  peak = 0
  /** Lines of its log above level `info`, at most 1,000. */
  readonly warnings: string[] = []
  /** Why it has ended although nobody stopped it; empty while all is well. */
  fault = ''

  private constructor(
    child: ChildProcess,
    role: keyof typeof READY,
    cgroup: MemoryCgroup | undefined,
    limit: number,
  ) {
    this.#child = child
    this.#role = role
    this.#cgroup = cgroup
    endWithParent(child)
    for (const stream of [child.stdout, child.stderr]) this.#read(stream)
    child.once('exit', (code, by) => {
      clearInterval(this.#sampling)
      if (!this.#stopping && this.fault === '')
        this.fault = `mahi ${role} ended unexpectedly (${code ?? by}): ${this.#output.slice(-3_000)}`
    })
    this.#sampling = setInterval(() => this.#sample(limit), SAMPLE)
  }

  static async start(role: keyof typeof READY, options: ProcessOptions): Promise<MahiProcess> {
    const { environment, program = MAHI, limit, folder } = options
    const cgroup = limit === undefined ? undefined : MemoryCgroup.make(limit)
    const command = [process.execPath, program, role]
    const [file = '', ...rest] = cgroup?.wrap(command) ?? command
    const child = spawn(file, rest, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        PORT: '0',
        METRICS_PORT: '0',
        WORKERS: role === 'work' ? '1' : '0',
        LOG_LEVEL: 'info',
        ...(limit !== undefined && { MEMORY_MB: String(Math.round(limit / MB)) }),
        ...environment,
      },
    })
    const started = new MahiProcess(child, role, cgroup, limit ?? Number.POSITIVE_INFINITY)
    for (;;) {
      const found = READY[role].exec(started.#output)
      if (found !== null) {
        started.port = Number(found[1] ?? 0)
        return started
      }
      if (started.fault !== '') throw new Error(started.fault)
      await sleep(20)
    }
  }

  #read(stream: NodeJS.ReadableStream | null): void {
    let rest = ''
    stream?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-100_000)
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      const more = lines.filter((line) => line !== '' && !line.startsWith('{"level":"info"'))
      this.warnings.push(...more.slice(0, 1_000 - this.warnings.length))
    })
  }

  #sample(limit: number): void {
    this.peak = Math.max(this.peak, readTree(this.pid))
    const sockets = this.#cgroup?.sockets
    if (sockets !== undefined) this.#sockets = Math.max(this.#sockets ?? 0, sockets)
    if (this.peak + FILES <= limit || this.fault !== '') return
    const [used, most] = [this.peak, limit].map((bytes) => Math.round(bytes / MB))
    this.fault = `mahi ${this.#role} used ${used} MiB; the limit is ${most} MiB with mapped files`
    this.#child.kill('SIGKILL')
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Bytes of its own memory, without mapped files, which the system reclaims. */
  get memory(): number {
    return readStatus(this.pid, 'RssAnon') * 1024
  }

  /** Open file descriptors, including sockets. */
  get handles(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length
  }

  /** The most bytes that the kernel held for its connections since the last call; unknown without a cgroup. */
  takeSockets(): number | undefined {
    const sockets = this.#sockets
    this.#sockets = undefined
    return sockets
  }

  /** Stops it in order, and returns its exit status. */
  async stop(): Promise<number | null> {
    this.#stopping = true
    if (this.alive) {
      const ended = once(this.#child, 'exit')
      this.#child.kill('SIGTERM')
      const killing = setTimeout(() => this.#child.kill('SIGKILL'), 60_000)
      await ended
      clearTimeout(killing)
    }
    await this.#cgroup?.remove()
    return this.#child.exitCode
  }
}

/** Bytes that only a process and its children hold, without mapped files. */
function readTree(pid: number): number {
  const all = [pid, ...childrenOf(pid)]
  return all.reduce((sum, each) => sum + readStatus(each, 'RssAnon') + readStatus(each, 'RssShmem'), 0) * 1024
}
