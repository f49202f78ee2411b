/** How long work goes on before everything else has a turn of the event loop, in milliseconds. */
const TURN = 5

const waiting: (() => void)[] = []
let until = Number.NEGATIVE_INFINITY

/**
 * Lets everything else have a turn of the event loop. Whoever waits goes on in order, and all of them together for
 * hardly longer than a turn at a time: a request that reads from PostgreSQL needs several turns of the event loop, and
 * would wait for all work that is in progress in each of them.
 */
export function takeTurn(): Promise<void> {
  if (waiting.length === 0) setImmediate(begin)
  return new Promise((resolve) => {
    waiting.push(resolve)
  })
}

function begin(): void {
  until = performance.now() + TURN
  goOn()
}

function goOn(): void {
  const [next] = waiting
  next?.()
  // After everything that it does before it waits for something.
  queueMicrotask(() => process.nextTick(proceed))
}

function proceed(): void {
  waiting.shift()
  if (waiting.length === 0) return
  if (performance.now() < until) goOn()
  else setImmediate(begin)
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
