import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { endWithParent } from '../../bench/end-with-parent.ts'
import { ENVIRONMENT, MAHI } from '../../bench/mahi.ts'
import { readStatus } from '../../bench/measure.ts'

/** `mahi work` as the image runs it, whose log is read and not kept. */
export class SoakedWorker {
  /** Lines of level `error` and above, the first few of them. */
  readonly faults: string[] = []
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>

  constructor(settings: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, [MAHI, 'work'], {
      env: { ...process.env, ...ENVIRONMENT, ...settings, WORKERS: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    endWithParent(child)
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (/^\{"level":"(?:error|fatal)"/.test(line) && this.faults.length < 20) this.faults.push(line)
    })
    this.#child = child
    this.#ended = once(child, 'exit')
  }

  /** Bytes of its own memory, without the processes of its checks, which end with them. */
  get memory(): number {
    return readStatus(this.#child.pid ?? 0, 'RssAnon') * 1024
  }

  /** Stops it and returns its exit status. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM')
    await this.#ended
    return this.#child.exitCode
  }
}
