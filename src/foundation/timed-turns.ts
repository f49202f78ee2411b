/** How long work goes on before everything else has a turn of the event loop, in milliseconds. */
const TURN = 5

const waiting: (() => void)[] = []
let until = Number.NEGATIVE_INFINITY

/**
 * Lets everything else have a turn of the event loop. Waiting work continues in order, all of it together for little
 * longer than 5 ms at a time: a request that reads from PostgreSQL needs several turns of the event loop, and would
 * otherwise wait for all work in progress in each of them.
 */
export function takeTurn(): Promise<void> {
  if (waiting.length === 0) setImmediate(begin)
  return new Promise((resolve) => {
    waiting.push(resolve)
  })
}

function begin(): void {
  until = performance.now() + TURN
  resumeFirst()
}

function resumeFirst(): void {
  waiting[0]?.()
  afterMicrotasks(() => {
    waiting.shift()
    if (waiting.length === 0) return
    if (performance.now() < until) resumeFirst()
    else setImmediate(begin)
  })
}

/** Calls a function after everything that has begun and does not wait for the system, such as a read from SQLite. */
function afterMicrotasks(callback: () => void): void {
  queueMicrotask(() => process.nextTick(callback))
}

/** Lets others have turns during work whose parts take a time that callers choose. */
export class TimedTurns {
  #begun = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#begun >= TURN
  }

  async take(): Promise<void> {
    await takeTurn()
    this.#begun = performance.now()
  }
}
