import { Worker } from 'node:worker_threads'
import { Problem } from '../../api/contract/problems.ts'
import type { Coding, CodingItem } from '../../engines/finding/index.ts'
import type { Budget } from '../../foundation/budget/budget.ts'
import { entryOf } from '../../foundation/jobs/child.ts'
import type { CodingOrder, CodingResult } from './coding-worker.ts'

const ENTRY = entryOf('coding-worker', import.meta)

/** The most titles that are coded before another list has its turn, and the most characters of their tasks. */
const TITLES = 16
const CHARACTERS = 4_000

interface Waiting {
  resolve(codings: readonly Coding[]): void
  reject(error: unknown): void
}

/**
 * Codes lists of titles in a worker thread, because a long list takes seconds. Lists have turns of a few milliseconds.
 * The thread starts with the first list.
 */
export class CodingThread {
  readonly #waiting = new Map<number, Waiting>()
  readonly #turns: Budget
  #worker: Worker | undefined
  #number = 0

  /** @param turns of the lists, which their callers share */
  constructor(turns: Budget) {
    this.#turns = turns
  }

  /**
   * @param caller in whose turn the titles are coded
   * @param index the packed index and its revision
   * @param hasLeft whether the caller has left: the rest is then not coded
   * @throws {Problem} `unavailable` if the caller has left
   */
  async code(
    { memory, revision }: Pick<CodingOrder, 'memory' | 'revision'>,
    items: readonly CodingItem[],
    caller: string,
    hasLeft: () => boolean,
  ): Promise<Coding[]> {
    const codings: Coding[] = []
    for (const turn of splitIntoTurns(items)) {
      const slot = await this.#turns.enter(caller)
      try {
        // Nobody reads it.
        if (hasLeft()) throw new Problem('unavailable', 'The caller has left.')
        codings.push(...(await this.#run({ number: this.#number++, memory, revision, items: turn })))
      } finally {
        slot.release()
      }
    }
    return codings
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #run(order: CodingOrder): Promise<readonly Coding[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(order.number, { resolve, reject })
      this.#worker ??= this.#start()
      this.#worker.postMessage(order)
    })
  }

  #start(): Worker {
    const worker = new Worker(ENTRY, { resourceLimits: { maxYoungGenerationSizeMb: 8 } })
    let failure: unknown
    worker.on('message', ({ number, codings }: CodingResult) => {
      this.#waiting.get(number)?.resolve(codings)
      this.#waiting.delete(number)
    })
    worker.on('error', (error) => {
      failure = error
    })
    worker.on('exit', () => {
      // The next list starts another one.
      this.#worker = undefined
      const waiting = [...this.#waiting.values()]
      this.#waiting.clear()
      for (const { reject } of waiting) reject(failure ?? new Error('the thread that codes titles has ended'))
    })
    // The process can exit without waiting for it.
    worker.unref()
    return worker
  }
}

function* splitIntoTurns(items: readonly CodingItem[]): Generator<CodingItem[]> {
  let turn: CodingItem[] = []
  let characters = 0
  for (const item of items) {
    turn.push(item)
    characters += item.tasks?.length ?? 0
    if (turn.length < TITLES && characters < CHARACTERS) continue
    yield turn
    turn = []
    characters = 0
  }
  if (turn.length > 0) yield turn
}
