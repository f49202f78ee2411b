import { closeSync, openSync, readSync } from 'node:fs'
import type { Source } from './byte-window.ts'

/** A file that readers read synchronously, which is the fastest in a process that does nothing else. */
export class FileSource {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'r')
  }

  readonly read: Source = (into) => readSync(this.#file, into, 0, into.length, null)

  close(): void {
    closeSync(this.#file)
  }
}
