import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Attack } from './attack.ts'
import type { Target } from './wire.ts'

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url))

/** A process that attacks from its start until it is stopped. */
export class Attacker {
  readonly #child: ChildProcess
  /** Resolves when the process attacks, or has ended without that. */
  readonly begun: Promise<void>
  fault = ''
  #stopping = false

  constructor({ name, promise }: Attack, target: Target) {
    this.#child = fork(ATTACKER, [name, JSON.stringify(target)], {
      execArgv: ['--max-old-space-size=1024'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    // Attackers stand for other machines: they take only what the service leaves of the processor of this one.
    if (this.#child.pid !== undefined) setPriority(this.#child.pid, constants.priority.PRIORITY_LOW)
    this.begun = new Promise((resolve) => {
      this.#child.once('message', () => resolve())
      // Its output has been read by then.
      this.#child.once('close', () => resolve())
    })
    let complaint = ''
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-1_000)
    })
    this.#child.once('close', (code, by) => {
      if (!this.#stopping)
        this.fault = `promised: ${promise}; the attack ${name} ended (${code ?? by}): ${complaint}`
    })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}
