import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'

/** The time limits of a stop, in milliseconds. */
export const STOPPING = {
  /** After this, a process without transfers exits with an error: supervisors kill it soon after. */
  whole: 10_000,
  /** After this, everything but transfers is cut off, so that the rest can still end in order. */
  readers: 9_000,
  /** How long the rest may take after the last transfer. */
  rest: 3_000,
  /** How long a child process may take to release its jobs before it is killed. */
  child: 3_000,
}

/** How often it is checked whether transfers are still in progress, in milliseconds. */
const SWEEP_INTERVAL = 100

/** Whether the process has been told to stop. It still serves requests, but closes each connection. */
export interface Life {
  readonly stopping: boolean
}

interface OnSignal {
  readonly logger: { error(message: unknown): void }
  /** How long load balancers take to react to SIGTERM. */
  readonly drainSeconds: number
  /** How long uploads and exports in progress may take. */
  readonly graceSeconds: number
  /** Interrupts every request but uploads and exports, and returns the number of these. */
  readonly cutOffRest: () => number
  /** Interrupts every request. */
  readonly cutOff: () => void
}

/**
 * Stops everything that a process has started. Whoever starts something registers its end here, so that an orderly
 * stop and a failed start end the same things, in reverse order.
 */
export class Lifecycle implements Life {
  readonly #ends: (() => unknown)[] = []
  #stopping = false
  #ended: Promise<void> | undefined

  get stopping(): boolean {
    return this.#stopping
  }

  /** Registers how to end what was just started, and returns it. */
  own<T>(started: T, end: (started: T) => unknown): T {
    this.#ends.push(() => end(started))
    return started
  }

  /** Notifies every part that the process will stop. It keeps running until `end`. */
  announce(): void {
    this.#stopping = true
  }

  /**
   * Ends everything that was registered, in reverse order, one after the other; what fails to end does not keep the
   * rest from ending. May be called again.
   *
   * @throws the first failure, at the end
   */
  end(): Promise<void> {
    this.announce()
    this.#ended ??= this.#endAll()
    return this.#ended
  }

  /**
   * Ends a serving process on SIGTERM and SIGINT, within a time limit. `/readyz` responds with 503 and every response
   * closes its connection. After the drain time, the server stops listening and lets requests in flight finish. Uploads
   * and exports may take minutes, and so have a limit of their own.
   */
  endOnSignal(options: OnSignal): void {
    const { logger, drainSeconds, graceSeconds } = options
    const longest = Math.max(STOPPING.whole, graceSeconds * 1000 + STOPPING.rest)
    closeWithGrace({ delay: longest + SWEEP_INTERVAL, logger }, async ({ signal }) => {
      this.announce()
      const until = performance.now() + (signal === 'SIGTERM' ? graceSeconds * 1000 : 0)
      setTimeout(() => void cutOffLate(options, until), STOPPING.readers).unref()
      // Ctrl+C comes from a person who waits, not from a load balancer.
      if (signal === 'SIGTERM') await sleep(drainSeconds * 1000)
      await this.end()
    })
  }

  /**
   * Ends a process of jobs on SIGTERM and SIGINT, and when its parent process ends, if it has one. Supervisors often
   * signal parent and child, so a second signal changes nothing.
   */
  endWithParent(): void {
    const end = () => {
      if (this.#stopping) return
      setTimeout(() => process.exit(1), STOPPING.whole).unref()
      void this.end().finally(() => process.exit(0))
    }
    process.on('SIGTERM', end)
    // Ctrl+C also reaches the parent process, which then stops this one.
    process.on('SIGINT', () => (process.connected ? undefined : end()))
    process.on('disconnect', end)
    // The parent has ended while this process was loaded.
    if (process.send !== undefined && !process.connected) end()
  }

  async #endAll(): Promise<void> {
    const failures: unknown[] = []
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) {
      try {
        await end()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}

/**
 * Cuts off requests that hold up a stop: transfers at their own limit, everything else at once. If something else then
 * still holds it up, the process exits.
 *
 * @param until when transfers are cut off, on the monotonic clock
 */
async function cutOffLate({ logger, cutOffRest, cutOff }: OnSignal, until: number): Promise<void> {
  let rest = STOPPING.whole - STOPPING.readers
  while (cutOffRest() > 0 && performance.now() < until) {
    rest = STOPPING.rest
    await sleep(SWEEP_INTERVAL)
  }
  cutOff()
  await sleep(rest, undefined, { ref: false })
  logger.error('the stop took too long')
  process.exit(1)
}
