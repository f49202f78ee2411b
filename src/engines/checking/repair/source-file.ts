import { closeSync, openSync, readSync } from 'node:fs'
import { explainReadError } from '../../../foundation/faults/read-error.ts'
import type { Definition, Resource } from '../definition/definition.ts'
import { readBytes } from '../definition/is-file.ts'
import type { InputFile } from '../engine/check-files.ts'
import { NoRoom, type PreparedFile, prepareFile } from '../engine/prepare-file.ts'
import { type OpenFile, openFile } from '../engine/read-file.ts'
import { DEFAULT_LIMITS } from '../process/limits.ts'

/** The bytes that are read at once. */
const CHUNK = 1 << 18

/** A file that has been checked, to be read again. */
export interface SourceFile {
  readonly resource: Resource
  /** As findings show it. */
  readonly name: string
  /** Where the file of the person is. */
  readonly input: string
  readonly prepared: PreparedFile
}

/**
 * Finds the files that can be read again, in the order of the findings. Files in gzip or another encoding are
 * converted in a folder for temporary files.
 */
export async function prepareSources(
  files: readonly InputFile[],
  definition: Definition,
  folder: string,
): Promise<SourceFile[]> {
  const sources: SourceFile[] = []
  for (const resource of definition.resources) {
    const file = files.find((each) => each.resource === resource.name)
    if (file === undefined) continue
    const { name, path: input } = file
    const room = { left: DEFAULT_LIMITS.diskBytes }
    const options = { folder, name: `${resource.table}.utf8`, room, resource }
    try {
      const prepared = await prepareFile(input, options)
      if (prepared.readable) sources.push({ resource, name, input, prepared })
    } catch (error) {
      // The check says that there is too little for the file.
      if (!(error instanceof NoRoom)) throw explainReadError(error, input)
    }
  }
  return sources
}

/** Opens a file, whose header is read; `undefined` if that is not possible. Close it. */
export function openSource({ resource, name, prepared }: SourceFile): OpenFile | undefined {
  const file = openFile(prepared, name, resource)
  if (file.fault === undefined) return file
  file.close()
  return undefined
}

/** Reads a file from its start to its end, up to places that are named one after another. */
export class Passage {
  readonly #file: number
  readonly #block = Buffer.allocUnsafe(CHUNK)
  #at = 0
  #start = 0
  #stop = 0

  constructor(path: string) {
    this.#file = openSync(path, 'r')
  }

  /** The bytes up to an offset, in pieces that stay valid until the next one. */
  *until(end: number): Generator<Buffer> {
    while (this.#at < end) {
      if (this.#start === this.#stop) {
        this.#start = 0
        this.#stop = readSync(this.#file, this.#block, 0, this.#block.length, null)
        if (this.#stop === 0) return
      }
      const length = Math.min(end - this.#at, this.#stop - this.#start)
      yield this.#block.subarray(this.#start, this.#start + length)
      this.#start += length
      this.#at += length
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Whether a file begins with the byte order mark of UTF-8, which is no part of its first line. */
export function hasMark(path: string): boolean {
  return readBytes(path, 3).toString('latin1') === '\xef\xbb\xbf'
}
