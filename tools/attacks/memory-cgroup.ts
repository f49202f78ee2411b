import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The files of a memory cgroup in both versions. */
const FILES = {
  v1: { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes' },
  v2: { root: '/sys/fs/cgroup', limit: 'memory.max' },
} as const

/** In version 1, memory of connections is counted once it has a limit, and apart from the rest. */
const SOCKETS = { limit: 'memory.kmem.tcp.limit_in_bytes', usage: 'memory.kmem.tcp.usage_in_bytes' } as const
/** A limit that only makes the kernel count. */
const COUNTED = 2 ** 40

/** A memory cgroup below that of this process, as a container has: the kernel enforces its limit. */
export class MemoryCgroup {
  readonly #path: string
  readonly #files: (typeof FILES)['v1' | 'v2']

  private constructor(path: string, files: (typeof FILES)['v1' | 'v2']) {
    this.#path = path
    this.#files = files
  }

  /** Makes one, or returns `undefined` where none can be made, such as without the rights of root. */
  static make(limit: number): MemoryCgroup | undefined {
    try {
      const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n')
      const memory = lines.find((line) => line.split(':')[1]?.split(',').includes('memory'))
      const files = memory === undefined ? FILES.v2 : FILES.v1
      const own = (memory ?? lines.find((line) => line.startsWith('0::')) ?? '').split(':')[2] ?? '/'
      const path = `${files.root}${own}/mahi-${process.pid}-${performance.now()}`
      mkdirSync(path)
      const cgroup = new MemoryCgroup(path, files)
      if (existsSync(`${path}/${files.limit}`)) {
        writeFileSync(`${path}/${files.limit}`, String(limit))
        cgroup.#countSockets()
        return cgroup
      }
      rmdirSync(path)
    } catch {
      // Neither the right nor the place.
    }
    return undefined
  }

  /** A command that runs another one within it, as the same process. */
  wrap(command: readonly string[]): string[] {
    return ['bash', '-c', `echo $$ > '${this.#path}/cgroup.procs' && exec "$@"`, 'bash', ...command]
  }

  #countSockets(): void {
    try {
      if (this.#files === FILES.v1) writeFileSync(`${this.#path}/${SOCKETS.limit}`, String(COUNTED))
    } catch {
      // A kernel that does not count them.
    }
  }

  /** Bytes that the kernel holds for connections now; `undefined` if it does not count them. */
  get sockets(): number | undefined {
    try {
      if (this.#files === FILES.v1) return Number(readFileSync(`${this.#path}/${SOCKETS.usage}`, 'utf8'))
      const found = /^sock (\d+)$/m.exec(readFileSync(`${this.#path}/memory.stat`, 'utf8'))
      return found === null ? undefined : Number(found[1])
    } catch {
      return undefined
    }
  }

  /** Removes it once its processes have ended. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      try {
        return rmdirSync(this.#path)
      } catch {
        await sleep(50)
      }
    }
  }
}
