import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FastifyBaseLogger } from 'fastify'
import { planLaunch } from '../../foundation/command-line/memory.ts'
import { endChild } from '../../foundation/jobs/child.ts'
import { STOPPING } from '../../foundation/lifecycle.ts'
import { PACKAGE_ROOT } from '../../foundation/package/root.ts'

const MAHI = fileURLToPath(new URL('bin/mahi.js', PACKAGE_ROOT))

/** Pause before a worker is restarted, in milliseconds. */
const RESTART_PAUSE = 2_000

/** Runs `mahi work` in a child process, so that checks do not slow down requests, and restarts it if it exits. */
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
    if (this.#child !== undefined) await endChild(this.#child, 'SIGTERM', STOPPING.child)
  }

  #start(): void {
    // The IPC channel carries no messages: however this process ends, the worker sees the channel close.
    const { flags, environment } = planLaunch(this.#environment)
    const child = spawn(process.execPath, [...flags, MAHI, 'work'], {
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child = child
    // A process that could not be started emits an error, but no exit.
    child.once('error', (error) => this.#restart({ err: error }))
    child.once('exit', (code, signal) => this.#restart({ code, signal }))
  }

  #restart(reason: object): void {
    if (this.#stopped) return
    this.#log.warn(reason, 'the worker exited and will be restarted')
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#start(), RESTART_PAUSE)
    this.#timer.unref()
  }
}
