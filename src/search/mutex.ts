/** A mutual exclusion between the threads that share its memory. */
export class Mutex {
  readonly memory: SharedArrayBuffer
  readonly #state: Int32Array

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#state = new Int32Array(memory)
  }

  /** Takes the mutex if it is free. */
  tryLock(): boolean {
    return Atomics.compareExchange(this.#state, 0, 0, 1) === 0
  }

  /** Takes the mutex, and blocks the thread until it is free. */
  lock(): void {
    while (!this.tryLock()) Atomics.wait(this.#state, 0, 1)
  }

  /** Waits until the mutex may be free. */
  async unlocked(): Promise<void> {
    await Atomics.waitAsync(this.#state, 0, 1).value
  }

  unlock(): void {
    Atomics.store(this.#state, 0, 0)
    Atomics.notify(this.#state, 0)
  }
}
