import { Worker } from 'node:worker_threads'
import { Problem } from '../../api/request/problems.ts'
import type { Coding, CodingItem } from '../../engines/finding/index.ts'
import { entryOf } from '../../foundation/jobs/child.ts'
import type { Slots } from '../../foundation/slots.ts'
import type { CodingOrder, CodingResult } from './coding-worker.ts'

const ENTRY = entryOf('coding-worker', import.meta)

/** The most titles that are coded before others, who wait, come first, and the most characters of their tasks. */
const TITLES = 16
const CHARACTERS = 4_000

interface Waiting {
  resolve(codings: readonly Coding[]): void
  reject(error: unknown): void
}

/** An index that titles are coded with. */
interface CodingIndex {
  /** The packed index. */
  readonly memory: SharedArrayBuffer
  readonly revision: string
}

/**
 * Codes lists of titles in a worker thread, because a long list takes seconds: each in parts of a few milliseconds.
 * A thread codes with one index; it starts with the first list for it, and ends when lists for a newer index have
 * begun and its own have ended.
 */
export class CodingThreads {
  readonly #slots: Slots
  #newest: CodingThread | undefined

  /** @param slots of the parts of lists that are coded at once */
  constructor(slots: Slots) {
    this.#slots = slots
  }

  /**
   * @param caller who has a share of the slots
   * @param hasLeft whether the caller has left: the rest is then not coded
   * @throws {Problem} `unavailable` if the caller has left
   */
  async code(
    index: CodingIndex,
    items: readonly CodingItem[],
    caller: string,
    hasLeft: () => boolean,
  ): Promise<Coding[]> {
    const thread = this.#find(index)
    thread.lists++
    try {
      const codings: Coding[] = []
      for (const part of split(items)) {
        const slot = await this.#slots.enter(caller)
        try {
          // Nobody reads it.
          if (hasLeft()) throw new Problem('unavailable', 'The caller has left.')
          codings.push(...(await thread.code(part)))
        } finally {
          slot.release()
        }
      }
      return codings
    } finally {
      thread.lists--
      this.#endUnused(thread)
    }
  }

  async close(): Promise<void> {
    await this.#newest?.end()
  }

  #find(index: CodingIndex): CodingThread {
    const before = this.#newest
    if (before?.revision === index.revision) return before
    this.#newest = new CodingThread(index)
    if (before !== undefined) this.#endUnused(before)
    return this.#newest
  }

  #endUnused(thread: CodingThread): void {
    if (thread !== this.#newest && thread.lists === 0) void thread.end()
  }
}

/**
 * A worker thread with one index. It does not open another one, because the thread of a replaced index would keep its
 * memory: V8 collects garbage for memory that it allocates itself, and an index is not.
 */
class CodingThread {
  readonly revision: string
  /** Lists that are being coded, or wait for their turn. */
  lists = 0
  readonly #memory: SharedArrayBuffer
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #number = 0

  constructor({ memory, revision }: CodingIndex) {
    this.#memory = memory
    this.revision = revision
  }

  code(items: readonly CodingItem[]): Promise<readonly Coding[]> {
    return new Promise((resolve, reject) => {
      const order: CodingOrder = { number: this.#number++, items }
      this.#waiting.set(order.number, { resolve, reject })
      this.#worker ??= this.#start()
      this.#worker.postMessage(order)
    })
  }

  async end(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(ENTRY, {
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
      workerData: this.#memory,
    })
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

function* split(items: readonly CodingItem[]): Generator<CodingItem[]> {
  let part: CodingItem[] = []
  let characters = 0
  for (const item of items) {
    part.push(item)
    characters += item.tasks?.length ?? 0
    if (part.length < TITLES && characters < CHARACTERS) continue
    yield part
    part = []
    characters = 0
  }
  if (part.length > 0) yield part
}
