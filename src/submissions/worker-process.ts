import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FastifyBaseLogger } from 'fastify'
import { PACKAGE_ROOT } from '../package/root.ts'

const MAHI = fileURLToPath(new URL('bin/mahi.js', PACKAGE_ROOT))

/** Pause before a worker that ended is started again, in milliseconds. */
const RESTART_PAUSE = 2_000

/** How long a worker may take to give its jobs back before it is killed, in milliseconds. */
const PATIENCE = 3_000

/** `mahi work` as a process of its own, so that a check takes nothing from the requests; started again if it ends. */
export class WorkerProcess {
  readonly #environment: Readonly<Record<string, string | undefined>>
  readonly #log: Pick<FastifyBaseLogger, 'warn'>
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(
    environment: Readonly<Record<string, string | undefined>>,
    log: Pick<FastifyBaseLogger, 'warn'>,
  ) {
    this.#environment = environment
    this.#log = log
    this.#start()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
    await ended
    clearTimeout(timer)
  }

  #start(): void {
    // The channel carries nothing: when this process ends in whatever way, the worker sees it close.
    const child = spawn(process.execPath, [MAHI, 'work'], {
      env: { ...this.#environment },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child = child
    // A process that could not be started has no exit, and its error is all that there is.
    child.once('error', (error) => this.#restart({ err: error }))
    child.once('exit', (code, signal) => this.#restart({ code, signal }))
  }

  #restart(reason: object): void {
    if (this.#stopped) return
    this.#log.warn(reason, 'the worker ended: it is started again')
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#start(), RESTART_PAUSE)
    this.#timer.unref()
  }
}
