import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, open, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { BufferedWriter, explainFileError, replaceFile } from '../command-line/output-file.ts'
import { compareCodePoints } from '../text/code-points.ts'
import { UserError } from '../text/user-error.ts'
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

/** A file of a copy holds something else than a mirror has written: only fetching everything mends it. */
export class CopyDamaged extends UserError {}

/**
 * The complete lines of a file, in its order; a line that was cut off by a crash is not one.
 *
 * @throws {CopyDamaged} at a line that is no record
 */
export async function* readLines(path: string): AsyncGenerator<Line> {
  if (!existsSync(path)) return
  let rest = ''
  let number = 0
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) yield readLine(text, path, ++number)
  }
}

function readLine(text: string, file: string, line: number): Line {
  try {
    const read = toLine(JSON.parse(text) as MirroredRecord)
    if (typeof read.code === 'string' && typeof read.date === 'string') return read
  } catch {
    // Told below, as is a record without a code.
  }
  throw new CopyDamaged([{ file, line, message: 'is damaged: fetch everything anew with --full' }])
}

/** Writes lines in the place of a file, and answers how many. */
export async function replaceLines(
  path: string,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<number> {
  return await replaceFile(path, async (append) => {
    let count = 0
    for await (const line of lines) {
      await append(`${line}\n`)
      count++
    }
    return count
  })
}

/** Adds lines to a file that may be cut off at any moment: only its complete lines count. */
export class LineAppender {
  readonly #path: string
  readonly #file: FileHandle
  readonly #writer: BufferedWriter

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
    this.#writer = new BufferedWriter(file)
  }

  /** @throws {FileUnusable} if the file can't be written */
  static async open(path: string): Promise<LineAppender> {
    try {
      if (existsSync(path)) await truncate(path, await completeLength(path))
      return new LineAppender(path, await open(path, 'a'))
    } catch (error) {
      throw explainFileError(error, path)
    }
  }

  /** @throws {FileUnusable} if they can't be written */
  async append(lines: readonly string[]): Promise<void> {
    try {
      for (const line of lines) await this.#writer.write(`${line}\n`)
      await this.#writer.flush()
    } catch (error) {
      throw explainFileError(error, this.#path)
    }
  }

  async close(): Promise<void> {
    await this.#file.close()
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
  await replaceFile(join(folder, STATE), (append) => append(`${JSON.stringify(state, null, 2)}\n`))
}
