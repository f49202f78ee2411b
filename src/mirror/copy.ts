import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, open, readFile, rename, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compareCodePoints } from '../text.ts'
import type { MirroredRecord } from './source.ts'

/** A line of a mirror's file: a record's JSON text, and what is needed of it without keeping the text. */
export interface Line {
  readonly code: string
  readonly date: string
  readonly minorGroups: readonly string[]
  readonly text: string
}

/** What a mirror remembers from one run to the next. */
export interface MirrorState {
  /** The service that the copy is of. */
  readonly url: string
  /** No change up to this date is missing from the copy: the next run asks for what came after it. */
  readonly seenUntil: string
}

export const FILE = 'occupations.ndjson'
const STATE = 'mirror.json'

export function toLine(record: MirroredRecord): Line {
  return {
    code: record.occupationCode,
    date: record.lastUpdatedDate,
    minorGroups: (record.minorGroups ?? []).flatMap(({ minorGroup }) => minorGroup?.code ?? []),
    text: JSON.stringify(record),
  }
}

/** The complete lines of a file, in its order; a line that was cut off by a crash is not one. */
export async function* readLines(path: string): AsyncGenerator<Line> {
  if (!existsSync(path)) return
  let rest = ''
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) yield toLine(JSON.parse(text) as MirroredRecord)
  }
}

/**
 * Writes a file so that at every moment the old one or the new one stands in its place, also after a power cut.
 *
 * @returns the number of lines
 */
export async function replaceFile(
  path: string,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<number> {
  const temporary = `${path}.new`
  const file = await open(temporary, 'w')
  let count = 0
  try {
    const writer = new BufferedWriter(file)
    for await (const line of lines) {
      await writer.write(`${line}\n`)
      count++
    }
    await writer.flush()
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  return count
}

/** Adds lines to a file that may be cut off at any moment: only its complete lines count. */
export class LineAppender {
  readonly #file: FileHandle
  readonly #writer: BufferedWriter

  private constructor(file: FileHandle) {
    this.#file = file
    this.#writer = new BufferedWriter(file)
  }

  static async open(path: string): Promise<LineAppender> {
    if (existsSync(path)) await truncate(path, await completeLength(path))
    return new LineAppender(await open(path, 'a'))
  }

  async append(lines: readonly string[]): Promise<void> {
    for (const line of lines) await this.#writer.write(`${line}\n`)
    await this.#writer.flush()
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

class BufferedWriter {
  readonly #file: FileHandle
  #text = ''

  constructor(file: FileHandle) {
    this.#file = file
  }

  async write(text: string): Promise<void> {
    this.#text += text
    if (this.#text.length >= 256 * 1024) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.#text !== '') await this.#file.writeFile(this.#text)
    this.#text = ''
  }
}

/** Bytes up to the end of the last complete line. */
async function completeLength(path: string): Promise<number> {
  let length = 0
  let complete = 0
  for await (const chunk of createReadStream(path)) {
    const bytes = chunk as Buffer
    const end = bytes.lastIndexOf(0x0a)
    if (end !== -1) complete = length + end + 1
    length += bytes.length
  }
  return complete
}

/** The old lines with the changes put in their places and the deleted codes left out, both in the order of codes. */
export async function* mergeLines(
  old: AsyncIterable<Line>,
  changes: AsyncIterable<Line>,
  deleted: ReadonlySet<string>,
): AsyncGenerator<Line> {
  const iterator = changes[Symbol.asyncIterator]()
  let change = await iterator.next()
  for await (const line of old) {
    while (change.done !== true && compareCodePoints(change.value.code, line.code) < 0) {
      yield change.value
      change = await iterator.next()
    }
    if (change.done !== true && change.value.code === line.code) {
      yield change.value
      change = await iterator.next()
    } else if (!deleted.has(line.code)) {
      yield line
    }
  }
  while (change.done !== true) {
    yield change.value
    change = await iterator.next()
  }
}

/** The state of a mirror, or `undefined` where there is none to go on from. */
export async function readState(folder: string): Promise<MirrorState | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, STATE), 'utf8')) as MirrorState
  } catch {
    return undefined
  }
}

export async function writeState(folder: string, state: MirrorState): Promise<void> {
  const path = join(folder, STATE)
  await writeFile(`${path}.new`, `${JSON.stringify(state, null, 2)}\n`)
  await rename(`${path}.new`, path)
}
