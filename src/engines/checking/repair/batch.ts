import type { AppendBytes } from './output-folder.ts'

/** The bytes that are written together. */
const BATCH = 1 << 18

/** Collects bytes, and writes them together. */
export class Batch {
  readonly #append: AppendBytes
  readonly #signal: AbortSignal | undefined
  #parts: Buffer[] = []
  #size = 0

  constructor(append: AppendBytes, signal: AbortSignal | undefined) {
    this.#append = append
    this.#signal = signal
  }

  get isFull(): boolean {
    return this.#size > BATCH
  }

  add(content: string | Buffer): void {
    // The bytes of a passage change with its next piece.
    const bytes = Buffer.from(content as Buffer)
    this.#parts.push(bytes)
    this.#size += bytes.length
  }

  async flush(): Promise<void> {
    this.#signal?.throwIfAborted()
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.#size = 0
    await this.#append(bytes)
  }
}
