import type { Finding } from '../engine/summary.ts'

/** The findings of a run, taken row by row in the order of the files. Only those of one row are in memory. */
export class RowFindings {
  readonly #findings: AsyncIterator<Finding>
  readonly #files: ReadonlySet<string>
  #next: Finding | undefined
  #file = ''
  #started = false

  /** @param files the names of the files that will be read; findings of others are passed over */
  constructor(findings: AsyncIterable<Finding>, files: readonly string[]) {
    this.#findings = findings[Symbol.asyncIterator]()
    this.#files = new Set(files)
  }

  /** Begins a file, and returns the findings about all of it. */
  async start(file: string): Promise<Finding[]> {
    if (!this.#started) await this.#move()
    this.#started = true
    this.#file = file
    const found: Finding[] = []
    // They come first, and belong to no record, which always has an identifier.
    const isOfFile = ({ localId }: Finding) => localId === undefined
    for (let next = this.#here(); next !== undefined && isOfFile(next); next = this.#here()) {
      found.push(next)
      await this.#move()
    }
    return found
  }

  /** Takes the findings of the record on a line. */
  async take(line: number): Promise<Finding[]> {
    const found: Finding[] = []
    for (let next = this.#here(); next !== undefined && next.line <= line; next = this.#here()) {
      found.push(next)
      await this.#move()
    }
    return found
  }

  #here(): Finding | undefined {
    return this.#next?.file === this.#file ? this.#next : undefined
  }

  async #move(): Promise<void> {
    for (;;) {
      const { done, value } = await this.#findings.next()
      this.#next = done === true ? undefined : value
      if (this.#next === undefined || this.#files.has(this.#next.file)) return
    }
  }
}
