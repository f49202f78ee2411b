import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithParent } from '../../bench/end-with-parent.ts'
import { childrenOf, readStatus } from '../../bench/measure.ts'
import { MemoryCgroup } from './memory-cgroup.ts'

const MB = 2 ** 20
const SAMPLE = 100
/** Of a limit, left to mapped files, so that the program is not read from the disk all the time. */
const FILES = 32 * MB

/**
 * A process and its children under a limit of memory, in a cgroup where one can be made. At the first sample above the
 * limit it is killed, as a container would be.
 */
export class Watched {
  readonly child: ChildProcess
  /** The most bytes seen. */
  peak = 0
  /** The most bytes that the kernel held for its connections since the last `takeSockets`; unknown without a cgroup. */
  #sockets: number | undefined
  /** Why it is gone although nobody stopped it; empty while all is well. */
  fault = ''
  output = ''
  /** Absent where none can be made. */
  readonly cgroup: MemoryCgroup | undefined
  readonly #sampling: NodeJS.Timeout
  #stopping = false

  private constructor(child: ChildProcess, limit: number, cgroup: MemoryCgroup | undefined) {
    this.child = child
    this.cgroup = cgroup
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        // Requests have no lines at this level, and the last ones say why a process ended.
        this.output = (this.output + text).slice(-100_000)
      })
    }
    endWithParent(child)
    child.once('exit', (code, by) => {
      clearInterval(this.#sampling)
      if (!this.#stopping && this.fault === '')
        this.fault = `ended unexpectedly (${code ?? by}): ${this.output.slice(-3_000)}`
    })
    this.#sampling = setInterval(() => {
      this.peak = Math.max(this.peak, readTree(child.pid ?? 0))
      const sockets = cgroup?.sockets
      if (sockets !== undefined) this.#sockets = Math.max(this.#sockets ?? 0, sockets)
      if (this.peak + FILES <= limit || this.fault !== '') return
      this.fault = `used ${Math.round(this.peak / MB)} MiB; the limit is ${Math.round(limit / MB)} MiB with mapped files`
      child.kill('SIGKILL')
    }, SAMPLE)
  }

  /**
   * @param limit bytes of the process and of those that it starts
   * @param memory what it is told in MEMORY_MB, in bytes
   */
  static async start(
    command: readonly string[],
    environment: Readonly<Record<string, string>>,
    { limit, memory }: { limit: number; memory: number },
    ready: RegExp,
    folder: string,
  ): Promise<{ process: Watched; match: RegExpExecArray }> {
    const cgroup = MemoryCgroup.make(limit)
    const [program = '', ...rest] = cgroup?.wrap([process.execPath, ...command]) ?? [
      process.execPath,
      ...command,
    ]
    const child = spawn(program, rest, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, MEMORY_MB: String(memory / MB), ...environment },
    })
    const watched = new Watched(child, limit, cgroup)
    for (;;) {
      const match = ready.exec(watched.output)
      if (match !== null) return { process: watched, match }
      if (watched.fault !== '') throw new Error(watched.fault)
      await sleep(20)
    }
  }

  takeSockets(): number | undefined {
    const sockets = this.#sockets
    this.#sockets = undefined
    return sockets
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (!this.alive) return await this.cgroup?.remove()
    const ended = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    const killing = setTimeout(() => this.child.kill('SIGKILL'), 12_000)
    await ended
    clearTimeout(killing)
    await this.cgroup?.remove()
  }
}

/**
 * Bytes of a process and its children that only they hold. Mapped files, such as the program and SQLite's database, are
 * left out: the system takes them back when memory is short, before it ends a process.
 */
function readTree(pid: number): number {
  const all = [pid, ...childrenOf(pid)]
  return all.reduce((sum, each) => sum + readStatus(each, 'RssAnon') + readStatus(each, 'RssShmem'), 0) * 1024
}
