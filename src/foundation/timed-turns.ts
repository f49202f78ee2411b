import { setImmediate as takeTurn } from 'node:timers/promises'

/** How long work goes on before others have a turn, in milliseconds. */
const TURN = 10

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
